"""One machine per class, compared with each machine's own problem in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from harness.sdk import Labels, as_instances, frozen
from harness_svm.flat.kernels.dual import empty_dual_space, pose, solve
from harness_svm.flat.kernels.one_vs_rest import Machines, train_one_vs_rest
from internals import square_lengths
from svm_definitions import random_rows


def one_label(y: np.ndarray) -> Labels:
    return Labels(frozen(np.arange(y.size + 1), np.int64), frozen(y, np.int32))


def matrix(machines: Machines, n_features: int, n_classes: int) -> np.ndarray:
    """Return the weights as a matrix, features x classes."""
    edges = machines.edges
    parts = (edges.weights.astype(float), edges.classes.astype(np.int64), edges.indptr)
    return csr_array(parts, shape=(n_features, n_classes)).toarray()


def primal(w: np.ndarray, X: np.ndarray, sign: np.ndarray, C: float, squared: bool) -> float:
    """Return 1/2

    w

    ^2 + C sum of losses; the last entry of w is the weight of the constant feature of X.
    """
    loss = np.maximum(0, 1 - sign * (X @ w))
    return float(w @ w / 2 + C * (loss**2 if squared else loss).sum())


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    squared=st.booleans(),
    bias=st.sampled_from([0.0, 2.0]),
    C=st.sampled_from([0.1, 3.0]),
)
def test_small_changes_of_a_machine_do_not_improve_its_objective(seed, squared, bias, C):
    X, _ = random_rows(seed, 30, 6, 4)
    rng = np.random.default_rng(seed)
    indicator = csr_array(rng.random((30, 4)) < 0.3)  # some rows have no label, some have several
    labels = Labels(frozen(indicator.indptr, np.int64), frozen(indicator.indices, np.int32))
    task = pose(C, squared=squared, bias=bias, tolerance=1e-7, most_sweeps=100_000)
    (machines,) = train_one_vs_rest(as_instances(X), labels, 6, 4, [task], seed % 2**31, 0.0)
    wide = np.hstack([X, np.full((30, 1), bias)])
    assert np.all(machines.sweeps <= task.most_sweeps)
    for c in range(4):
        sign = np.where(indicator.toarray()[:, c], 1, -1)
        w = np.append(matrix(machines, 6, 4)[:, c], machines.bias[c] / bias if bias else 0.0)
        best = primal(w, wide, sign, C, squared)
        for step in np.vstack([np.eye(7), rng.normal(size=(10, 7))]) * 1e-2:
            assert primal(w + step, wide, sign, C, squared) >= best - 1e-5 * best
            assert primal(w - step, wide, sign, C, squared) >= best - 1e-5 * best


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_are_bit_identical_for_any_number_of_threads(threads, monkeypatch):
    rng = np.random.default_rng(0)
    X, labels = random_rows(3, 60, 8, 5)[0], one_label(rng.integers(0, 5, 60))
    task = pose(1.0, squared=True, bias=1.0, tolerance=0.01, most_sweeps=100)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (expected,) = train_one_vs_rest(as_instances(X), labels, 8, 6, [task], 0, 0.0)
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    (found,) = train_one_vs_rest(as_instances(X), labels, 8, 6, [task], 0, 0.0)
    for one, other in zip(expected.edges, found.edges, strict=True):
        assert_array_equal(one, other)
    assert_array_equal(expected.bias, found.bias)


def test_a_class_without_positives_gets_the_all_negative_solution():
    X, labels = random_rows(4, 40, 8, 2)[0], one_label(np.zeros(40))
    task = pose(1.0, squared=True, bias=1.0, tolerance=1e-6, most_sweeps=10_000)
    (found,) = train_one_vs_rest(as_instances(X), labels, 8, 2, [task], 0, 0.0)
    instances, space = as_instances(X), empty_dual_space(40, 8)
    space.random[0] = 7
    solve(instances, square_lengths(instances), task, space)
    assert_allclose(matrix(found, 8, 2)[:, 1], space.w[:-1], atol=1e-5)
    assert_allclose(found.bias[1], space.w[-1], atol=1e-5)


def test_pruning_removes_the_smallest_weights():
    X, _ = random_rows(5, 40, 8, 2)
    labels = one_label(X[:, 0] + X[:, 1] > 0)
    task = pose(1.0, squared=True, bias=1.0, tolerance=1e-3, most_sweeps=1000)
    complete, thin = (train_one_vs_rest(as_instances(X), labels, 8, 2, [task], 0, prune)[0] for prune in (0.0, 0.3))
    kept = np.abs(complete.edges.weights) > 0.3
    assert 0 < kept.sum() < kept.size
    assert_array_equal(thin.edges.weights, complete.edges.weights[kept])
