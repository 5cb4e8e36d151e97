"""Rankings at a few times the cost of one label, compared with their definition; table sizes."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from harness.sdk import as_instances
from harness_tree import LOMtree
from harness_tree.kernels.path_ranks import MOST_LISTED, MOST_PASSED_BY, STEEPNESS, WAYS
from harness_tree.tree import FEWEST_BITS, MOST_BITS, needed_bits


def problem(seed, n=400, n_classes=30):
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n)
    X = random.normal(size=(n_classes, 12))[y] + 0.8 * random.normal(size=(n, 12))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


class Reference:
    """The search in plain Python: dense weights, a heap, dictionaries."""

    def __init__(self, tree):
        self.tree, self.lists = tree, tree._lists()
        stretch = tree.n_features_in_ + 1
        self.w = tree.table_[:, 0].astype(np.float64).reshape(-1, stretch)
        self.order = np.argsort(tree.places_)

    def score(self, node, x):
        w = self.w[node["slot"]]
        return w[0] + w[1:] @ x[self.order]

    def shares(self, j):
        lo, hi = self.lists.starts[j], self.lists.starts[j + 1]
        counts = self.lists.counts[lo:hi]
        return list(zip(self.lists.classes[lo:hi], counts / max(1, counts.sum()), strict=True))[:MOST_LISTED]

    def children(self, j, odds, x):
        """Return (odds, node) of the more likely child and of the other."""
        node = self.tree.nodes_[j]
        h = self.score(node, x)
        likelier = 1 / (1 + np.exp(-STEEPNESS * abs(h)))
        sides = [node["left"], node["right"]] if h < 0 else [node["right"], node["left"]]
        return (odds * likelier, int(sides[0])), (odds * (1 - likelier), int(sides[1]))

    def class_scores(self, x):
        nodes, j, odds, made, open_nodes, heard = self.tree.nodes_, self.tree.root_, 1.0, 0, [], []
        while nodes[j]["left"] >= 0:
            (odds, j), (less, other) = self.children(j, odds, x)
            open_nodes.append((-less, other))
            made += 1
        own, most = j, WAYS * made
        heard.append((odds, own))
        heapq.heapify(open_nodes)
        while open_nodes and made < most:
            less, j = heapq.heappop(open_nodes)
            if nodes[j]["left"] < 0:
                heard.append((-less, j))
                continue
            made += 1
            for odds, child in self.children(j, -less, x):
                heapq.heappush(open_nodes, (-odds, child))
        heard += [(-less, j) for less, j in heapq.nsmallest(MOST_PASSED_BY, open_nodes)]
        scores: dict[int, float] = {}
        for odds, j in heard:
            for c, share in self.shares(j):
                scores[int(c)] = scores.get(int(c), 0.0) + odds * share
        return int(self.lists.classes[self.lists.starts[own]]), scores, made


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.sampled_from([2, 5]))
def test_ranks_match_the_definition(seed, k):
    X, y = problem(seed)
    tree = LOMtree(passes=3, store="dense", random_state=0).fit(X[:300], y[:300])
    ranked, reference = tree.rank(X[300:], k), Reference(tree)
    for x, found in zip(X[300:].astype(np.float64), ranked, strict=True):
        first, scores, _ = reference.class_scores(x)
        assert found[0] == first
        assert np.unique(found).size == k
        others = sorted((score for c, score in scores.items() if c != first and score > 0), reverse=True)[: k - 1]
        assert [scores[c] for c in found[1 : 1 + len(others)]] == pytest.approx(others, rel=1e-6, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_ranking_of_any_depth_takes_at_most_three_times_the_decisions_of_one_label(seed):
    X, y = problem(seed)
    tree = LOMtree(passes=3, random_state=0).fit(X, y)
    instances = tree._arranged(as_instances(tree._known(X)))
    one, many = (tree._rank_nodes(instances, k).decisions for k in (1, 30))
    assert np.all(many <= WAYS * one)
    assert_array_equal(tree.rank(X, 30)[:, 0], tree.rank(X, 1)[:, 0])


@pytest.mark.parametrize("rows", [1, 3, 50])
def test_the_ranks_of_a_row_are_independent_of_the_rows_ranked_with_it(rows):
    X, y = problem(2)
    tree = LOMtree(passes=3, random_state=0).fit(X[:300], y[:300])
    apart = [tree.rank(X[first : first + rows], 7) for first in range(300, 400, rows)]
    assert_array_equal(np.concatenate(apart), tree.rank(X[300:], 7))


def test_ranks_two_to_five_are_better_than_by_the_ancestors_of_the_leaf():
    X, y = problem(1, n=3000, n_classes=60)
    tree = LOMtree(passes=5, random_state=0).fit(X[:2000], y[:2000])
    found = {}
    for ranking in ("paths", "nodes"):
        ranked = tree.set_params(ranking=ranking).rank(X[2000:], 5)
        found[ranking] = (ranked == y[2000:, np.newaxis]).any(axis=1).mean()
    assert found["paths"] > found["nodes"] + 0.02


def test_a_table_has_no_more_slots_than_can_be_used():
    assert needed_bits(10**9, 10**6, 10**6) == MOST_BITS
    assert needed_bits(5, 5, 1) == FEWEST_BITS
    # three levels; only the root has fewer weights than there are values
    assert 2 ** needed_bits(30_000, 20_000, 4) >= 20_000 + 2 * 30_000 > 2 ** (needed_bits(30_000, 20_000, 4) - 1)


def test_a_hashed_table_grows_with_batches_and_keeps_its_weights():
    X, y = problem(0, n=1200)
    tree = LOMtree(store="hashed", random_state=0)
    tree.partial_fit(X[:5], y[:5], classes=np.arange(30))
    small, before = len(tree.table_), tree.rank(X, 3)
    tree._grow(as_instances(tree._known(X)))
    assert len(tree.table_) > small
    assert_array_equal(tree.rank(X, 3), before)


def test_a_row_that_reaches_no_class_has_equal_probabilities(monkeypatch):
    X, y = problem(0)
    tree = LOMtree(random_state=0).fit(X, y)
    scores = tree.decision_function(X[:2])
    scores[0] = 0.0
    monkeypatch.setattr(tree, "decision_function", lambda X: scores)
    shares = tree.predict_proba(X[:2])
    assert shares[0] == pytest.approx(1 / 30)
    assert shares[1].argmax() == scores[1].argmax()
