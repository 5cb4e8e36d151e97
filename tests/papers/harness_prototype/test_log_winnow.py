"""Winnow with two rates, by value or with balanced pairs, multiplies as a dense reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sdk import as_instances, helper
from harness_prototype.kernels.log_winnow import WinnowStep, rank_logs, update_real_winnow
from harness_prototype.kernels.winnow import gains, update_winnow
from internals import Rows, append, empty_rows, enlarge, no_moves
from kernel_problems import IndicatedProblem

update64 = helper()(update_real_winnow.py_func)
"""The same source, compiled for logarithms of float64."""

LN2 = float(np.float32(np.log(2)))
PLAIN = WinnowStep(1.5, LN2, LN2, False, False)
STEPS = [
    PLAIN,
    PLAIN._replace(down=0.3),
    PLAIN._replace(by_value=True),
    PLAIN._replace(balanced=True),
    PLAIN._replace(balanced=True, up=0.1, down=0.4, by_value=True, threshold=0.5),
]


def free_problem(seed: int, n: int = 25, n_features: int = 8, n_classes: int = 5) -> IndicatedProblem:
    """Return a problem without ties except at the start; some rows have several labels, some none."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.6)
    Y = np.eye(n_classes)[rng.integers(0, n_classes, n)] > 0
    Y[::4] = rng.random((len(Y[::4]), n_classes)) < 0.4
    return IndicatedProblem(X.astype(np.float32), Y, rng.integers(0, n, 60))


free_problems = st.builds(free_problem, st.integers(0, 2**32 - 1))


def train(problem: IndicatedProblem, step: WinnowStep, dtype: type = np.float64, n_edges: int = 2) -> Rows:
    rows, order = empty_rows(problem.X.shape[1], n_edges, dtype), problem.order
    base, moves = np.full(problem.n_classes, -np.inf), no_moves(problem.n_classes * (1 + step.balanced))
    kernel = update_real_winnow if dtype == np.float32 else update64
    given = as_instances(problem.X), problem.labels
    while (done := kernel(rows, *given, order, base, np.empty_like(base), moves, step)) < order.size:
        rows, order = enlarge(rows), order[done:]
    assert not moves.changes.any()
    return rows


def train_densely(problem: IndicatedProblem, step: WinnowStep) -> tuple[np.ndarray, np.ndarray]:
    """Multiply w+ by e^up and divide by e^down; w- stays 0 if weights are not balanced."""
    shape = (problem.X.shape[1], problem.n_classes)
    plus, minus = np.ones(shape), np.ones(shape) if step.balanced else np.zeros(shape)
    seen: set[int] = set()
    for i in problem.order:
        x, truth = problem.X[i].astype(np.float64), problem.Y[i]
        seen.update(np.flatnonzero(truth).tolist())
        own = x @ (plus - minus) >= step.threshold
        times = np.where(x > 0, x if step.by_value else 1.0, 0.0)
        for c in seen:
            if truth[c] and not own[c]:
                plus[:, c] *= np.exp(times * step.up)
                minus[:, c] *= np.exp(-times * step.down)
            elif own[c] and not truth[c]:
                plus[:, c] *= np.exp(-times * step.down)
                minus[:, c] *= np.exp(times * step.up)
    return plus, minus


def loaded(logs: np.ndarray) -> Rows:
    """Return an index with these logarithms."""
    rows = empty_rows(logs.shape[0], 4 * logs.size + 100)
    for f, c in zip(*np.nonzero(logs), strict=True):
        append(rows, np.uint32(f), np.uint32(c), logs[f, c])
    return rows


