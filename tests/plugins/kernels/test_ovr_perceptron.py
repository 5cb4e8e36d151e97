"""One-vs-rest training equals one independent perceptron per class, as in a dense reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sdk import as_instances, helper
from internals import (
    Rows,
    append,
    empty_rows,
    enlarge,
    has_room,
    inverse,
    no_moves,
    norms,
    rank_scaled,
    total,
    update_one_vs_rest,
)
from kernel_problems import EXACT, IndicatedProblem, free_indicated, free_indicated_problems, tied_indicated

update64 = helper()(update_one_vs_rest.py_func)
"""The same source, compiled for weights of float64."""


def run(
    rows: Rows, problem: IndicatedProblem, order: np.ndarray, errors: np.ndarray, moves=None, intercept=None, square=0.0
) -> int:
    kernel, n = update_one_vs_rest if rows.weights.dtype == np.float32 else update64, problem.n_classes
    moves, intercept = moves or no_moves(n), np.zeros(n) if intercept is None else intercept
    instances = as_instances(problem.X)
    return kernel(rows, instances, problem.labels, order, intercept, square, np.empty(n), moves, errors)


def train(problem: IndicatedProblem, dtype: type = np.float64, n_edges: int = 2) -> tuple[Rows, int]:
    rows, order, errors = empty_rows(problem.X.shape[1], n_edges, dtype), problem.order, np.zeros(1, np.int64)
    while (done := run(rows, problem, order, errors)) < order.size:
        rows, order = enlarge(rows), order[done:]
    return rows, int(errors[0])


def train_densely(problem: IndicatedProblem, dtype: type = np.float64) -> tuple[np.ndarray, int]:
    """Train each class alone with a dense vector and float64 scores."""
    W, errors = np.zeros((problem.X.shape[1], problem.n_classes), dtype), 0
    for k in range(problem.n_classes):
        w = W[:, k]
        for i in problem.order:
            x, sign = problem.X[i].astype(np.float64), 1.0 if problem.Y[i, k] else -1.0
            s = 0.0
            for f in np.flatnonzero(x):
                s += x[f] * np.float64(w[f])
            if x.any() and sign * s <= 0:
                w[:] = w.astype(np.float64) + sign * x
                errors += 1
    return W, errors


def loaded(W: np.ndarray) -> Rows:
    """Return an index with these weights."""
    rows = empty_rows(W.shape[0], 4 * W.size + 100)
    for f, c in zip(*np.nonzero(W), strict=True):
        append(rows, np.uint32(f), np.uint32(c), W[f, c])
    return rows


@settings(max_examples=100, deadline=None)
@given(problem=tied_indicated())
def test_float64_weights_and_errors_equal_the_dense_reference(problem, dense, assert_sound):
    rows, errors = train(problem)
    assert_sound(rows)
    W, expected = train_densely(problem)
    np.testing.assert_allclose(dense(rows, problem.n_classes), W, rtol=1e-12, atol=1e-12)
    assert errors == expected


@settings(max_examples=100, deadline=None)
@given(problem=tied_indicated())
def test_float32_weights_equal_a_reference_that_stores_float32(problem, dense, assert_sound):
    rows, errors = train(problem, np.float32)
    assert_sound(rows)
    W, expected = train_densely(problem, np.float32)
    np.testing.assert_array_equal(dense(rows, problem.n_classes), W)
    assert errors == expected


@settings(max_examples=50, deadline=None, derandomize=True)  # rounding may decide a near tie differently
@given(problem=free_indicated_problems)
def test_float32_weights_equal_float64_weights_to_float32_precision(problem, dense):
    shipped = dense(train(problem, np.float32)[0], problem.n_classes)
    np.testing.assert_allclose(shipped, train_densely(problem)[0], rtol=1e-4, atol=2e-6)


@settings(max_examples=50, deadline=None)
@given(problem=tied_indicated())
def test_an_arena_that_must_grow_gives_identical_weights_and_errors(problem, dense):
    (tiny, few), (ample, same) = (train(problem, np.float32, n_edges) for n_edges in (2, 10_000))
    assert (ample.classes.size, few) == (10_000, same)
    np.testing.assert_array_equal(dense(tiny, problem.n_classes), dense(ample, problem.n_classes))


@settings(max_examples=100, deadline=None)
@given(problem=tied_indicated(EXACT), bias=st.sampled_from([0.5, 1.0, 2.0]))
def test_a_bias_equals_a_constant_feature_in_rows_without_features_too(problem, bias, dense):
    column = np.full((problem.X.shape[0], 1), bias, np.float32)
    rows, errors, intercept = empty_rows(problem.X.shape[1], 2), np.zeros(1, np.int64), np.zeros(problem.n_classes)
    order = problem.order
    while (done := run(rows, problem, order, errors, None, intercept, bias**2)) < order.size:
        rows, order = enlarge(rows), order[done:]
    W, expected = train_densely(replace(problem, X=np.hstack([problem.X, column])), np.float32)
    np.testing.assert_array_equal(dense(rows, problem.n_classes), W[:-1])
    np.testing.assert_array_equal(intercept, W[-1].astype(np.float64) * bias)
    assert errors[0] == expected
    lengths = np.linalg.norm(W.astype(np.float64), axis=0)  # squares of tiny weights are not exact in float32
    np.testing.assert_allclose(norms(rows, problem.n_classes, intercept, bias), lengths, rtol=1e-6)


def test_an_instance_that_does_not_fit_the_arena_stops_the_kernel_before_any_change(dense):
    problem = free_indicated(0)
    rows, moves = empty_rows(12, 160), no_moves(6)
    done = run(rows, problem, problem.order, np.zeros(1, np.int64), moves)
    assert 0 < done < problem.order.size
    assert not has_room(rows, as_instances(problem.X[[problem.order[done]]]).indices, 6)
    assert not moves.changes.any()
    before = replace(problem, order=problem.order[:done])
    np.testing.assert_array_equal(dense(rows, 6), train_densely(before, np.float32)[0])


@settings(max_examples=50, deadline=None)
@given(problem=free_indicated_problems, seed=st.integers(0, 2**32 - 1))
def test_permuted_features_give_permuted_weights(problem, seed, dense):
    permutation = np.random.default_rng(seed).permutation(problem.X.shape[1])
    permuted = replace(problem, X=problem.X[:, permutation])
    W, V = (dense(train(p)[0], problem.n_classes) for p in (problem, permuted))
    np.testing.assert_allclose(V, W[permutation], rtol=1e-9, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(problem=tied_indicated() | free_indicated_problems, seed=st.integers(0, 2**32 - 1))
def test_permuted_classes_give_permuted_weights_with_ties_too(problem, seed, dense):
    permutation = np.random.default_rng(seed).permutation(problem.n_classes)
    permuted = replace(problem, Y=problem.Y[:, permutation])
    W, V = (dense(train(p)[0], problem.n_classes) for p in (problem, permuted))
    np.testing.assert_array_equal(V, W[:, permutation])


@settings(max_examples=50, deadline=None)
@given(problem=tied_indicated() | free_indicated_problems, power=st.integers(-5, 5))
def test_scaled_instances_give_scaled_weights(problem, power, dense):
    scaled = replace(problem, X=np.float32(2.0**power) * problem.X)
    W, V = (dense(train(p)[0], problem.n_classes) for p in (problem, scaled))
    np.testing.assert_array_equal(V, 2.0**power * W)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_errors_stay_below_the_bound_on_separable_classes(seed):
    """Check M <= R^2

    u

    ^2 / gamma^2 for each class, in any order and for any number of passes.
    """
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(15, 4)).astype(np.float32), rng.normal(size=(4, 3))
    S = X.astype(np.float64) @ U
    radius = (X.astype(np.float64) ** 2).sum(axis=1).max()
    bounds = radius * (U**2).sum(axis=0) / (S**2).min(axis=0)
    assert train(IndicatedProblem(X, S > 0, rng.integers(0, 15, 500)))[1] <= bounds.sum()


def test_a_pass_over_separated_data_has_no_error_and_changes_nothing(dense):
    X, Y = np.eye(4, dtype=np.float32), np.eye(4) > 0
    rows, errors = train(IndicatedProblem(X, Y, np.arange(4)), np.float32)
    before, again = dense(rows, 4), np.zeros(1, np.int64)
    assert errors == 16
    assert run(rows, IndicatedProblem(X, Y, np.arange(4)), np.arange(4), again) == 4
    assert again[0] == 0
    np.testing.assert_array_equal(dense(rows, 4), before)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_lengths_are_the_norms_of_the_columns(seed):
    rng = np.random.default_rng(seed)
    W = (rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.4)).astype(np.float32)
    lengths = norms(loaded(W), 5)
    np.testing.assert_allclose(lengths, np.linalg.norm(W.astype(np.float64), axis=0), rtol=1e-12)
    np.testing.assert_allclose(inverse(lengths) * lengths, W.any(axis=0), rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_scores_are_divided_by_lengths_and_a_zero_vector_scores_zero(seed):
    rng = np.random.default_rng(seed)
    W, X = rng.normal(size=(6, 5)).astype(np.float32), rng.normal(size=(8, 6)).astype(np.float32)
    W[:, 3] = 0
    scores = X.astype(np.float64) @ (W * inverse(norms(loaded(W), 5)))
    ranked = rank_scaled(loaded(W), as_instances(X), np.zeros(5), inverse(norms(loaded(W), 5)), 5)
    np.testing.assert_array_equal(ranked, np.argsort(-scores, axis=1, kind="stable"))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), members=st.integers(1, 4))
def test_a_committee_is_the_sum_of_unit_vectors(seed, members, dense, assert_sound):
    rng = np.random.default_rng(seed)
    each = (rng.normal(size=(members, 6, 5)) * (rng.random((members, 6, 5)) < 0.3)).astype(np.float32)
    lengths = np.linalg.norm(each.astype(np.float64), axis=1, keepdims=True)
    summed = total([loaded(W) for W in each], [norms(loaded(W), 5) for W in each])
    assert_sound(summed, was_packed=True)
    expected = (each / np.where(lengths, lengths, 1)).sum(axis=0)
    np.testing.assert_allclose(dense(summed, 5), expected, rtol=1e-6, atol=1e-7)


def test_members_that_cancel_leave_no_edge():
    members = [loaded(np.array([[1.0], [0]])), loaded(np.array([[-2.0], [0]]))]
    assert total(members, [np.array([1.0]), np.array([2.0])]).n_edges == 0


def test_a_row_without_features_ranks_nothing_and_an_unseen_class_is_never_ranked():
    X = np.array([[0, 0], [1, 0]], np.float32)
    rows, base = loaded(np.array([[1.0, 5, 0], [0, 0, 0]])), np.array([0, -np.inf, 0])
    assert rank_scaled(rows, as_instances(X), base, np.ones(3), 3).tolist() == [[-1, -1, -1], [0, 2, -1]]
