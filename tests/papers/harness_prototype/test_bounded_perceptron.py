"""The weight-bounded perceptron follows the paper's text, keeps its bounds, and approaches a separating solution."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from harness.sdk import Labels, as_instances, frozen, helper
from harness_prototype.kernels.bounded_perceptron import update_bounded
from internals import Rows, empty_rows, enlarge, no_moves

update64 = helper()(update_bounded.py_func)
"""The same source, compiled for weights of float64."""

VALUES = st.sampled_from([0.0, 0.0, 0.0, 1.0, 0.5, 0.25, 2.0, 7.0])
RATES = st.sampled_from([0.125, 0.25, 1.0])


@dataclass(frozen=True)
class Problem:
    X: np.ndarray
    Y: np.ndarray
    """Instances x classes: true or not."""
    order: np.ndarray
    rate: float = 0.125

    @property
    def labels(self) -> Labels:
        Y = csr_array(self.Y)
        return Labels(frozen(Y.indptr, np.int64), frozen(Y.indices, np.int32))


@dataclass(frozen=True)
class Model:
    w: np.ndarray
    """By feature and class, what the class has of each feature's weight."""
    mistakes: np.ndarray
    rows: Rows | None = None


@st.composite
def problems(draw):
    """Draw values and rates with exact sums, so ties are exact; any number of labels."""
    n, n_features, n_classes = draw(st.integers(1, 10)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    X = draw(hnp.arrays(np.float32, (n, n_features), elements=VALUES))
    single = hnp.arrays(np.int64, n, elements=st.integers(0, n_classes - 1)).map(lambda y: np.eye(n_classes)[y] > 0)
    Y = draw(single | hnp.arrays(np.bool_, (n, n_classes)))
    order = draw(hnp.arrays(np.int64, st.integers(0, 25), elements=st.integers(0, n - 1)))
    return Problem(X, Y, order, draw(RATES))


def train(problem: Problem, dtype: type = np.float32, n_edges: int = 2) -> Model:
    n_features, n_classes = problem.X.shape[1], problem.Y.shape[1]
    rows, order, zeros = empty_rows(n_features, n_edges, dtype), problem.order, np.zeros(n_classes)
    kernel = update_bounded if dtype == np.float32 else update64
    mistakes, moves = np.zeros(n_classes, np.int64), no_moves(n_classes)
    given = as_instances(problem.X), problem.labels
    space = zeros, np.empty(n_classes), moves, mistakes, problem.rate
    while (done := kernel(rows, *given, order, *space)) < order.size:
        rows, order = enlarge(rows), order[done:]
    assert not moves.changes.any()
    w = np.full((n_features, n_classes), 0.5)
    for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
        w[f, rows.classes[start : start + length]] += rows.weights[start : start + length]
    return Model(w, mistakes, rows)


def train_by_the_text(problem: Problem) -> Model:
    """Train with two weights per feature that add to 1, one for the class and one for the others."""
    w = np.full((problem.X.shape[1], problem.Y.shape[1]), 0.5)
    mistakes = np.zeros(problem.Y.shape[1], np.int64)
    for i in problem.order:
        x = problem.X[i].astype(np.float64)
        if not x.any():
            continue
        for k, is_true in enumerate(problem.Y[i].tolist()):
            class_score, rest_score = x @ w[:, k], x @ (1 - w[:, k])
            true_score, false_score = (class_score, rest_score) if is_true else (rest_score, class_score)
            if false_score < true_score:
                continue
            mistakes[k] += 1
            if is_true:
                w[:, k] += np.minimum(problem.rate * x, 1 - w[:, k])
            else:
                w[:, k] -= np.minimum(problem.rate * x, w[:, k])
    return Model(w, mistakes)


@settings(max_examples=150, deadline=None)
@given(problem=problems(), dtype=st.sampled_from([np.float32, np.float64]))
def test_weights_and_mistakes_follow_the_papers_text(problem, dtype, assert_sound):
    model, expected = train(problem, dtype), train_by_the_text(problem)
    assert_sound(model.rows)
    np.testing.assert_array_equal(model.w, expected.w)
    np.testing.assert_array_equal(model.mistakes, expected.mistakes)


@settings(max_examples=50, deadline=None)
@given(problem=problems())
def test_an_arena_that_must_grow_gives_identical_weights(problem):
    tiny, ample = (train(problem, n_edges=n_edges) for n_edges in (2, 10_000))
    np.testing.assert_array_equal(tiny.w, ample.w)
    np.testing.assert_array_equal(tiny.mistakes, ample.mistakes)


@settings(max_examples=50, deadline=None)
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_with_two_classes_the_two_weights_of_a_feature_are_complementary(problem, seed):
    first = np.random.default_rng(seed).random(problem.X.shape[0]) < 0.5
    model = train(replace(problem, Y=np.stack([first, ~first], axis=1)))
    np.testing.assert_array_equal(model.w[:, 0], 1 - model.w[:, 1])
    assert model.mistakes[0] == model.mistakes[1]


def separable(rng: np.random.Generator, lead: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return unit rows, whether each is of the first class, and separating weights, many at a bound."""
    n_features = 8
    at_bound = rng.random(n_features) < 0.5
    target = np.where(at_bound, rng.choice([0.0, 1.0], n_features), rng.random(n_features))
    X = rng.random((400, n_features)) * (rng.random((400, n_features)) < 0.5)
    X = X[X.any(axis=1)]
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    leads = X @ (2 * target - 1)
    return X[np.abs(leads) >= lead], leads[np.abs(leads) >= lead] > 0, target


def test_each_mistake_approaches_the_separating_weights_and_the_mistake_bound_holds():
    beta, u = 0.05, 3.0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, first, target = separable(rng, u * beta)
        order = np.concatenate([rng.permutation(len(X)) for _ in range(3)])
        problem = Problem(X, np.stack([first, ~first], axis=1), order, beta)
        model = train(problem, np.float64)
        start = np.sum((0.5 - target) ** 2)
        left = np.sum((model.w[:, 0] - target) ** 2)
        assert np.all((model.w >= 0) & (model.w <= 1))
        assert start - left >= model.mistakes[0] * (u - 1) * beta**2 * (1 - 1e-6)
        assert 0 < model.mistakes[0] <= X.shape[1] / (4 * (u - 1) * beta**2)
