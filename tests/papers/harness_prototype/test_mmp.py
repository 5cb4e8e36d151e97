"""MMP training equals a dense reference pair by pair and has its known properties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness.sdk import as_instances, helper
from harness_prototype.kernels import perceptron
from harness_prototype.kernels.mmp import update_mmp
from internals import Rows, append, empty_rows, enlarge, has_room, no_moves
from kernel_problems import IndicatedProblem, free_indicated, free_indicated_problems, tied_indicated

update64, perceptron64 = helper()(update_mmp.py_func), helper()(perceptron.update_perceptron.py_func)
"""The same sources, compiled for weights of float64."""

every_kind = pytest.mark.parametrize("touched_only", [False, True])


def run(
    rows: Rows, base: np.ndarray, problem: IndicatedProblem, order: np.ndarray, touched_only: bool, moves=None
) -> int:
    kernel, space = update_mmp if rows.weights.dtype == np.float32 else update64, np.empty((2, base.size))
    moves = moves or no_moves(base.size)
    return kernel(rows, as_instances(problem.X), problem.labels, order, base, *space, moves, touched_only)


def train_on(rows: Rows, base: np.ndarray, problem: IndicatedProblem, touched_only: bool = False) -> Rows:
    order = problem.order
    while (done := run(rows, base, problem, order, touched_only)) < order.size:
        rows, order = enlarge(rows), order[done:]
    return rows


def train(problem: IndicatedProblem, touched_only: bool = False, dtype: type = np.float64, n_edges: int = 2) -> Rows:
    rows, base = empty_rows(problem.X.shape[1], n_edges, dtype), np.full(problem.n_classes, -np.inf)
    return train_on(rows, base, problem, touched_only)


def train_densely(problem: IndicatedProblem, touched_only: bool = False, dtype: type = np.float64) -> np.ndarray:
    """Train with a dense matrix, a list of pairs, and float64 scores."""
    W = np.zeros((problem.X.shape[1], problem.n_classes), dtype)
    seen: set[int] = set()
    for i in problem.order:
        x, truth = problem.X[i].astype(np.float64), set(np.flatnonzero(problem.Y[i]).tolist())
        seen |= truth
        s = np.zeros(problem.n_classes)
        for f in np.flatnonzero(x):
            s += x[f] * W[f].astype(np.float64)
        pairs = [(r, c) for r in truth for c in sorted(seen - truth) if s[c] >= s[r]]
        if touched_only and pairs:
            touched = W[x != 0].any(axis=0)
            kept = [(r, c) for r, c in pairs if touched[c]]
            first = min((c for _, c in pairs if not touched[c]), default=-1)
            pairs = kept or [(r, c) for r, c in pairs if c == first]
        for c in range(problem.n_classes):
            part = sum(r == c for r, _ in pairs) - sum(other == c for _, other in pairs)
            if part:
                W[:, c] = W[:, c].astype(np.float64) + x * (part / len(pairs))
    return W


def loaded(W: np.ndarray) -> Rows:
    """Return an index with these weights."""
    rows = empty_rows(W.shape[0], 4 * W.size + 100, np.float64)
    for f, c in zip(*np.nonzero(W), strict=True):
        append(rows, np.uint32(f), np.uint32(c), W[f, c])
    return rows


def one_step(W: np.ndarray, x: np.ndarray, truth: list[int], touched_only: bool = False) -> Rows:
    """Return the index with weights W, all classes seen, after one instance."""
    Y = np.isin(np.arange(W.shape[1]), truth)[None]
    problem = IndicatedProblem(x[None].astype(np.float32), Y, np.zeros(1, np.int64))
    return train_on(loaded(W), np.zeros(W.shape[1]), problem, touched_only)


@every_kind
@settings(max_examples=100, deadline=None)
@given(problem=tied_indicated())
def test_float64_weights_equal_the_dense_reference(touched_only, problem, dense, assert_sound):
    rows = train(problem, touched_only)
    assert_sound(rows)
    expected = train_densely(problem, touched_only)
    np.testing.assert_allclose(dense(rows, problem.n_classes), expected, rtol=1e-12, atol=1e-12)


@every_kind
@settings(max_examples=100, deadline=None)
@given(problem=tied_indicated())
def test_float32_weights_equal_a_reference_that_stores_float32(touched_only, problem, dense, assert_sound):
    rows = train(problem, touched_only, np.float32)
    assert_sound(rows)
    expected = train_densely(problem, touched_only, np.float32)
    np.testing.assert_array_equal(dense(rows, problem.n_classes), expected)


@settings(max_examples=50, deadline=None, derandomize=True)  # rounding may decide a near tie differently
@given(problem=free_indicated_problems)
def test_float32_weights_equal_float64_weights_to_float32_precision(problem, dense):
    shipped = dense(train(problem, dtype=np.float32), problem.n_classes)
    np.testing.assert_allclose(shipped, train_densely(problem), rtol=1e-4, atol=2e-6)


@every_kind
@settings(max_examples=50, deadline=None)
@given(problem=tied_indicated())
def test_an_arena_that_must_grow_gives_identical_weights(touched_only, problem, dense):
    tiny, ample = (train(problem, touched_only, np.float32, n_edges) for n_edges in (2, 10_000))
    assert ample.classes.size == 10_000
    np.testing.assert_array_equal(dense(tiny, problem.n_classes), dense(ample, problem.n_classes))


def test_an_instance_that_does_not_fit_the_arena_stops_the_kernel_before_any_change(dense):
    problem = free_indicated(0)
    rows, base, moves = empty_rows(12, 60), np.full(6, -np.inf), no_moves(6)
    done = run(rows, base, problem, problem.order, False, moves)
    assert 0 < done < problem.order.size
    assert not has_room(rows, as_instances(problem.X[[problem.order[done]]]).indices, 6)
    assert not moves.changes.any()
    assert not moves.marked.any()
    before = replace(problem, order=problem.order[:done])
    np.testing.assert_array_equal(dense(rows, 6), train_densely(before, dtype=np.float32))


@every_kind
@settings(max_examples=50, deadline=None)
@given(problem=tied_indicated() | free_indicated_problems)
def test_the_weights_of_a_feature_sum_to_zero(touched_only, problem, dense):
    W = dense(train(problem, touched_only), problem.n_classes)
    assert np.all(np.abs(W.sum(axis=1)) <= 1e-12 * np.abs(W).sum(axis=1))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), touched_only=st.booleans())
def test_with_one_wrongly_ordered_pair_mmp_is_the_perceptron(seed, touched_only, dense):
    rng = np.random.default_rng(seed)
    W, x = rng.normal(size=(6, 5)), rng.normal(size=6).astype(np.float32)
    y = int(np.argsort(x @ W)[-2])  # one class is ahead
    rows, order = loaded(W), np.zeros(1, np.int64)
    perceptron64(rows, as_instances(x[None]), np.array([y], np.int32), order, np.zeros(5), np.empty(5))
    np.testing.assert_array_equal(dense(one_step(W, x, [y], touched_only), 5), dense(rows, 5))


@every_kind
@settings(max_examples=50, deadline=None)
@given(problem=tied_indicated() | free_indicated_problems, power=st.integers(-5, 5))
def test_scaled_instances_give_scaled_weights(touched_only, problem, power, dense):
    scaled = replace(problem, X=np.float32(2.0**power) * problem.X)
    W, V = (dense(train(p, touched_only), problem.n_classes) for p in (problem, scaled))
    np.testing.assert_array_equal(V, 2.0**power * W)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_an_update_moves_exactly_the_classes_of_wrong_pairs_along_the_instance(seed, dense):
    rng = np.random.default_rng(seed)
    W, x = rng.normal(size=(6, 7)), rng.normal(size=6).astype(np.float32)
    truth = np.flatnonzero(rng.random(7) < 0.4)
    s, false = x @ W, np.setdiff1d(np.arange(7), truth)
    wrong = s[false][None] >= s[truth][:, None]
    parts = np.zeros(7)
    if wrong.any():
        parts[truth], parts[false] = wrong.sum(axis=1) / wrong.sum(), -wrong.sum(axis=0) / wrong.sum()
    moved = dense(one_step(W, x, truth.tolist()), 7) - W
    np.testing.assert_allclose(moved, np.outer(x, parts), atol=1e-12)


@every_kind
@settings(max_examples=50, deadline=None)
@given(problem=free_indicated_problems, seed=st.integers(0, 2**32 - 1))
def test_permuted_features_give_permuted_weights(touched_only, problem, seed, dense):
    permutation = np.random.default_rng(seed).permutation(problem.X.shape[1])
    permuted = replace(problem, X=problem.X[:, permutation])
    W, V = (dense(train(p, touched_only), problem.n_classes) for p in (problem, permuted))
    np.testing.assert_allclose(V, W[permutation], rtol=1e-9, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(problem=tied_indicated() | free_indicated_problems, seed=st.integers(0, 2**32 - 1))
def test_permuted_classes_give_permuted_weights_with_ties_too(problem, seed, dense):
    permutation = np.random.default_rng(seed).permutation(problem.n_classes)
    permuted = replace(problem, Y=problem.Y[:, permutation])
    W, V = (dense(train(p), problem.n_classes) for p in (problem, permuted))
    np.testing.assert_array_equal(V, W[:, permutation])


def test_all_tied_classes_share_the_step_and_rows_become_dense(dense):
    assert dense(one_step(np.zeros((1, 5)), np.array([2.0]), [3]), 5).tolist() == [[-0.5, -0.5, -0.5, 2, -0.5]]


def test_untouched_classes_can_be_excluded(dense):
    W = np.array([[1.0, -1.0, 0, 0]])
    assert dense(one_step(W, np.array([3.0]), [1], False), 4).tolist() == [[0, 2, -1, -1]]
    assert dense(one_step(W, np.array([3.0]), [1], True), 4).tolist() == [[-2, 2, 0, 0]]


def test_if_only_untouched_classes_are_ahead_the_first_one_is_used(dense):
    W = np.array([[-2.0, -1.0, 0, 0]])
    assert dense(one_step(W, np.array([1.0]), [1], True), 4).tolist() == [[-2, 0, -1, 0]]
    assert dense(one_step(np.zeros((1, 4)), np.array([1.0]), [0], True), 4).tolist() == [[1, -1, 0, 0]]
    assert dense(one_step(-W, np.array([1.0]), [0], True), 4).tolist() == (-W).tolist()


def test_a_class_known_only_to_absent_features_is_untouched(dense):
    W = np.array([[1.0, -1.0, 0, 0], [0, 0, -1.0, 1.0]])
    problem = IndicatedProblem(
        np.array([[3.0, 0.0]], np.float32), np.array([[False, True, False, False]]), np.zeros(1, np.int64)
    )
    rows = loaded(W)
    stored = csr_array(([3.0, 0.0], [0, 1], [0, 2]), shape=(1, 2), dtype=np.float32)
    update64(
        rows, as_instances(stored), problem.labels, problem.order, np.zeros(4), *np.empty((2, 4)), no_moves(4), True
    )
    assert dense(rows, 4).tolist() == [[-2, 2, 0, 0], [0, 0, -1, 1]]


@pytest.mark.parametrize("truth", [[], [0, 1, 2]])
def test_nothing_is_learned_with_no_label_or_all_labels(truth, dense):
    W = np.array([[1.0, -1.0, 0]])
    assert dense(one_step(W, np.array([1.0]), truth), 3).tolist() == W.tolist()


def test_an_unseen_class_is_neither_ranked_nor_updated():
    problem = IndicatedProblem(
        np.ones((2, 1), np.float32), np.array([[True, False, False], [False, False, True]]), np.arange(2)
    )
    rows = train(problem, dtype=np.float32)
    assert sorted(rows.classes[rows.start[0] :][: rows.length[0]]) == [0, 2]
