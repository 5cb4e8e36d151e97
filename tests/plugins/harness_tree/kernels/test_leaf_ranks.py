"""Ranking by a tree: the row's leaf first, then likely leaves or ancestors, compared with a slow reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from harness.sdk import as_instances
from harness_tree.kernels.leaf_ranks import rank_nodes
from harness_tree.kernels.nodes import route
from harness_tree.kernels.regressor import at_offsets, dense_weights
from harness_tree.kernels.search import ClassLists, as_lists
from harness_tree.kernels.static_tree import build_tree

seeds = st.integers(0, 2**32 - 1)


def forest(seed: int, n_leaves: int, n_classes: int = 7, n_features: int = 4):
    """Draw a tree with random regressors, random counts at all nodes, and rows."""
    rng = np.random.default_rng(seed)
    nodes, _ = build_tree(rng.permutation(n_leaves))
    table = np.zeros(((n_leaves - 1) * (n_features + 1), 2), np.float32)
    table[:, 0] = rng.normal(size=len(table))
    counts = rng.integers(0, 9, (len(nodes), n_classes)) * (rng.random((len(nodes), n_classes)) < 0.5)
    favourites = np.where(nodes["left"] < 0, rng.integers(0, n_classes, len(nodes)), -1)
    at, classes = np.nonzero(counts)
    lists = as_lists(at, classes, counts[at, classes], favourites)
    X = rng.normal(size=(20, n_features)).astype(np.float32)
    return nodes, dense_weights(table, n_features), lists, X


def of_node(lists: ClassLists, j: int) -> dict[int, int]:
    span = slice(lists.starts[j], lists.starts[j + 1])
    return dict(zip(lists.classes[span].tolist(), lists.counts[span].tolist(), strict=True))


def scores(nodes, weights, lists, x, n_leaves: int, n_classes: int = 7) -> np.ndarray:
    """Return sum P(leaf) share(class | leaf) over the most probable leaves, by visiting every node."""
    W, odds = weights.table[:, 0].astype(np.float64).reshape(-1, x.size + 1), {0: 1.0}
    leaves = {}
    waiting = [0]
    while waiting:
        j = waiting.pop()
        if nodes["left"][j] < 0:
            leaves[j] = odds[j]
            continue
        right = 1 / (1 + np.exp(-2 * (W[nodes["slot"][j]] @ np.insert(x.astype(np.float64), 0, 1.0))))
        for side, share in (("left", 1 - right), ("right", right)):
            odds[int(nodes[side][j])] = odds[j] * share
            waiting.append(int(nodes[side][j]))
    total = np.zeros(n_classes)
    for j in sorted(leaves, key=leaves.get, reverse=True)[:n_leaves]:
        known = of_node(lists, j)
        for c, count in known.items():
            total[c] += leaves[j] * count / max(1, sum(known.values()))
    return total


@settings(max_examples=40, deadline=None)
@given(seed=seeds, n_leaves=st.integers(1, 12), n_wanted=st.integers(1, 12))
def test_likely_leaves_rank_by_summed_shares_after_the_class_of_the_rows_leaf(seed, n_leaves, n_wanted):
    nodes, weights, lists, X = forest(seed, n_leaves)
    ranked = rank_nodes(nodes, 0, weights, lists, at_offsets(as_instances(X), weights), 7, 7, n_wanted).ranks
    leaves, _ = route(nodes, 0, weights, at_offsets(as_instances(X), weights))
    for x, leaf, row in zip(X, leaves, ranked, strict=True):
        total = scores(nodes, weights, lists, x, n_wanted)
        assert row[0] == lists.classes[lists.starts[leaf]]
        found = [c for c in row[1:] if c >= 0 and total[c] > 0]
        assert found == row[1 : 1 + len(found)].tolist()  # the other classes follow
        assert set(found) | {row[0]} >= set(np.flatnonzero(total > 0))
        assert np.all(np.diff(total[found]) <= 1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, n_leaves=st.integers(1, 12), k=st.integers(1, 9))
def test_without_leaves_the_rows_leaf_comes_first_then_each_ancestor(seed, n_leaves, k):
    nodes, weights, lists, X = forest(seed, n_leaves)
    ranked = rank_nodes(nodes, 0, weights, lists, at_offsets(as_instances(X), weights), k, 7, 0).ranks
    leaves, _ = route(nodes, 0, weights, at_offsets(as_instances(X), weights))
    for leaf, row in zip(leaves.tolist(), ranked, strict=True):
        wanted: list[int] = []
        j = leaf
        while j >= 0:
            wanted += [c for c in of_node(lists, j) if c not in wanted]
            j = int(nodes["parent"][j])
        assert row.tolist() == (wanted + [-1] * k)[:k]


@settings(max_examples=40, deadline=None)
@given(seed=seeds, n_leaves=st.integers(1, 12), n_wanted=st.integers(0, 5), k=st.integers(1, 12))
def test_no_class_is_ranked_twice_and_the_first_rank_does_not_depend_on_k(seed, n_leaves, n_wanted, k):
    nodes, weights, lists, X = forest(seed, n_leaves)
    ranked = rank_nodes(nodes, 0, weights, lists, at_offsets(as_instances(X), weights), k, 7, n_wanted).ranks
    assert_array_equal(
        ranked[:, 0], rank_nodes(nodes, 0, weights, lists, at_offsets(as_instances(X), weights), 1, 7, 0).ranks[:, 0]
    )
    for row in ranked:
        listed = row[row >= 0]
        assert np.unique(listed).size == listed.size
        assert np.all(row[listed.size :] == -1)


def test_a_preferred_class_wins_ties_only_and_is_the_only_rank_of_an_empty_node():
    at, classes, counts = np.array([0, 0, 0, 1, 1]), np.array([3, 1, 2, 0, 4]), np.array([5, 5, 9, 1, 1])
    lists = as_lists(at, classes, counts, np.array([3, 4, 2, -1]))
    assert [list(of_node(lists, j)) for j in range(4)] == [[2, 3, 1], [4, 0], [2], []]
    assert of_node(lists, 2) == {2: 0}


@pytest.mark.parametrize("n_leaves", [1, 2])
def test_certain_decisions_give_the_other_child_probability_zero_without_errors(n_leaves):
    nodes, weights, lists, X = forest(0, n_leaves)
    weights.table[:, 0] *= 1e6
    ranked = rank_nodes(nodes, 0, weights, lists, at_offsets(as_instances(X), weights), 7, 7, 5).ranks
    assert np.all(ranked[:, 0] >= 0)


def test_the_search_of_a_large_undecided_tree_is_bounded():
    n_leaves = 4096
    nodes, weights, lists, X = forest(0, n_leaves)
    undecided = dense_weights(np.zeros_like(weights.table), X.shape[1])
    ranked = rank_nodes(nodes, 0, undecided, lists, at_offsets(as_instances(X), weights), 7, 7, 10).ranks
    assert ((ranked >= -1) & (ranked < 7)).all()
    assert_array_equal(ranked[:, 0], ranked[0, 0])
