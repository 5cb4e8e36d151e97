"""A class tree with its sums, held against attributes and paths that are written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from harness_svm.kernels.class_tree import alike, as_tree, come_down, sum_subtrees
from svm_definitions import random_hierarchy

seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds)
def test_sums_along_the_paths_are_those_of_the_nodes_on_them(seed):
    hierarchy = random_hierarchy(seed)
    tree, on = hierarchy.kernel_tree(), hierarchy.on_path()
    assert_allclose(tree.shared[hierarchy.leaf], (on * hierarchy.weight).sum(axis=1))
    assert_allclose(tree.missed[hierarchy.leaf], (on * hierarchy.missed).sum(axis=1))
    assert_allclose(tree.false[hierarchy.leaf], (on * hierarchy.false).sum(axis=1))
    assert tree.shared[0] == tree.missed[0] == tree.false[0] == tree.weight[0] == 0


@given(seed=seeds)
def test_the_likeness_of_two_classes_is_the_product_of_their_attributes(seed):
    hierarchy = random_hierarchy(seed)
    tree, L = hierarchy.kernel_tree(), hierarchy.attributes()
    found = [[alike(tree, np.uint32(c), np.uint32(o)) for o in range(7)] for c in range(7)]
    assert_allclose(found, L @ L.T, atol=1e-12)
    assert_allclose(np.diag(found), 1.0)


@given(seed=seeds)
def test_scores_by_way_of_the_node_sums_are_those_of_the_node_vectors(seed):
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


def test_a_class_without_any_weight_on_its_path_scores_nothing():
    nothing = np.zeros(3)
    tree = as_tree(np.array([0, 0, 0]), np.array([1, 2]), np.array([0.0, 4.0, 0.0]), nothing, nothing)
    assert tree.scale.tolist() == [0.5, 0.0]
    assert alike(tree, np.uint32(0), np.uint32(1)) == 0
