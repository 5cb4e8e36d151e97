"""Tree descent, compared with scores and paths computed node by node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness_svm.topdown.kernels.branches import Branches
from harness_svm.topdown.kernels.descent import find_feature, rank_by_descent
from svm_definitions import instances_of, random_rows

FEATURES = 8
seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class ExplicitTree:
    """A tree with children per node, a class per leaf, and a weight vector and a bias per node."""

    children: list[list[int]]
    own: np.ndarray
    W: np.ndarray
    """Nodes x features; what a node knows of a feature counts for its choice among its parent's children."""
    base: np.ndarray

    def scores(self, x: np.ndarray) -> np.ndarray:
        return self.W @ x + self.base

    def paths(self, x: np.ndarray) -> np.ndarray:
        """Return by node the sum of log sigma(score) from the root."""
        paths = np.zeros(len(self.children))
        scores = self.scores(x)
        for node, children in enumerate(self.children):
            for child in children:
                paths[child] = paths[node] - np.logaddexp(0, -scores[child])
        return paths

    def greedy(self, x: np.ndarray) -> list[int]:
        """Return the nodes on the path of the best child at each node."""
        way, scores = [0], self.scores(x)
        while self.own[way[-1]] < 0:
            way.append(max(self.children[way[-1]], key=lambda child: (scores[child], -child)))
        return way

    def ranking(self, x: np.ndarray) -> list[int]:
        """Return the class of the greedy path, then the other reachable classes by path score."""
        first, paths = self.greedy(x)[-1], self.paths(x)
        reached = self.reached()
        others = [z for z in range(len(self.own)) if self.own[z] >= 0 and z != first and reached[z]]
        others.sort(key=lambda z: (-paths[z], z))
        return [int(self.own[z]) for z in [first, *others]]

    def reached(self) -> np.ndarray:
        """Return the nodes that can be entered, and all nodes above them."""
        reached = self.base > -np.inf
        for node, children in enumerate(self.children):
            reached[children] &= reached[node]
        return reached

    def edges_of(self, node: int, x: np.ndarray) -> int:
        """Return the weights of a node's children for the features of the row."""
        return int(np.count_nonzero(self.W[self.children[node]][:, x != 0]))

    def kernel_branches(self) -> Branches:
        """Return the kernel's arrays; a node lists each feature for which a child has a weight."""
        starts = [self.children[z][0] if self.children[z] else None for z in range(len(self.children))]
        child, after = [], len(self.children)
        for start in reversed(starts):  # a leaf has an empty range of children
            after = start if start is not None else after
            child.append(after)
        child = [*reversed(child), len(self.children)]
        first, features, edge, children, weights = [0], [], [0], [], []
        for below in self.children:
            for f in range(FEATURES):
                known = [z for z in below if self.W[z, f] != 0]
                if known:
                    features.append(f)
                    children += known
                    weights += [self.W[z, f] for z in known]
                    edge.append(len(children))
            first.append(len(features))
        return Branches(
            np.array(child, np.uint32),
            self.own.astype(np.int32),
            self.base,
            np.array(first, np.uint32),
            np.array(features, np.uint32),
            np.array(edge, np.int64),
            np.array(children, np.uint32),
            np.array(weights, np.float32),
        )


def written(seed: int, shut: float = 0.0) -> ExplicitTree:
    """Draw a tree of two or three levels, numbered level by level; some children are never entered."""
    rng = np.random.default_rng(seed)
    children: list[list[int]] = [[]]
    queue = [(0, 0)]
    for node, depth in queue:
        for _ in range(int(rng.integers(2, 5)) if depth < 2 and (depth == 0 or rng.random() < 0.6) else 0):
            children[node].append(len(children))
            queue.append((len(children), depth + 1))
            children.append([])
    n = len(children)
    own, leaves = np.full(n, -1), [z for z in range(n) if not children[z]]
    own[leaves] = rng.permutation(len(leaves))
    W = (rng.normal(size=(n, FEATURES)) * (rng.random((n, FEATURES)) < 0.5)).astype(np.float32).astype(float)
    W[0] = 0
    base = rng.normal(size=n)
    for below in children:
        for z in below[1:]:  # the first child can be entered
            if rng.random() < shut:
                base[z] = -np.inf
    return ExplicitTree(children, own, W, base)


