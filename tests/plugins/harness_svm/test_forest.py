"""Several label trees compared with their definition: one beam search each, the mean of exp(path score)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from harness_svm import LabelTree
from messages import naming

SHARED = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SMALL = {"fanout": 2, "leaf_classes": 3, "prune": 0.0, "random_state": 0}


class Trees:
    """The trees of a learner as plain dictionaries: children of each node, classes of leaves, weights by node."""

    def __init__(self, branches, n_features):
        self.own, self.base = branches.own, branches.base
        self.children = {}
        for z in np.flatnonzero(branches.own < 0).tolist():
            self.children[z] = list(range(branches.child[z], branches.child[z + 1]))
        below = {c for children in self.children.values() for c in children}
        self.roots = [z for z in self.children if z not in below]
        self.weights = np.zeros((branches.own.size, n_features))
        for place, feature in enumerate(branches.features):
            for e in range(branches.edge[place], branches.edge[place + 1]):
                self.weights[branches.children[e], feature] = branches.weights[e]

    def walk(self, root, x, beam):
        """Return the path score of each node below the root, and the leaves met by a beam search."""
        path, ways, met = {root: 0.0}, [root], []
        for z in self._below(root):
            for c in self.children.get(z, ()):
                short = max(0.0, 1 - (self.weights[c] @ x + self.base[c]))
                path[c] = path[z] - (short**2 if len(self.children[z]) > 1 else 0.0)
        while ways:
            following = [c for z in ways for c in self.children[z]]
            met += [c for c in following if self.own[c] >= 0]
            ways = sorted((c for c in following if self.own[c] < 0), key=lambda c: -path[c])[:beam]
        return path, sorted(met, key=lambda c: -path[c])[:beam]

    def _below(self, root):
        order = [root]
        for z in order:
            order += self.children.get(z, ())
        return order

    def judge(self, x, beam):
        """Return the mean probability of every class, and the classes that any search met."""
        mean, met = {}, set()
        for root in self.roots:
            path, leaves = self.walk(root, x, beam)
            met |= {int(self.own[c]) for c in leaves}
            for z, score in path.items():
                if self.own[z] >= 0:
                    c = int(self.own[z])
                    mean[c] = mean.get(c, 0.0) + np.exp(score) / len(self.roots)
        return mean, met


@SHARED
@given(seed=st.integers(0, 2**32 - 1), beam=st.sampled_from([1, 2, 3, 12]), trees=st.integers(2, 4))
def test_ranks_and_scores_are_those_of_the_definition(data, seed, beam, trees):
    X, y = data(seed, n=150, n_classes=12)
    fitted = LabelTree(trees=trees, beam=beam, **SMALL).fit(X, y)
    plain = Trees(fitted.branches_, X.shape[1])
    assert len(plain.roots) == trees
    few = X[:25]
    ranked, scored = fitted.rank_scored(few, beam)
    for x, ranks, scores in zip(few.toarray().astype(np.float64), ranked, scored, strict=True):
        mean, met = plain.judge(x, beam)
        best = sorted((mean[c] for c in met), reverse=True)[:beam]
        assert set(ranks.tolist()) <= met
        assert_allclose([mean[int(c)] for c in ranks], best, rtol=1e-5)
        assert_allclose(np.exp(scores), best, rtol=1e-5)


@SHARED
@given(seed=st.integers(0, 2**32 - 1))
def test_the_scores_of_all_classes_are_logs_of_their_mean_probabilities(data, seed):
    X, y = data(seed, n=150, n_classes=12)
    fitted = LabelTree(trees=3, beam=12, **SMALL).fit(X, y)
    plain = Trees(fitted.branches_, X.shape[1])
    for x, scores in zip(X[:10].toarray().astype(np.float64), fitted.decision_function(X[:10]), strict=True):
        mean, _ = plain.judge(x, 12)
        assert_allclose(np.exp(scores), [mean[c] for c in range(12)], rtol=1e-5)


def test_ranking_and_scoring_at_once_equals_both_to_the_last_bit(data):
    X, y = data(n=300, n_classes=12)
    for trees in (1, 3):
        fitted = LabelTree(trees=trees, beam=3, **SMALL).fit(X, y)
        ranks, scores = fitted.rank_scored(X, 5)
        assert_array_equal(ranks, fitted.rank(X, 5))
        assert_array_equal(scores, fitted.scores(X, ranks))


def test_the_first_tree_is_that_of_a_learner_with_one_and_the_others_differ(data):
    X, y = data(n=150, n_classes=12)
    one, three = (LabelTree(trees=trees, **SMALL).fit(X, y).branches_ for trees in (1, 3))
    assert_array_equal(three.own[: one.own.size], one.own)
    assert_array_equal(three.weights[: one.weights.size], one.weights)
    clusters = three.own[three.own >= 0].reshape(3, 12)
    assert len({tuple(order) for order in clusters.tolist()}) == 3


def test_there_is_one_tree_where_others_would_be_alike(data, tree):
    X, y = data()
    for params, given_ in (({"leaf_classes": 6}, {}), ({"tree": "taxonomy"}, {"taxonomy": tree})):
        several, one = (LabelTree(trees=n, **{**SMALL, **params}).fit(X, y, **given_) for n in (3, 1))
        for found, expected in zip(several.branches_, one.branches_, strict=True):
            assert_array_equal(found, expected)


def test_paths_of_very_low_probability_are_ranked_too(data):
    X, y = data(n=150, n_classes=12)
    fitted = LabelTree(trees=3, beam=12, **SMALL).fit(X, y)
    far = csr_array(1000 * X)[np.diff(X.indptr) > 0]
    ranks, scores = fitted.rank_scored(far, 12)
    assert np.exp(scores[:, -1]).max() == 0  # too low for a float
    assert np.all(np.diff(scores, axis=1) <= 0)
    assert np.all(np.sort(ranks, axis=1) == np.arange(12))


def test_a_row_with_several_labels_ranks_them_first_by_several_trees(data):
    X, y = data(n=300)
    Y = np.zeros((len(y), 7), np.int8)  # no row has the last label
    Y[np.arange(len(y)), y] = Y[np.arange(len(y)), (y + 2) % 6] = 1
    fitted = LabelTree(trees=3, **SMALL).fit(X, csr_array(Y))
    ranked = fitted.rank(X, 2)
    filled = np.diff(X.indptr) > 0
    assert np.take_along_axis(Y, ranked.astype(np.intp), axis=1)[filled].mean() > 0.8
    assert np.all(fitted.decision_function(X)[:, 6] < -1e30)


def test_a_file_whose_trees_do_not_belong_together_is_refused(data, tmp_path):
    X, y = data(n=150, n_classes=12)
    fitted = LabelTree(trees=2, **SMALL).fit(X, y)
    own = fitted.branches_.own.copy()
    leaves = np.flatnonzero(own >= 0)
    own[leaves[0]] = own[leaves[1]]
    fitted.branches_ = fitted.branches_._replace(own=own)
    fitted.save(tmp_path / "model")
    with pytest.raises(ValueError, match=naming("model", "damaged", "branches_")):
        LabelTree.load(tmp_path / "model")


def test_a_bad_number_of_trees_raises_an_error(data):
    with pytest.raises(ValueError, match=r"^trees=0: must be an integer of at least 1"):
        LabelTree(trees=0).fit(*data())