@settings(max_examples=100, deadline=None, derandomize=True)  # rounding may decide a near tie differently
@given(problem=free_problems, step=st.sampled_from(STEPS))
def test_weights_equal_the_dense_reference(problem, step, dense, assert_sound):
    rows = train(problem, step)
    assert_sound(rows)
    plus, minus = train_densely(problem, step)
    columns = np.exp(dense(rows, problem.n_classes * (1 + step.balanced)))
    if step.balanced:
        np.testing.assert_allclose(columns[:, 1::2], minus, rtol=1e-9)
        columns = columns[:, ::2]
    np.testing.assert_allclose(columns, plus, rtol=1e-9)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(problem=free_problems, step=st.sampled_from(STEPS))
def test_float32_weights_equal_float64_weights_to_float32_precision(problem, step, dense):
    n_columns = problem.n_classes * (1 + step.balanced)
    single, double = (dense(train(problem, step, dtype), n_columns) for dtype in (np.float32, np.float64))
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-5)


@settings(max_examples=50, deadline=None)
@given(problem=free_problems, step=st.sampled_from(STEPS))
def test_an_arena_that_must_grow_gives_identical_weights(problem, step, dense):
    tiny, ample = (train(problem, step, np.float32, n_edges) for n_edges in (2, 10_000))
    np.testing.assert_array_equal(dense(tiny, 10), dense(ample, 10))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(problem=free_problems)
def test_one_rate_on_active_features_gives_winnows_integer_powers(problem, dense):
    base, order = np.full(problem.n_classes, -np.inf), problem.order
    rows = empty_rows(problem.X.shape[1], 10_000)
    powers, moves = gains(rows, 2.0, order.size), no_moves(base.size)
    given = as_instances(problem.X), problem.labels
    assert update_winnow(rows, *given, order, base, np.empty_like(base), powers, moves, 1.5) == order.size
    logs = dense(train(problem, PLAIN), problem.n_classes)
    np.testing.assert_allclose(logs / LN2, dense(rows, problem.n_classes), atol=1e-6)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(problem=free_problems, seed=st.integers(0, 2**32 - 1), step=st.sampled_from(STEPS[:3]))
def test_permuted_classes_give_permuted_weights(problem, seed, step, dense):
    permutation = np.random.default_rng(seed).permutation(problem.n_classes)
    permuted = replace(problem, Y=problem.Y[:, permutation])
    W, V = (dense(train(p, step), problem.n_classes) for p in (problem, permuted))
    np.testing.assert_array_equal(V, W[:, permutation])


@settings(max_examples=40, deadline=None)
@given(problem=free_problems, by_value=st.booleans())
def test_balanced_pairs_at_one_rate_are_inverses(problem, by_value, dense):
    logs = dense(train(problem, PLAIN._replace(balanced=True, by_value=by_value), np.float32), 10)
    np.testing.assert_array_equal(logs[:, ::2], -logs[:, 1::2])


@pytest.mark.parametrize("balanced", [False, True])
def test_classes_are_ranked_by_their_weights(balanced):
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(6, 10 if balanced else 5))
    X = rng.random((8, 6)).astype(np.float32)
    W = np.exp(logs[:, ::2]) - np.exp(logs[:, 1::2]) if balanced else np.exp(logs)
    ranked = rank_logs(loaded(logs), as_instances(X), np.array([0, 0, -np.inf, 0, 0]), balanced, 5)
    for x, classes in zip(X, ranked, strict=True):
        s = x @ W
        assert classes.tolist() == [*sorted({0, 1, 3, 4}, key=lambda c: -s[c]), -1]


def test_overflowing_weights_still_rank():
    rows = loaded(np.array([[5000.0, 5000.0, 1.0, 0.0], [0.0, 5000.0, 0.0, -5000.0]]))
    ranked = rank_logs(rows, as_instances(np.array([[1, 1]], np.float32)), np.zeros(2), True, 2)
    assert ranked.tolist() == [[1, 0]]


def test_a_weight_that_returns_to_one_has_no_edge():
    problem = IndicatedProblem(np.ones((2, 1), np.float32), np.array([[True], [False]]), np.array([0, 1]))
    assert train(problem, PLAIN, np.float32).n_edges == 0