@settings(max_examples=100)
@given(seed=seeds, k=st.integers(1, 12))
def test_the_first_rank_is_greedy_and_the_others_follow_path_scores(seed, k):
    tree = written(seed)
    X, _ = random_rows(seed, 5, FEATURES, 2)
    ranked, _ = rank_by_descent(tree.kernel_branches(), instances_of(X), k)
    for x, row in zip(X, ranked, strict=True):
        expected = tree.ranking(x)[:k]
        assert row.tolist() == expected + [-1] * (k - len(expected))


@settings(max_examples=50)
@given(seed=seeds)
def test_children_that_are_never_entered_and_their_descendants_are_not_ranked(seed):
    tree = written(seed, shut=0.4)
    X, _ = random_rows(seed, 4, FEATURES, 2)
    ranked, _ = rank_by_descent(tree.kernel_branches(), instances_of(X), tree.own.size)
    for x, row in zip(X, ranked, strict=True):
        assert row[row >= 0].tolist() == tree.ranking(x)


@settings(max_examples=50)
@given(seed=seeds)
def test_ranking_one_class_reads_only_the_edges_of_its_path(seed):
    tree = written(seed)
    X, _ = random_rows(seed, 4, FEATURES, 2)
    _, read = rank_by_descent(tree.kernel_branches(), instances_of(X), 1)
    assert read == sum(tree.edges_of(node, x) for x in X for node in tree.greedy(x)[:-1])


def test_ranking_all_classes_reads_every_edge_once():
    tree = written(3)
    X, _ = random_rows(3, 4, FEATURES, 2)
    ranked, read = rank_by_descent(tree.kernel_branches(), instances_of(X), tree.own.size)
    assert read == sum(tree.edges_of(node, x) for x in X for node in range(tree.own.size))
    assert_array_equal(
        np.sort(ranked, axis=1)[:, -(tree.own.max() + 1) :], np.tile(np.arange(tree.own.max() + 1), (4, 1))
    )


def test_tied_children_are_ordered_by_number():
    tree = written(7)
    tie = ExplicitTree(tree.children, tree.own, 0 * tree.W, 0 * tree.base)
    ranked, read = rank_by_descent(tie.kernel_branches(), instances_of(np.ones((1, FEATURES))), tie.own.size)
    assert ranked[0].tolist()[: tie.own.max() + 1] == tie.ranking(np.ones(FEATURES))
    assert read == 0


@pytest.mark.parametrize("score", [-800.0, -30.0, 0.0, 30.0, 800.0])
def test_path_scores_of_extreme_values_neither_overflow_nor_vanish(score):
    tree = ExplicitTree(
        [[1, 2, 3], [], [], []], np.array([-1, 0, 1, 2]), np.zeros((4, FEATURES)), np.array([0, score, 0.0, 1.0])
    )
    ranked, _ = rank_by_descent(tree.kernel_branches(), instances_of(np.ones((1, FEATURES))), 3)
    assert ranked[0].tolist() == tree.ranking(np.ones(FEATURES))
    assert np.all(np.isfinite(tree.paths(np.ones(FEATURES))))


@given(features=st.sets(st.integers(0, 50)), f=st.integers(0, 51), lo=st.integers(0, 5))
def test_the_search_returns_the_position_of_a_feature_or_its_insertion_point(features, f, lo):
    known = np.array(sorted(features), np.uint32)
    lo = min(lo, known.size)
    found = find_feature(known, np.uint32(lo), np.uint32(known.size), np.uint32(f))
    assert found == lo + np.searchsorted(known[lo:], f)
    assert_allclose(known[lo:found] < f, 1)
