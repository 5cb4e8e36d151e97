"""EMA training equals a dense reference and has the fixed points of moving averages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from harness.sdk import Labels, as_instances, frozen, helper
from harness_index.kernels.ema import EMAStep, update_ema
from internals import MOST_EDGES, Rows, empty_rows, empty_space, enlarge

update64 = helper()(update_ema.py_func)
"""The same source, compiled for weights of float64."""

SMALLEST = 5e-324
ALWAYS = EMAStep(np.inf, 0.25, SMALLEST, MOST_EDGES, MOST_EDGES)
STEPS = [
    ALWAYS,
    ALWAYS._replace(margin=1.0),
    ALWAYS._replace(margin=0.3, rate=1.0, degree=2),
    ALWAYS._replace(margin=7.0, rate=0.6, least=0.05),
    ALWAYS._replace(margin=1.0, degree=1, least=0.005),
    ALWAYS._replace(margin=1.0, degree=2, stored=2),
]
VALUES = st.sampled_from([0.0, 0.0, 0.0, 1.0, 0.5, 0.25, 2.0, 1e-20, 0.1])


@dataclass(frozen=True)
class Problem:
    X: np.ndarray
    truths: list[list[int]]
    order: np.ndarray
    n_classes: int


@st.composite
def tied_problems(draw, most_labels: int = 1):
    """Draw few distinct values: many ties and zero rows, unused classes, repeated and missing instances."""
    n, n_features, n_classes = draw(st.integers(1, 8)), draw(st.integers(1, 5)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.float32, (n, n_features), elements=VALUES.map(lambda x: float(np.float32(x)))))
    truth = st.lists(st.integers(0, n_classes - 1), min_size=most_labels == 1, max_size=most_labels, unique=True)
    order = draw(hnp.arrays(np.int64, st.integers(0, 25), elements=st.integers(0, n - 1)))
    return Problem(X, draw(st.lists(truth, min_size=n, max_size=n)), order, n_classes)


def free_problem(seed: int, n: int = 30, n_features: int = 12, n_classes: int = 6) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.6)
    X[:, 0] += rng.random(n)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return Problem(X.astype(np.float32), [[c] for c in rng.integers(0, n_classes, n).tolist()], rng.permutation(n), 6)


def boolean_problem(seed: int, n: int = 30) -> Problem:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, 4)) < 0.6).astype(np.float32)
    return Problem(X, [[c] for c in rng.integers(0, 5, n).tolist()], np.arange(n), 5)


free_problems = st.builds(free_problem, st.integers(0, 2**32 - 1))
boolean_problems = st.builds(boolean_problem, st.integers(0, 2**32 - 1))


def train(problem: Problem, step: EMAStep, dtype: type = np.float64, n_edges: int = 2) -> Rows:
    rows, order, space = empty_rows(problem.X.shape[1], n_edges, dtype), problem.order, empty_space(problem.n_classes)
    kernel = update_ema if dtype == np.float32 else update64
    classes = np.array([c for truth in problem.truths for c in truth])
    labels = Labels(frozen(np.cumsum([0, *map(len, problem.truths)]), np.int64), frozen(classes, np.int32))
    while (done := kernel(rows, as_instances(problem.X), labels, order, space, step)) < order.size:
        rows, order = enlarge(rows), order[done:]
    assert not space.scores.any()
    return rows


def train_densely(problem: Problem, step: EMAStep, dtype: type = np.float64) -> np.ndarray:
    """Train as specified, with a dense matrix."""
    n_features, n_classes = problem.X.shape[1], problem.n_classes
    W = np.zeros((n_features, n_classes), dtype)
    rows: list[list[int]] = [[] for _ in range(n_features)]  # the classes of each feature, heaviest first

    def scores(x: np.ndarray) -> np.ndarray:
        s = np.zeros(n_classes)
        for f in np.flatnonzero(x):
            for c in rows[f][: step.degree]:
                s[c] += x[f] * float(W[f, c])
        return s

    def lacking(x: np.ndarray, truth: list[int]) -> list[int]:
        s = scores(x)
        best = max([0.0, *(s[c] for c in range(n_classes) if c not in truth)])
        return [c for c in truth if s[c] - best < step.margin]

    for i in problem.order:
        x, truth = problem.X[i].astype(np.float64), problem.truths[i]
        if not lacking(x, truth):
            continue
        active = np.flatnonzero(x)
        for f in active:
            W[f] = W[f].astype(np.float64) * max(0.0, 1 - step.rate * x[f] * x[f])
        gainers = truth if len(truth) == 1 else lacking(x, truth)
        for f in active:
            for c in gainers:
                W[f, c] = float(W[f, c]) + step.rate * x[f]
                rows[f] += [c] if c not in rows[f] else []
            rows[f] = [c for c in rows[f] if W[f, c] >= step.least]
            rows[f].sort(key=lambda c, f=f: -W[f, c])
            del rows[f][step.stored :]
            W[f, [c for c in range(n_classes) if c not in rows[f]]] = 0
    return W


@settings(max_examples=80)
@given(problem=tied_problems(), step=st.sampled_from(STEPS))
def test_float64_weights_equal_the_dense_reference(problem, step, dense, assert_sound):
    rows = train(problem, step)
    assert_sound(rows)
    np.testing.assert_allclose(dense(rows, problem.n_classes), train_densely(problem, step), rtol=1e-12, atol=1e-12)


@settings(max_examples=80)
@given(problem=tied_problems(), step=st.sampled_from(STEPS))
def test_float32_weights_equal_a_reference_that_stores_float32(problem, step, dense, assert_sound):
    rows = train(problem, step, np.float32)
    assert_sound(rows)
    np.testing.assert_array_equal(dense(rows, problem.n_classes), train_densely(problem, step, np.float32))


@settings(max_examples=60)
@given(problem=tied_problems(most_labels=3), step=st.sampled_from(STEPS))
def test_several_labels_or_none_per_row_match_the_dense_reference(problem, step, dense, assert_sound):
    rows = train(problem, step)
    assert_sound(rows)
    np.testing.assert_allclose(dense(rows, problem.n_classes), train_densely(problem, step), rtol=1e-12, atol=1e-12)


@settings(max_examples=40)
@given(problem=tied_problems(), step=st.sampled_from(STEPS))
def test_an_arena_that_must_grow_gives_identical_weights(problem, step, dense):
    tiny, ample = (train(problem, step, np.float32, n_edges) for n_edges in (2, 10_000))
    np.testing.assert_array_equal(dense(tiny, problem.n_classes), dense(ample, problem.n_classes))


@settings(max_examples=40)
@given(problem=free_problems, step=st.sampled_from(STEPS), seed=st.integers(0, 2**32 - 1))
def test_permuted_features_and_classes_give_permuted_weights(problem, step, seed, dense):
    step = step._replace(degree=MOST_EDGES, stored=MOST_EDGES)  # ties at the degree limit depend on the update history
    rng = np.random.default_rng(seed)
    features, classes = rng.permutation(problem.X.shape[1]), rng.permutation(problem.n_classes)
    places = np.argsort(classes)
    truths = [[int(places[c]) for c in truth] for truth in problem.truths]
    permuted = Problem(problem.X[:, features], truths, problem.order, problem.n_classes)
    W, V = (dense(train(p, step), problem.n_classes) for p in (problem, permuted))
    np.testing.assert_allclose(V, W[features][:, classes], rtol=1e-9, atol=1e-9)


@settings(max_examples=40)
@given(problem=free_problems, degree=st.integers(1, 5), step=st.sampled_from(STEPS))
def test_rows_with_a_degree_limit_are_sorted_by_decreasing_weight(problem, degree, step):
    rows = train(problem, step._replace(degree=degree), np.float32)
    for start, length in zip(rows.start.tolist(), rows.length.tolist(), strict=True):
        assert np.all(np.diff(rows.weights[start : start + length]) <= 0)


# -- averages and their fixed points


@settings(max_examples=50)
@given(problem=boolean_problems, rate=st.sampled_from([0.1, 0.5, 1.0]))
def test_weights_of_a_boolean_feature_sum_to_the_average_of_n_updates(problem, rate, dense):
    W = dense(train(problem, ALWAYS._replace(rate=rate)), problem.n_classes)
    met = problem.X.sum(axis=0, dtype=np.float64)
    np.testing.assert_allclose(W.sum(axis=1), 1 - (1 - rate) ** met, rtol=1e-12)


@settings(max_examples=50)
@given(problem=boolean_problems, step=st.sampled_from(STEPS))
def test_weights_of_a_boolean_feature_are_not_negative_and_sum_to_at_most_one(problem, step, dense):
    W = dense(train(problem, step), problem.n_classes)
    assert W.min() >= 0
    assert np.all(W.sum(axis=1) <= 1 + 1e-12)
    assert np.all(W[W > 0] >= step.least)


@pytest.mark.parametrize("value", [0.5, 0.25, 1.0])
def test_a_feature_always_seen_with_its_class_converges_to_one_over_its_value(value, dense):
    problem = Problem(np.array([[value]], np.float32), [[1]], np.zeros(2000, np.int64), 3)
    np.testing.assert_allclose(dense(train(problem, ALWAYS), 3), [[0, 1 / value, 0]], rtol=1e-9)


@settings(max_examples=30)
@given(problem=boolean_problems)
def test_at_rate_one_a_boolean_feature_has_its_last_class_only(problem, dense):
    W = dense(train(problem, ALWAYS._replace(rate=1.0)), problem.n_classes)
    for f in range(4):
        met = np.flatnonzero(problem.X[:, f])
        assert np.flatnonzero(W[f]).tolist() == [problem.truths[i][0] for i in met[-1:]]


@pytest.mark.parametrize(("value", "rises"), [(0.8, True), (1.2, False)])
def test_a_weight_increases_until_the_feature_alone_predicts_its_class(value, rises, dense):
    X = np.array([[1.0], [value]], np.float32)
    problem = Problem(X, [[0], [0]], np.array([0] * 200), 1)
    settled = dense(train(problem, ALWAYS), 1)[0, 0]
    once = Problem(X, [[0], [0]], np.array([0] * 200 + [1]), 1)
    assert (dense(train(once, ALWAYS), 1)[0, 0] > settled) == rises


def test_two_labels_that_always_occur_together_each_converge_to_one(dense):
    problem = Problem(np.ones((1, 1), np.float32), [[0, 2]], np.zeros(300, np.int64), 3)
    np.testing.assert_allclose(dense(train(problem, ALWAYS), 3), [[1, 0, 1]], rtol=1e-9)
