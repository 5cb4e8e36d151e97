"""A class tree and its sums, compared with explicit attributes and paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from harness_svm.structured.kernels.class_tree import (
    alike,
    as_tree,
    come_down,
    cost_beyond,
    in_order,
    last_in_common,
    sum_subtrees,
)
from svm_definitions import random_hierarchy

seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds)
def test_path_sums_equal_sums_over_the_nodes_on_the_path(seed):
    hierarchy = random_hierarchy(seed)
    tree, on = hierarchy.kernel_tree(), hierarchy.on_path()
    assert_allclose(tree.shared[hierarchy.leaf], (on * hierarchy.weight).sum(axis=1))
    assert_allclose(tree.missed[hierarchy.leaf], (on * hierarchy.missed).sum(axis=1))
    assert_allclose(tree.false[hierarchy.leaf], (on * hierarchy.false).sum(axis=1))
    assert tree.shared[0] == tree.missed[0] == tree.false[0] == tree.weight[0] == 0


@given(seed=seeds)
def test_the_similarity_of_two_classes_is_the_product_of_their_attributes(seed):
    hierarchy = random_hierarchy(seed)
    tree, L = hierarchy.kernel_tree(), hierarchy.attributes()
    found = [[alike(tree, np.uint32(c), np.uint32(o)) for o in range(7)] for c in range(7)]
    assert_allclose(found, L @ L.T, atol=1e-12)
    assert_allclose(np.diag(found), 1.0)


@given(seed=seeds)
def test_scores_from_node_sums_equal_scores_from_node_vectors(seed):
    hierarchy = random_hierarchy(seed)
    tree, L = hierarchy.kernel_tree(), hierarchy.attributes()
    products = np.random.default_rng(seed).normal(size=7)  # <u_y, x> of each class
    sums, totals = np.empty(tree.parent.size), np.empty(tree.parent.size)
    sum_subtrees(tree, products, sums)
    come_down(tree, sums, totals)
    below = hierarchy.on_path().T @ products
    assert_allclose(sums[1:], below[1:], atol=1e-12)
    w = np.sqrt(hierarchy.weight) * below  # <w_z, x>: a node's vector is the sum of those below it, times sqrt(m_z)
    assert_allclose(tree.scale * totals[tree.leaf], L @ w, atol=1e-9)


def test_a_class_without_weights_on_its_path_scores_zero():
    nothing = np.zeros(3)
    tree = as_tree(np.array([0, 0, 0]), np.array([1, 2]), np.array([0.0, 4.0, 0.0]), nothing, nothing)
    assert tree.scale.tolist() == [0.5, 0.0]
    assert alike(tree, np.uint32(0), np.uint32(1)) == 0


@given(seed=seeds)
def test_classes_below_a_node_are_adjacent_in_tree_order(seed):
    hierarchy = random_hierarchy(seed)
    order, tree = in_order(hierarchy.kernel_tree())
    on = hierarchy.on_path()[order]
    on[:, 0] = True  # all classes are below the root
    assert sorted(order.tolist()) == list(range(7))
    for z in range(tree.parent.size):
        assert np.flatnonzero(on[:, z]).tolist() == list(range(tree.first[z], tree.end[z]))
    tops = np.flatnonzero(hierarchy.parent == 0)[1:]
    for c in range(7):
        assert tree.top[c] in tops
        assert on[c, tree.top[c]]
    assert_allclose(tree.entered, (on[:, 1:] * hierarchy.false[1:]).sum(axis=1))


@given(seed=seeds)
def test_the_cost_of_a_mistake_is_the_path_below_the_last_common_node(seed):
    hierarchy = random_hierarchy(seed)
    order, tree = in_order(hierarchy.kernel_tree())
    expected = hierarchy.costs()[order][:, order]
    for y in range(7):
        for c in range(7):
            last = last_in_common(tree, np.uint32(y), np.uint32(c))
            assert cost_beyond(tree, np.uint32(y), np.uint32(c), last) == pytest.approx(expected[y, c])
