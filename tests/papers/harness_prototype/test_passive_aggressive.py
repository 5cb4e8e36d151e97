"""Passive-aggressive training equals a dense reference and has the properties that the papers prove."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.sdk import as_instances, helper
from harness_prototype.kernels.passive_aggressive import PAStep, update_pa
from internals import Rows, append, empty_rows, enlarge, has_room
from kernel_problems import Problem, free_problem, free_problems, tied_problems

update64 = helper()(update_pa.py_func)
"""The same source, compiled for weights of float64."""

PRINTED, EXACT = PAStep(1.0, 1.0, 0.5, np.inf), PAStep(1.0, 2.0, 0.5, np.inf)
PLAIN, CAPPED = PAStep(1.0, 1.0, 0.0, np.inf), PAStep(1.0, 1.0, 0.0, 0.3)
STEPS = [PRINTED, EXACT, PLAIN, CAPPED, PAStep(0.25, 2.0, 0.0, 0.01)]


def train_on(rows: Rows, base: np.ndarray, problem: Problem, step: PAStep) -> Rows:
    instances, order = as_instances(problem.X), problem.order
    kernel = update_pa if rows.weights.dtype == np.float32 else update64
    while (done := kernel(rows, instances, problem.labels, order, base, np.empty_like(base), step)) < order.size:
        rows, order = enlarge(rows), order[done:]
    return rows


def train(problem: Problem, step: PAStep, dtype: type = np.float64, n_edges: int = 2) -> Rows:
    rows, base = empty_rows(problem.X.shape[1], n_edges, dtype), np.full(problem.n_classes, -np.inf)
    return train_on(rows, base, problem, step)


def train_densely(problem: Problem, step: PAStep, dtype: type = np.float64) -> np.ndarray:
    """Train as in the papers, with a dense matrix and float64 scores."""
    W = np.zeros((problem.X.shape[1], problem.n_classes), dtype)
    seen: set[int] = set()
    for i in problem.order:
        x, truth = problem.X[i].astype(np.float64), problem.truths[i]
        seen.update(truth)
        s = np.zeros(problem.n_classes)
        for f in np.flatnonzero(x):
            s += x[f] * W[f].astype(np.float64)
        rivals = sorted(seen.difference(truth))
        norm2 = sum(value * value for value in x.tolist())
        if not truth or not rivals or norm2 == 0:
            continue
        y = min(truth, key=lambda c: (s[c], c))
        rival = max(rivals, key=lambda c: (s[c], -c))
        loss = step.margin - s[y] + s[rival]
        if loss <= 0:
            continue
        tau = min(step.cap, loss / (step.scale * norm2 + step.ridge))
        W[:, y] = W[:, y].astype(np.float64) + tau * x
        W[:, rival] = W[:, rival].astype(np.float64) - tau * x
    return W


def loaded(W: np.ndarray) -> Rows:
    """Return an index with these weights."""
    rows = empty_rows(W.shape[0], 4 * W.size + 100, np.float64)
    for f, c in zip(*np.nonzero(W), strict=True):
        append(rows, np.uint32(f), np.uint32(c), W[f, c])
    return rows


def one_step(W: np.ndarray, x: np.ndarray, y: int, step: PAStep) -> Rows:
    """Return the index with weights W, all classes seen, after one instance."""
    problem = Problem(x[None].astype(np.float32), np.array([y], np.int32), np.zeros(1, np.int64), W.shape[1])
    return train_on(loaded(W), np.zeros(W.shape[1]), problem, step)


@settings(max_examples=100, deadline=None)
@given(problem=tied_problems(), step=st.sampled_from(STEPS))
def test_float64_weights_equal_the_dense_reference(problem, step, dense, assert_sound):
    rows = train(problem, step)
    assert_sound(rows)
    np.testing.assert_allclose(dense(rows, problem.n_classes), train_densely(problem, step), rtol=1e-12, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(problem=tied_problems(), step=st.sampled_from(STEPS))
def test_float32_weights_equal_a_reference_that_stores_float32(problem, step, dense, assert_sound):
    rows = train(problem, step, np.float32)
    assert_sound(rows)
    np.testing.assert_array_equal(dense(rows, problem.n_classes), train_densely(problem, step, np.float32))


@settings(max_examples=50, deadline=None, derandomize=True)  # rounding may decide a near tie differently
@given(problem=free_problems, step=st.sampled_from(STEPS))
def test_float32_weights_equal_float64_weights_to_float32_precision(problem, step, dense):
    shipped = dense(train(problem, step, np.float32), problem.n_classes)
    np.testing.assert_allclose(shipped, train_densely(problem, step), rtol=1e-3, atol=2e-5)


@settings(max_examples=100, deadline=None)
@given(problem=tied_problems(most_labels=3), step=st.sampled_from(STEPS))
def test_several_labels_or_none_per_row_match_the_dense_reference(problem, step, dense, assert_sound):
    rows = train(problem, step)
    assert_sound(rows)
    np.testing.assert_allclose(dense(rows, problem.n_classes), train_densely(problem, step), rtol=1e-12, atol=1e-12)


def test_the_worst_true_label_is_compared_with_the_best_other_class(dense):
    W = np.array([[0.5, 0.3, 0.2, 0.4, 0.1]])
    problem = Problem(np.ones((1, 1), np.float32), np.zeros(1, np.int32), np.zeros(1, np.int64), 5, [[0, 1, 4]])
    moved = dense(train_on(loaded(W), np.zeros(5), problem, EXACT), 5) - W
    tau = (1 - 0.1 + 0.4) / 2.5
    np.testing.assert_allclose(moved, [[0, 0, 0, -tau, tau]], atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(problem=tied_problems(most_labels=2), step=st.sampled_from(STEPS))
def test_an_arena_that_must_grow_gives_identical_weights(problem, step, dense):
    tiny, ample = (train(problem, step, np.float32, n_edges) for n_edges in (2, 10_000))
    assert ample.classes.size == 10_000
    np.testing.assert_array_equal(dense(tiny, problem.n_classes), dense(ample, problem.n_classes))


def test_an_instance_that_does_not_fit_the_arena_stops_the_kernel_before_any_change(dense):
    problem = free_problem(0)
    rows, base = empty_rows(12, 8), np.full(6, -np.inf)
    done = update_pa(rows, as_instances(problem.X), problem.labels, problem.order, base, np.empty(6), PRINTED)
    assert 0 < done < problem.order.size
    assert not has_room(rows, as_instances(problem.X[[problem.order[done]]]).indices, 2)
    before = Problem(problem.X, problem.y, problem.order[:done], 6)
    np.testing.assert_array_equal(dense(rows, 6), train_densely(before, PRINTED, np.float32))


@settings(max_examples=50, deadline=None)
@given(problem=tied_problems() | free_problems, step=st.sampled_from(STEPS))
def test_the_weights_of_a_feature_sum_to_zero(problem, step, dense):
    W = dense(train(problem, step), problem.n_classes)
    assert np.all(np.abs(W.sum(axis=1)) <= 1e-12 * np.abs(W).sum(axis=1))


@settings(max_examples=50, deadline=None)
@given(problem=tied_problems() | free_problems, step=st.sampled_from([PRINTED, EXACT, PLAIN]), power=st.integers(-5, 5))
def test_a_scaled_margin_gives_scaled_weights(problem, step, power, dense):
    one, scaled = (train(problem, step._replace(margin=m)) for m in (1.0, 2.0**power))
    np.testing.assert_array_equal(dense(scaled, problem.n_classes), 2.0**power * dense(one, problem.n_classes))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize(("step", "left"), [(PRINTED, -1 / 3), (EXACT, 0.2)])
def test_an_update_leaves_the_predicted_share_of_the_loss(step, left, seed, dense):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(4, 5))
    x = np.zeros(4)
    x[rng.integers(4)] = rng.choice([-1.0, 1.0])  # of length 1 in float32 too
    y = int(rng.integers(5))
    s = x @ W
    rival = max(set(range(5)) - {y}, key=lambda c: s[c])
    loss = 1 - s[y] + s[rival]
    assume(loss > 0)
    s = x @ dense(one_step(W, x, y, step), 5)
    assert 1 - s[y] + s[rival] == pytest.approx(left * loss, rel=1e-9, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), step=st.sampled_from(STEPS))
def test_an_update_moves_exactly_two_columns_along_the_instance(seed, step, dense):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.5)
    x = (rng.normal(size=6) * (rng.random(6) < 0.5)).astype(np.float32)
    y = int(rng.integers(5))
    rows = one_step(W, x, y, step)
    moved = dense(rows, 5) - W
    columns = np.flatnonzero(moved.any(axis=0))
    assert columns.size in (0, 2)
    assert rows.n_edges <= np.count_nonzero(W) + 2 * np.count_nonzero(x)
    if columns.size:
        s = x @ W
        rival = max(set(range(5)) - {y}, key=lambda c: (s[c], -c))
        assert set(columns) == {y, rival}
        np.testing.assert_allclose(moved[:, y], -moved[:, rival], atol=1e-12)
        tau = (moved[:, y] @ x) / (x @ x)
        assert tau > 0
        np.testing.assert_allclose(moved[:, y], tau * x, atol=1e-6 * tau)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), step=st.sampled_from(STEPS))
def test_the_distance_to_a_separating_matrix_never_grows(seed, step, dense):
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(15, 5)).astype(np.float32), rng.normal(size=(5, 4))
    S = np.sort(X @ U, axis=1)
    U *= step.margin / (S[:, -1] - S[:, -2]).min()  # now no instance has a loss
    y = np.argmax(X @ U, axis=1)
    W = np.zeros_like(U)
    for i in rng.integers(0, 15, 40):
        moved = dense(one_step(W, X[i], int(y[i]), step), 4)
        assert np.sum((moved - U) ** 2) <= np.sum((W - U) ** 2) * (1 + 1e-9)
        W = moved


@settings(max_examples=50, deadline=None)
@given(problem=free_problems, step=st.sampled_from(STEPS), seed=st.integers(0, 2**32 - 1))
def test_permuted_features_give_permuted_weights(problem, step, seed, dense):
    permutation = np.random.default_rng(seed).permutation(problem.X.shape[1])
    permuted = Problem(problem.X[:, permutation], problem.y, problem.order, problem.n_classes)
    W, V = (dense(train(p, step), problem.n_classes) for p in (problem, permuted))
    np.testing.assert_allclose(V, W[permutation], rtol=1e-9, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(problem=free_problems, step=st.sampled_from(STEPS), seed=st.integers(0, 2**32 - 1))
def test_permuted_classes_give_permuted_weights_without_ties(problem, step, seed, dense):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(problem.X.shape[1], problem.n_classes))  # an untrained start would tie all classes at zero
    permutation = rng.permutation(problem.n_classes)
    places = np.argsort(permutation).astype(np.int32)
    permuted = Problem(problem.X, places[problem.y], problem.order, problem.n_classes)
    base = np.zeros(problem.n_classes)
    trained = dense(train_on(loaded(W), base, problem, step), problem.n_classes)
    other = dense(train_on(loaded(W[:, permutation]), base, permuted, step), problem.n_classes)
    np.testing.assert_array_equal(other, trained[:, permutation])


def test_nothing_is_learned_from_a_single_class():
    problem = Problem(np.ones((3, 2), np.float32), np.zeros(3, np.int32), np.arange(3), 4)
    assert train(problem, PRINTED, np.float32).n_edges == 0


def test_a_class_is_seen_from_its_first_instance_even_if_that_row_is_empty():
    X = np.array([[0, 0], [1, 0]], np.float32)
    first = Problem(X, np.array([2, 0], np.int32), np.array([0, 1]), 3)
    rows = train(first, PRINTED, np.float32)
    assert sorted(rows.classes[rows.start[0] :][: rows.length[0]]) == [0, 2]
    later = Problem(X, np.array([2, 0], np.int32), np.array([1, 0]), 3)
    assert train(later, PRINTED, np.float32).n_edges == 0


def test_an_untouched_class_scores_zero_and_can_be_the_competitor(dense):
    W = np.array([[1.0, -1.0, 0.0]])
    moved = dense(one_step(W, np.array([1.0]), 1, PRINTED), 3) - W
    assert np.flatnonzero(moved.any(axis=0)).tolist() == [0, 1]
    moved = dense(one_step(-W, np.array([1.0]), 1, PRINTED._replace(margin=2.0)), 3) + W
    assert np.flatnonzero(moved.any(axis=0)).tolist() == [1, 2]


def test_tied_competitors_are_resolved_by_the_lowest_id(dense):
    moved = dense(one_step(np.zeros((1, 4)), np.array([1.0]), 0, PRINTED), 4)
    assert np.flatnonzero(moved[0]).tolist() == [0, 1]
