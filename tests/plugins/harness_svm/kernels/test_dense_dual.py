"""Machines trained in parallel on dense rows, each compared with its own problem in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness.sdk import Labels, frozen
from harness_svm.flat.kernels.dense_dual import MACHINES, SideBySide, side_by_side, solve_together
from harness_svm.flat.kernels.dense_one_vs_rest import train_dense_one_vs_rest
from harness_svm.flat.kernels.dual import DualProblem, pose

seeds = st.integers(0, 2**32 - 1)


def rows_and_signs(seed: int, n: int = 40, machines: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return dense rows, one of them zero, and signs per machine; the first machine has one sign only."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    X[n // 2] = 0
    sign = np.where(X @ rng.normal(size=(6, machines)) + rng.normal(size=(n, machines)) > 0.5, 1, -1)
    sign[:, 0] = -1
    return X, sign


def solved(X: np.ndarray, sign: np.ndarray, task: DualProblem) -> tuple[SideBySide, int]:
    space = side_by_side(sign.shape[1], *X.shape)
    space.sign[:], space.random[0] = sign, 7
    squares = frozen((X.astype(np.float64) ** 2).sum(axis=1))
    return space, solve_together(frozen(X), squares, task, space)


@settings(max_examples=30, deadline=None)
@given(seed=seeds, C=st.sampled_from([0.1, 1.0, 10.0]), squared=st.booleans(), bias=st.sampled_from([0.0, 1.0]))
def test_each_solution_is_feasible_and_satisfies_kkt(seed, C, squared, bias):
    X, sign = rows_and_signs(seed)
    task = pose(C, squared=squared, bias=bias, tolerance=1e-7, most_sweeps=100_000)
    space, late = solved(X, sign, task)
    assert late == 0
    assert np.all((space.sweeps >= 1) & (space.sweeps <= task.most_sweeps))
    wide = np.hstack([X.astype(np.float64), np.full((len(X), 1), bias)])
    for m in range(3):
        alpha, w = space.alpha[:, m], space.w[m]
        assert np.all((alpha >= 0) & (alpha <= task.upper))
        assert_allclose(w, (alpha * sign[:, m]) @ wide, atol=1e-9)
        gradient = sign[:, m] * (wide @ w) - 1 + task.ridge * alpha
        assert np.all(gradient[alpha == 0] >= -1e-6)
        assert np.all(gradient[alpha == task.upper] <= 1e-6)
        assert_allclose(gradient[(alpha > 0) & (alpha < task.upper)], 0, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=seeds, squared=st.booleans())
def test_a_machine_reaches_the_solution_that_it_reaches_alone(seed, squared):
    X, sign = rows_and_signs(seed)
    task = pose(1.0, squared=squared, bias=1.0, tolerance=1e-8, most_sweeps=100_000)
    together, _ = solved(X, sign, task)
    for m in range(3):
        alone, _ = solved(X, sign[:, m : m + 1], task)
        assert_allclose(together.w[m], alone.w[0], atol=1e-5)


def test_an_unconverged_machine_reports_one_sweep_above_the_limit():
    X, sign = rows_and_signs(0)
    X[:, 0] = 1
    sign[:, 1] = np.where(np.arange(len(X)) % 2, 1, -1)
    task = pose(1e4, squared=False, bias=1.0, tolerance=0.5, most_sweeps=3)
    space, late = solved(X, sign, task)
    assert space.sweeps[0] < 4
    assert space.sweeps[1] == 4
    assert late == (space.sweeps == 4).sum()


def test_converged_machines_are_not_changed():
    X, sign = rows_and_signs(3)
    task = pose(1.0, squared=True, bias=1.0, tolerance=0.01, most_sweeps=100)
    space, _ = solved(X, sign, task)
    first = int(np.argmin(space.sweeps))
    assert space.sweeps[first] < space.sweeps.max()
    again, _ = solved(X, sign, task._replace(most_sweeps=int(space.sweeps[first])))
    assert_array_equal(again.w[first], space.w[first])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_are_bit_identical_for_any_number_of_threads(threads, monkeypatch):
    X, _ = rows_and_signs(1, n=90)
    n_classes = 2 * MACHINES + 3
    y = np.random.default_rng(1).integers(0, n_classes, 90)
    labels = Labels(frozen(np.arange(91), np.int64), frozen(y, np.int32))
    task = pose(1.0, squared=True, bias=1.0, tolerance=0.01, most_sweeps=100)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (expected,) = train_dense_one_vs_rest(X, labels, 6, n_classes, [task], 0, 0.0)
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    (found,) = train_dense_one_vs_rest(X, labels, 6, n_classes, [task], 0, 0.0)
    for one, other in zip(expected.edges, found.edges, strict=True):
        assert_array_equal(one, other)
    assert_array_equal(expected.bias, found.bias)
    assert found.sweeps.size == n_classes
