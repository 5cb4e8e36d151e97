"""Class trees: pruned to the classes, one leaf per class, clusters where no taxonomy is given."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from harness import Taxonomy
from harness.sdk import Labels
from harness_svm import TopDownSVM
from harness_svm.hierarchy import LEAVES, cluster, from_taxonomy, halve
from harness_svm.topdown.classifier import rows_below


def one_each(y) -> Labels:
    return Labels(np.arange(y.size + 1), y)


def path(hierarchy, c):
    nodes, z = [], int(hierarchy.leaf[c])
    while z:
        nodes.append(int(hierarchy.origin[z]))
        z = int(hierarchy.parent[z])
    return nodes[::-1]


def test_a_class_at_an_inner_node_gets_its_own_leaf(tree):
    hierarchy = from_taxonomy(tree, np.arange(6))
    assert [path(hierarchy, c) for c in range(6)] == [[1, 3], [1, 4, 4], [1, 4, 5], [2, 6], [2, 7, 8], [9]]


def test_nodes_without_a_class_below_are_removed(tree):
    hierarchy = from_taxonomy(tree, np.array([1, 4]))
    assert [path(hierarchy, c) for c in range(2)] == [[1, 4], [2, 7, 8]]
    assert hierarchy.parent.size == 6


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), nodes=st.integers(1, 30), classes=st.integers(1, 12))
def test_parents_precede_children_siblings_are_adjacent_and_leaves_are_distinct(seed, nodes, classes):
    rng = np.random.default_rng(seed)
    parent = np.array([-1, *(rng.integers(0, z) for z in range(1, nodes))])
    shuffled = rng.permutation(nodes)
    mixed = np.empty(nodes, np.int64)
    mixed[shuffled] = np.where(parent < 0, -1, shuffled[parent])
    hierarchy = from_taxonomy(Taxonomy(mixed, rng.integers(0, nodes, classes)), np.arange(classes))
    assert np.all(hierarchy.parent[1:] < np.arange(1, hierarchy.parent.size))
    assert np.all(np.diff(hierarchy.parent[1:]) >= 0)
    assert np.unique(hierarchy.leaf).size == classes
    assert not np.isin(hierarchy.leaf, hierarchy.parent[1:]).any()


def test_clusters_are_balanced_and_contain_every_class(data):
    X, y = data(n=400, n_classes=50)
    hierarchy = cluster(X, one_each(y), 50, seed=0)
    counts = np.bincount(hierarchy.parent[1:])
    fan = counts[np.unique(hierarchy.parent[hierarchy.leaf])]
    assert fan.max() <= LEAVES
    assert fan.max() - fan.min() <= 1
    assert np.all(counts[np.setdiff1d(hierarchy.parent, hierarchy.parent[hierarchy.leaf])] == 2)


def test_a_row_with_several_labels_counts_in_the_centre_of_each(data):
    X, y = data(n=400, n_classes=50)
    several = Labels(2 * np.arange(401), np.stack([y, y], axis=1).ravel())
    one, twice = cluster(X, one_each(y), 50, seed=0), cluster(X, several, 50, seed=0)
    assert_array_equal(one.leaf, twice.leaf)
    assert_array_equal(one.parent, twice.parent)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_row_descends_into_every_branch_with_one_of_its_classes(seed):
    rng = np.random.default_rng(seed)
    nodes, n_classes, n = 12, 7, 15
    parent = np.array([-1, *(rng.integers(0, z) for z in range(1, nodes))])
    hierarchy = from_taxonomy(Taxonomy(parent, rng.integers(0, nodes, n_classes)), np.arange(n_classes))
    truths = [sorted(rng.choice(n_classes, rng.integers(0, 4), replace=False).tolist()) for _ in range(n)]
    labels = Labels(np.cumsum([0, *map(len, truths)]), np.array([c for truth in truths for c in truth], np.int64))
    expected: dict[int, dict[int, set[int]]] = {}
    for row, truth in enumerate(truths):
        for c in truth:
            at = int(hierarchy.leaf[c])
            while at:
                above = int(hierarchy.parent[at])
                expected.setdefault(above, {}).setdefault(row, set()).add(at)
                at = above
    found = rows_below(hierarchy, labels)
    assert found.keys() == expected.keys()
    for z, (rows, starts, children) in found.items():
        assert rows.tolist() == sorted(expected[z])
        for number, row in enumerate(rows.tolist()):
            assert children[starts[number] : starts[number + 1]].tolist() == sorted(expected[z][row])


def test_classes_are_halved_along_the_direction_that_separates_them():
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(2), 6, axis=0) + 0.05 * rng.random((12, 2))
    first, second = halve(csr_array(centres), rng)
    assert {tuple(first), tuple(second)} == {tuple(range(6)), tuple(range(6, 12))}


def test_descent_takes_the_best_child_at_each_node(data, tree):
    X, y = data()
    learner = TopDownSVM(random_state=0).fit(X, y, taxonomy=tree)
    b, dense = learner.branches_, X.toarray().astype(float)
    W = np.zeros((b.own.size, X.shape[1]))
    places = np.repeat(np.arange(b.features.size), np.diff(b.edge))
    W[b.children, b.features[places]] = b.weights
    scores = dense @ W.T + b.base
    for row, ranked in zip(scores, learner.rank(X, 6), strict=True):
        z = 0
        while b.own[z] < 0:
            z = int(b.child[z]) + int(np.argmax(row[b.child[z] : b.child[z + 1]]))
        assert ranked[0] == b.own[z]
        assert_array_equal(np.sort(ranked), np.arange(6))
        paths = np.zeros(b.own.size)
        for node in range(b.own.size):
            paths[b.child[node] : b.child[node + 1]] = paths[node] - np.logaddexp(
                0, -row[b.child[node] : b.child[node + 1]]
            )
        leaves = {int(c): paths[node] for node, c in enumerate(b.own) if c >= 0}
        others = [leaves[int(c)] for c in ranked[1:]]
        assert np.all(np.diff(others) <= 1e-6)
