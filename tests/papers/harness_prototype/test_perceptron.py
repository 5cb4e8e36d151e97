"""Perceptron training equals a dense reference and keeps the theoretical mistake bound."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sdk import as_instances, helper
from harness_prototype.kernels.perceptron import update_perceptron
from internals import Rows, append, empty_rows, enlarge, has_room
from kernel_problems import Problem, free_problem, free_problems, tied_problems

update64 = helper()(update_perceptron.py_func)
"""The same source, compiled for weights of float64."""


def train_on(rows: Rows, base: np.ndarray, problem: Problem) -> Rows:
    instances, order = as_instances(problem.X), problem.order
    kernel = update_perceptron if rows.weights.dtype == np.float32 else update64
    while (done := kernel(rows, instances, problem.y, order, base, np.empty_like(base))) < order.size:
        rows, order = enlarge(rows), order[done:]
    return rows


def train(problem: Problem, dtype: type = np.float64, n_edges: int = 2) -> Rows:
    return train_on(empty_rows(problem.X.shape[1], n_edges, dtype), np.full(problem.n_classes, -np.inf), problem)


def train_densely(problem: Problem, dtype: type = np.float64) -> np.ndarray:
    """Train with a dense matrix and float64 scores."""
    W = np.zeros((problem.X.shape[1], problem.n_classes), dtype)
    seen: set[int] = set()
    for i in problem.order:
        x, y = problem.X[i].astype(np.float64), int(problem.y[i])
        seen.add(y)
        s = np.zeros(problem.n_classes)
        for f in np.flatnonzero(x):
            s += x[f] * W[f].astype(np.float64)
        predicted = max(seen, key=lambda c: (s[c], -c))
        rivals = sorted(seen - {y})
        if predicted == y and rivals and not W[x != 0, y].any():  # ahead by its id alone, if a competitor ties
            rival = max(rivals, key=lambda c: (s[c], -c))
            predicted = rival if s[rival] == s[y] else y
        if predicted != y:
            W[:, y] = W[:, y].astype(np.float64) + x
            W[:, predicted] = W[:, predicted].astype(np.float64) - x
    return W


def loaded(W: np.ndarray) -> Rows:
    """Return an index with these weights."""
    rows = empty_rows(W.shape[0], 4 * W.size + 100, np.float64)
    for f, c in zip(*np.nonzero(W), strict=True):
        append(rows, np.uint32(f), np.uint32(c), W[f, c])
    return rows


def one_step(W: np.ndarray, x: np.ndarray, y: int) -> Rows:
    """Return the index with weights W, all classes seen, after one instance."""
    problem = Problem(x[None].astype(np.float32), np.array([y], np.int32), np.zeros(1, np.int64), W.shape[1])
    return train_on(loaded(W), np.zeros(W.shape[1]), problem)


@settings(max_examples=100, deadline=None)
@given(problem=tied_problems())
def test_float64_weights_equal_the_dense_reference(problem, dense, assert_sound):
    rows = train(problem)
    assert_sound(rows)
    np.testing.assert_allclose(dense(rows, problem.n_classes), train_densely(problem), rtol=1e-12, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(problem=tied_problems())
def test_float32_weights_equal_a_reference_that_stores_float32(problem, dense, assert_sound):
    rows = train(problem, np.float32)
    assert_sound(rows)
    np.testing.assert_array_equal(dense(rows, problem.n_classes), train_densely(problem, np.float32))


@settings(max_examples=50, deadline=None, derandomize=True)  # rounding may decide a near tie differently
@given(problem=free_problems)
def test_float32_weights_equal_float64_weights_to_float32_precision(problem, dense):
    shipped = dense(train(problem, np.float32), problem.n_classes)
    np.testing.assert_allclose(shipped, train_densely(problem), rtol=1e-4, atol=2e-6)


@settings(max_examples=50, deadline=None)
@given(problem=tied_problems())
def test_an_arena_that_must_grow_gives_identical_weights(problem, dense):
    tiny, ample = (train(problem, np.float32, n_edges) for n_edges in (2, 10_000))
    assert ample.classes.size == 10_000
    np.testing.assert_array_equal(dense(tiny, problem.n_classes), dense(ample, problem.n_classes))


def test_an_instance_that_does_not_fit_the_arena_stops_the_kernel_before_any_change(dense):
    problem = free_problem(0)
    rows, base = empty_rows(12, 30), np.full(6, -np.inf)
    done = update_perceptron(rows, as_instances(problem.X), problem.y, problem.order, base, np.empty(6))
    assert 0 < done < problem.order.size
    assert not has_room(rows, as_instances(problem.X[[problem.order[done]]]).indices, 2)
    before = Problem(problem.X, problem.y, problem.order[:done], 6)
    np.testing.assert_array_equal(dense(rows, 6), train_densely(before, np.float32))


@settings(max_examples=50, deadline=None)
@given(problem=tied_problems() | free_problems)
def test_the_weights_of_a_feature_sum_to_zero(problem, dense):
    W = dense(train(problem), problem.n_classes)
    assert np.all(np.abs(W.sum(axis=1)) <= 1e-12 * np.abs(W).sum(axis=1))


@settings(max_examples=50, deadline=None)
@given(problem=tied_problems() | free_problems, power=st.integers(-5, 5))
def test_scaled_instances_give_scaled_weights_so_a_learning_rate_would_change_nothing(problem, power, dense):
    scaled = Problem(np.float32(2.0**power) * problem.X, problem.y, problem.order, problem.n_classes)
    W, V = (dense(train(p), problem.n_classes) for p in (problem, scaled))
    np.testing.assert_array_equal(V, 2.0**power * W)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_mistake_moves_exactly_the_true_and_the_predicted_class_by_the_instance(seed, dense):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(6, 5))
    x, y = rng.normal(size=6).astype(np.float32), int(rng.integers(5))
    moved = dense(one_step(W, x, y), 5) - W
    expected = np.zeros_like(W)
    predicted = int(np.argmax(x @ W))
    if predicted != y:
        expected[:, y], expected[:, predicted] = x, -x
    np.testing.assert_allclose(moved, expected, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_mistakes_stay_below_the_bound_on_separable_classes(seed, dense):
    """Check M <= 2 R^2

    U

    ^2 / gamma^2: an update is a vector of squared norm 2

    x

    ^2.
    """
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(12, 4)).astype(np.float32), rng.normal(size=(4, 3))
    S = np.sort(X @ U, axis=1)
    gamma = (S[:, -1] - S[:, -2]).min()
    bound = 2 * (X.astype(np.float64) ** 2).sum(axis=1).max() * (U**2).sum() / gamma**2
    y = np.argmax(X @ U, axis=1)
    W, mistakes = np.zeros_like(U), 0
    for i in rng.integers(0, 12, 150):
        moved = dense(one_step(W, X[i], int(y[i])), 3)
        mistakes += not np.array_equal(moved, W)
        W = moved
    assert mistakes <= bound


def test_the_bound_is_tight_including_its_factor_of_two(dense):
    n = 8
    problem = Problem(np.eye(n, dtype=np.float32), np.ones(n, np.int32), np.arange(n), 2)
    W = dense(train_on(empty_rows(n, 100), np.zeros(2), problem), 2)
    assert np.count_nonzero(W[:, 1]) == n  # one mistake each
    U = np.stack([-np.ones(n), np.ones(n)], axis=1)
    assert n == 2 * 1 * (U**2).sum() / 2**2


@settings(max_examples=50, deadline=None)
@given(problem=free_problems, seed=st.integers(0, 2**32 - 1))
def test_permuted_features_give_permuted_weights(problem, seed, dense):
    permutation = np.random.default_rng(seed).permutation(problem.X.shape[1])
    permuted = Problem(problem.X[:, permutation], problem.y, problem.order, problem.n_classes)
    W, V = (dense(train(p), problem.n_classes) for p in (problem, permuted))
    np.testing.assert_allclose(V, W[permutation], rtol=1e-9, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(problem=free_problems, seed=st.integers(0, 2**32 - 1))
def test_permuted_classes_give_permuted_weights_without_ties(problem, seed, dense):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(problem.X.shape[1], problem.n_classes))  # an untrained start would tie all classes at zero
    permutation = rng.permutation(problem.n_classes)
    places = np.argsort(permutation).astype(np.int32)
    permuted = Problem(problem.X, places[problem.y], problem.order, problem.n_classes)
    base = np.zeros(problem.n_classes)
    trained = dense(train_on(loaded(W), base, problem), problem.n_classes)
    other = dense(train_on(loaded(W[:, permutation]), base, permuted), problem.n_classes)
    np.testing.assert_array_equal(other, trained[:, permutation])


def test_nothing_is_learned_from_a_single_class():
    problem = Problem(np.ones((3, 2), np.float32), np.zeros(3, np.int32), np.arange(3), 4)
    assert train(problem, np.float32).n_edges == 0


def test_a_class_that_leads_by_its_id_alone_is_corrected_once(dense):
    first = dense(one_step(np.zeros((1, 3)), np.array([1.0]), 0), 3)
    assert first.tolist() == [[1, -1, 0]]
    assert dense(one_step(first, np.array([1.0]), 0), 3).tolist() == first.tolist()
    ahead = np.array([[0.0, -1.0, -1.0]])
    assert dense(one_step(ahead, np.array([1.0]), 0), 3).tolist() == ahead.tolist()
    touched = np.array([[1.0, 1.0], [-1.0, -1.0]])
    assert dense(one_step(touched, np.array([1.0, 1.0]), 0), 2).tolist() == touched.tolist()


def test_an_untouched_class_scores_zero_and_can_be_predicted(dense):
    moved = dense(one_step(np.array([[-2.0, -1.0, 0.0]]), np.array([1.0]), 1), 3)
    assert moved.tolist() == [[-2, 0, -1]]
