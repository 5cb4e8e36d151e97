"""Blends compared with their definition, one row at a time; the fit of temperatures and weights; files."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from harness.sdk import Labels, frozen
from harness_committee import Blend, Committee
from harness_committee.blend import LEAST_SAMPLED, fit_temperature, fit_weights, sample_rows
from harness_prototype import PA
from harness_svm import HSVM, CrammerSinger, LabelTree
from problems import as_indicator
from problems import near_prototypes as data

PAIR = [PA(passes=3), LinearSVC()]
SHARED = settings(max_examples=15, deadline=None)


class FixedScores:
    """A fitted learner that ranks by given scores."""

    def __init__(self, scores):
        self.all = scores

    def rank(self, X, k):
        order = np.argsort(-self.all, axis=1, kind="stable")[:, :k].astype(np.int32)
        return np.pad(order, ((0, 0), (0, k - order.shape[1])), constant_values=-1)

    def scores(self, X, ranks):
        return np.where(ranks >= 0, np.take_along_axis(self.all, np.maximum(ranks, 0), axis=1), 0.0)


def blend_of(members, temperatures, weights, candidates):
    blend = Blend(candidates=candidates)
    blend.models_ = [FixedScores(scores) for scores in members]
    blend.classes_ = np.arange(members[0].shape[1])
    blend.temperatures_, blend.weights_ = np.array(temperatures), np.array(weights)
    blend.n_features_in_ = 1
    return blend


def mean_of(members, temperatures, weights, candidates, row):
    """Return the weighted probability of each class that any learner names, by the definition."""
    total = {}
    for scores, temperature, weight in zip(members, temperatures, weights, strict=True):
        named = sorted(range(scores.shape[1]), key=lambda c: (-scores[row, c], c))[:candidates]
        powers = [np.exp(scores[row, c] / temperature) for c in named]
        for c, power in zip(named, powers, strict=True):
            total[c] = total.get(c, 0.0) + weight * power / sum(powers)
    return total


@SHARED
@given(seed=st.integers(0, 2**32 - 1), candidates=st.integers(1, 8), n_learners=st.integers(2, 3))
def test_ranks_and_scores_are_those_of_the_definition(seed, candidates, n_learners):
    random = np.random.default_rng(seed)
    members = [random.normal(size=(9, 6)) for _ in range(n_learners)]
    temperatures, weights = random.uniform(0.2, 3, n_learners), random.dirichlet(np.ones(n_learners))
    blend = blend_of(members, temperatures, weights, candidates)
    X = np.ones((9, 1))
    ranks, scores = blend.rank_scored(X, 6)
    every = blend.scores(X, np.tile(np.arange(6, dtype=np.int32), (9, 1)))
    for row in range(9):
        expected = mean_of(members, temperatures, weights, candidates, row)
        order = sorted(expected, key=lambda c: -expected[c])
        assert ranks[row, : len(order)].tolist() == order
        assert_allclose(scores[row, : len(order)], [expected[c] for c in order])
        assert_allclose(every[row], [expected.get(c, 0.0) for c in range(6)])
        assert sorted(ranks[row].tolist()) == list(range(6))
    assert_array_equal(ranks[:, :2], blend.rank(X, 2))
    assert_allclose(scores, blend.scores(X, ranks))


def test_a_learner_that_ranks_nothing_leaves_the_row_to_the_others():
    silent, other = np.zeros((2, 4)), np.array([[0.0, 3, 1, 2], [5, 0, 1, 2]])
    blend = blend_of([silent, other], [1.0, 1.0], [0.5, 0.5], 2)
    blend.models_[0].rank = lambda X, k: np.full((2, k), -1, np.int32)
    assert blend.rank(np.ones((2, 1)), 3).tolist() == [[1, 3, 2], [0, 3, 2]]


@SHARED
@given(seed=st.integers(0, 2**32 - 1), temperature=st.sampled_from([0.1, 0.5, 2.0, 7.0]))
def test_the_temperature_has_the_highest_likelihood(seed, temperature):
    random = np.random.default_rng(seed)
    scores = -np.sort(-temperature * 2 * random.normal(size=(400, 5)), axis=1)
    chances = np.exp(scores / temperature) / np.exp(scores / temperature).sum(axis=1, keepdims=True)
    true = np.array([random.choice(5, p=each) for each in chances])

    def loss(log_t):
        each = scores / np.exp(log_t)
        return -(each[np.arange(400), true] - np.log(np.exp(each - each.max(1)[:, None]).sum(1)) - each.max(1)).mean()

    best = minimize_scalar(loss, bounds=(-5, 5), method="bounded").fun
    found = fit_temperature(np.tile(np.arange(5, dtype=np.int32), (400, 1)), scores, true[:, None] == np.arange(5))
    assert best <= loss(np.log(found)) <= best + 0.01


@SHARED
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.05, 0.95))
def test_weights_have_the_highest_likelihood(seed, share):
    random = np.random.default_rng(seed)
    right = np.where(random.random((300, 1)) < share, [[0.9, 0.2]], [[0.1, 0.8]]) * random.uniform(0.5, 1, (300, 2))
    best = minimize_scalar(lambda w: -np.log(right @ [w, 1 - w]).mean(), bounds=(0, 1), method="bounded").fun
    weights = fit_weights(np.concatenate([right, np.zeros((5, 2))]))
    assert weights.sum() == pytest.approx(1)
    assert -np.log(right @ weights).mean() == pytest.approx(best, abs=1e-3)


def test_the_learners_are_trained_on_all_rows_and_a_useless_one_has_little_weight():
    X, y = data(n=400)
    blend = Blend([CrammerSinger(random_state=0), PA(passes=1, C=1e-9, random_state=0)], random_state=1).fit(X, y)
    assert_array_equal(blend.models_[0].rank(X, 4), CrammerSinger(random_state=0).fit(X, y).rank(X, 4))
    assert blend.weights_[0] > 0.8
    assert blend.index_size_ == sum(model.index_size_ for model in blend.models_)


def test_temperatures_are_fitted_on_rows_that_the_learners_have_not_seen():
    random = np.random.default_rng(0)
    X, y = random.random((300, 400)), random.integers(0, 3, 300)  # learnt by heart, and nothing to generalise
    blend = Blend([LinearSVC(C=100), PA(passes=30)], candidates=3, random_state=0).fit(X, y)
    assert blend.score(X, y) > 0.95
    chances = blend.decision_function(X).max(axis=1)
    assert chances.mean() < 0.8


@SHARED
@given(n=st.integers(1, 5000), share=st.floats(0, 1), n_classes=st.integers(1, 3))
def test_a_sample_has_its_share_of_the_rows_and_two_classes(n, share, n_classes):
    random = np.random.default_rng(n)
    train, y = random.permutation(n), random.integers(0, n_classes, n)
    labels = Labels(frozen(np.arange(n + 1), np.int64), frozen(y, np.int32))
    rows = sample_rows(train, labels, share)
    assert np.all(np.diff(rows) > 0)
    size = min(n, max(LEAST_SAMPLED, round(share * n)))
    if np.unique(y[train[:size]]).size > 1:
        assert set(rows.tolist()) == set(train[:size].tolist())
    else:
        assert rows.size == n


class CountsRows(LinearSVC):
    """Keeps the number of rows of each training."""

    counts: ClassVar[list[int]] = []

    def fit(self, X, y):
        self.counts.append(X.shape[0])
        return super().fit(X, y)


@pytest.mark.parametrize(("sample", "expected"), [(0.5, 1350), (1.0, 2700), (0.0, LEAST_SAMPLED)])
def test_copies_are_trained_on_the_sample_and_learners_on_all_rows(sample, expected):
    CountsRows.counts.clear()
    Blend([CountsRows(), CountsRows(C=0.1)], sample=sample, random_state=0).fit(*data(n=3000))
    assert sorted(CountsRows.counts) == [expected, expected, 3000, 3000]


def test_classes_that_the_sample_lacks_do_not_disturb_the_weights():
    X, y = data(n=2500)
    y = np.concatenate([np.arange(40), 100 + y[40:]])  # the classes with one row come first
    good, useless = CrammerSinger(random_state=0), PA(passes=1, C=1e-9, random_state=0)
    blend = Blend([good, useless], random_state=1).fit(X, y)
    assert blend.weights_[0] > 0.8
    assert_array_equal(blend.classes_, np.unique(y))


def test_flat_and_tree_learners_that_take_no_sparse_scores_blend_too(tmp_path):
    X, y = data(n=400)
    blend = Blend([LogisticRegression(), LabelTree(trees=2, leaf_classes=3, fanout=2)], random_state=0).fit(X, y)
    assert blend.score(X, y) > 0.8
    assert not hasattr(blend, "edges_touched")
    with pytest.raises(ValueError, match="LogisticRegression has no save"):
        blend.save(tmp_path / "model")


def test_classes_with_one_row_stay_known():
    X, y = data(n=60)
    y = np.where(np.arange(60) < 20, 100 + np.arange(60), y)
    blend = Blend(PAIR, random_state=0).fit(X, y)
    assert_array_equal(blend.classes_, np.unique(y))


def test_rows_with_several_labels_are_blended():
    X, y = data(n=400)
    Y = as_indicator(y) + as_indicator((y + 1) % 12)
    blend = Blend(random_state=0).fit(X, Y)
    ranked = blend.rank(X, 2)
    assert np.take_along_axis(Y.toarray(), ranked.astype(np.intp), axis=1).mean() > 0.8


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Blend([PA()]), "learners=.*: must be a list of two or more learners with scores"),
        (Blend([PA(), Committee()], candidates=0), "candidates=0: must be an integer"),
        (Blend("pa, ooz"), "learners='pa, ooz': must be a list of two or more"),
        (Blend(sample=1.5), "sample=1.5: must be a number from 0 to 1"),
        (Blend([PA(), 7]), "learners=.*: must be a list"),
    ],
    ids=str,
)
def test_bad_parameters_raise_an_error(learner, message):
    with pytest.raises(ValueError, match=message):
        learner.fit(*data())


def test_a_taxonomy_reaches_the_learners_that_take_one(recwarn):
    from harness import Taxonomy

    X, y = data(n=200)
    taxonomy = Taxonomy(np.array([-1, 0, 0, *(1 + np.arange(12) % 2)]), 3 + np.arange(12))
    Blend([HSVM(max_sweeps=300), PA(passes=2)], random_state=0).fit(X, y, taxonomy=taxonomy)
    assert not [each for each in recwarn if "no class tree" in str(each.message)]


def test_two_threads_give_the_same_blend_as_one(monkeypatch):
    X, y = data()
    blends = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        blends.append(Blend([PA(passes=1), LabelTree()], random_state=0).fit(X, y))
    one, two = blends
    assert [type(model) for model in two.models_] == [PA, LabelTree]
    assert_array_equal(one.temperatures_, two.temperatures_)
    assert_array_equal(one.weights_, two.weights_)
    ranks = one.rank(X, 5)
    assert_array_equal(ranks, two.rank(X, 5))
    assert_array_equal(one.scores(X, ranks), two.scores(X, ranks))
