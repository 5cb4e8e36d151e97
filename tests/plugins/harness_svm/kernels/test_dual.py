"""One machine against the rest, compared with its primal and dual in float64."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness.sdk import as_instances
from harness_svm.flat.kernels.dual import empty_dual_space, move_over, pose, solve
from internals import square_lengths


def problem_data(seed: int, n: int = 40, n_features: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, one of them empty, and signs that depend on the rows with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.6)
    X[n // 2] = 0
    sign = np.where(X @ rng.normal(size=n_features) + rng.normal(size=n) > 0.5, 1, -1)
    return X.astype(np.float32), sign


def primal(w: np.ndarray, X: np.ndarray, sign: np.ndarray, C: float, squared: bool) -> float:
    loss = np.maximum(0, 1 - sign * (X @ w))
    return float(w @ w / 2 + C * (loss**2 if squared else loss).sum())


def dual(alpha: np.ndarray, w: np.ndarray, ridge: float) -> float:
    return float(alpha.sum() - w @ w / 2 - ridge / 2 * (alpha @ alpha))


def prepared(X: np.ndarray, sign: np.ndarray):
    instances, space = as_instances(X), empty_dual_space(*X.shape)
    squares = square_lengths(instances)
    space.random[0] = 7
    space.sign[:] = sign
    return instances, squares, space


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    squared=st.booleans(),
    bias=st.sampled_from([0.0, 1.0]),
)
def test_the_solution_is_feasible_satisfies_kkt_and_has_no_duality_gap(seed, C, squared, bias):
    X, sign = problem_data(seed)
    task = pose(C, squared=squared, bias=bias, tolerance=1e-7, most_sweeps=100_000)
    instances, squares, space = prepared(X, sign)
    assert solve(instances, squares, task, space) <= task.most_sweeps
    wide = np.hstack([X.astype(np.float64), np.full((len(X), 1), bias)])
    alpha, w = space.alpha, space.w
    assert np.all((alpha >= 0) & (alpha <= task.upper))
    assert_allclose(w, (alpha * sign) @ wide, atol=1e-9)
    gradient = sign * (wide @ w) - 1 + task.ridge * alpha
    assert np.all(gradient[alpha == 0] >= -1e-6)
    assert np.all(gradient[alpha == task.upper] <= 1e-6)
    assert_allclose(gradient[(alpha > 0) & (alpha < task.upper)], 0, atol=1e-6)
    above, below = primal(w, wide, sign, C, squared), dual(alpha, w, task.ridge)
    assert above >= below - 1e-9
    assert above - below <= 1e-4 * above


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), squared=st.booleans())
def test_the_dual_never_decreases(seed, squared):
    X, sign = problem_data(seed)
    task = pose(1.0, squared=squared, bias=1.0, tolerance=1e-9, most_sweeps=1)
    instances, squares, space = prepared(X, sign)
    found = [0.0]
    for _ in range(6):
        solve(instances, squares, task, space)
        found.append(dual(space.alpha, space.w, task.ridge))
    assert np.all(np.diff(found) >= -1e-9)


def test_too_few_sweeps_are_reported():
    X, sign = problem_data(0)
    instances, squares, space = prepared(X, sign)
    assert solve(instances, squares, pose(1.0, squared=True, bias=1.0, tolerance=1e-12, most_sweeps=2), space) == 3


def test_rows_moved_to_the_positive_class_no_longer_contribute_to_the_weights():
    X, _ = problem_data(1)
    task = pose(1.0, squared=True, bias=1.0, tolerance=1e-3, most_sweeps=100)
    instances, squares, space = prepared(X, np.full(len(X), -1))
    solve(instances, squares, task, space)
    own = np.array([0, 3, 5])
    move_over(instances, own, 1.0, space)
    wide = np.hstack([X.astype(np.float64), np.ones((len(X), 1))])
    assert_allclose(space.w, (space.alpha * space.sign) @ wide, atol=1e-12)
    assert_array_equal(np.flatnonzero(space.sign == 1), own)
    assert_array_equal(space.alpha[own], 0)
