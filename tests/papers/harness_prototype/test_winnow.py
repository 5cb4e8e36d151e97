"""Winnow multiplies as a dense reference, keeps weights above 0, and quickly finds relevant features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sdk import as_instances, helper
from harness_prototype.kernels.winnow import gains, rank_powers, update_winnow
from internals import Rows, append, empty_rows, enlarge, has_room, no_moves
from kernel_problems import POSITIVE, IndicatedProblem, tied_indicated

update64 = helper()(update_winnow.py_func)
"""The same source, compiled for exponents of float64."""

SETTINGS = st.tuples(st.sampled_from([2.0, 1.5, 1.01]), st.sampled_from([0.3, 1.0, 2.5, 6.0, 40.0]))


@dataclass(frozen=True)
class Problem(IndicatedProblem):
    alpha: float = 2.0
    theta: float = 1.0


@st.composite
def tied_problems(draw):
    """Draw few distinct values: many ties and zero rows; any number of labels; some classes never occur."""
    problem = draw(tied_indicated(POSITIVE))
    return Problem(problem.X, problem.Y, problem.order, *draw(SETTINGS))


def free_problem(seed: int, n: int = 30, n_features: int = 12, n_classes: int = 6) -> Problem:
    """Return a problem without ties except at the start."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.6)
    X[:, 0] += 0.01 + rng.random(n)  # no zero row
    Y = np.eye(n_classes)[rng.integers(0, n_classes, n)] > 0
    return Problem(X.astype(np.float32), Y, rng.permutation(n), 1.5, float(X.sum(axis=1).mean()))


free_problems = st.builds(free_problem, st.integers(0, 2**32 - 1))


def run(rows: Rows, base: np.ndarray, problem: Problem, order: np.ndarray, moves=None) -> int:
    kernel = update_winnow if rows.weights.dtype == np.float32 else update64
    powers, moves = gains(rows, problem.alpha, order.size), moves or no_moves(base.size)
    space = np.empty_like(base)
    return kernel(rows, as_instances(problem.X), problem.labels, order, base, space, powers, moves, problem.theta)


def train_on(rows: Rows, base: np.ndarray, problem: Problem) -> Rows:
    order = problem.order
    while (done := run(rows, base, problem, order)) < order.size:
        rows, order = enlarge(rows), order[done:]
    return rows


def train(problem: Problem, dtype: type = np.float32, n_edges: int = 2) -> Rows:
    return train_on(empty_rows(problem.X.shape[1], n_edges, dtype), np.full(problem.n_classes, -np.inf), problem)


def train_densely(problem: Problem) -> np.ndarray:
    """Train with a dense matrix of multiplied weights; w.x is computed in float64 as 1.x + (w - 1).x"""
    W = np.ones((problem.X.shape[1], problem.n_classes))
    seen = np.zeros(problem.n_classes, bool)
    for i in problem.order:
        x, truth = problem.X[i].astype(np.float64), problem.Y[i]
        active = x > 0
        seen |= truth
        s, total = np.zeros(problem.n_classes), 0.0
        for f in np.flatnonzero(active):
            s += x[f] * (W[f] - 1)
            total += x[f]
        own = s >= problem.theta - total
        W[np.ix_(active, seen & truth & ~own)] *= problem.alpha
        W[np.ix_(active, seen & ~truth & own)] /= problem.alpha
    return W


def loaded(exponents: np.ndarray) -> Rows:
    """Return an index with these exponents."""
    rows = empty_rows(exponents.shape[0], 4 * exponents.size + 100)
    for f, c in zip(*np.nonzero(exponents), strict=True):
        append(rows, np.uint32(f), np.uint32(c), exponents[f, c])
    return rows


@settings(max_examples=150, deadline=None)
@given(problem=tied_problems().filter(lambda p: p.alpha == 2.0))
def test_weights_equal_the_dense_reference(problem, dense, assert_sound):
    rows = train(problem)
    assert_sound(rows)
    np.testing.assert_array_equal(2.0 ** dense(rows, problem.n_classes), train_densely(problem))


@settings(max_examples=100, deadline=None, derandomize=True)  # rounding may decide a near tie differently
@given(problem=free_problems)
def test_weights_equal_the_dense_reference_for_other_rates(problem, dense):
    W = problem.alpha ** dense(train(problem), problem.n_classes).astype(np.float64)
    np.testing.assert_allclose(W, train_densely(problem), rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(problem=tied_problems() | free_problems)
def test_exponents_are_integers_and_equal_in_float64(problem, dense):
    single, double = (dense(train(problem, dtype), problem.n_classes) for dtype in (np.float32, np.float64))
    np.testing.assert_array_equal(single, double)
    np.testing.assert_array_equal(single, np.round(single))


@settings(max_examples=50, deadline=None)
@given(problem=tied_problems() | free_problems)
def test_weights_stay_above_zero(problem):
    rows = train(problem)
    assert np.all(gains(rows, problem.alpha) > -1)


@settings(max_examples=50, deadline=None)
@given(problem=tied_problems())
def test_an_arena_that_must_grow_gives_identical_weights(problem, dense):
    tiny, ample = (train(problem, n_edges=n_edges) for n_edges in (2, 10_000))
    assert ample.classes.size == 10_000
    np.testing.assert_array_equal(dense(tiny, problem.n_classes), dense(ample, problem.n_classes))


def test_an_instance_that_does_not_fit_the_arena_stops_the_kernel_before_any_change(dense):
    problem = free_problem(0)
    rows, base, moves = empty_rows(12, 60), np.full(6, -np.inf), no_moves(6)
    done = run(rows, base, problem, problem.order, moves)
    assert 0 < done < problem.order.size
    assert not has_room(rows, as_instances(problem.X[[problem.order[done]]]).indices, 6)
    assert not moves.changes.any()
    expected = train_densely(replace(problem, order=problem.order[:done]))
    np.testing.assert_allclose(problem.alpha ** dense(rows, 6).astype(np.float64), expected, rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_missed_classes_are_promoted_and_false_ones_demoted_on_active_features_only(seed, dense):
    rng = np.random.default_rng(seed)
    before = rng.integers(-3, 4, (6, 5))
    x = (rng.integers(0, 4, 6) / 4).astype(np.float32)  # w.x is exact
    truth, theta = rng.random(5) < 0.4, float(rng.integers(1, 40)) / 8
    own = x @ 2.0**before >= theta
    problem = Problem(x[None], truth[None], np.zeros(1, np.int64), 2.0, theta)
    change = dense(train_on(loaded(before), np.zeros(5), problem), 5) - before
    np.testing.assert_array_equal(change, np.outer(x > 0, 1 * (truth & ~own) - 1 * (own & ~truth)))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), r=st.integers(1, 4))
def test_few_mistakes_are_made_on_a_disjunction_of_few_features(seed, r, dense):
    """With alpha 2 and theta n: r (1 + log2 n) promotions, 2 + 2 times as many demotions at most."""
    rng, n = np.random.default_rng(seed), 32
    X = (rng.random((200, n)) < rng.uniform(0.02, 0.4)).astype(np.float32)
    Y = X[:, rng.permutation(n)[:r]].any(axis=1)[:, None]
    rows, base, mistakes = empty_rows(n, 10_000), np.zeros(1), 0
    for i in range(200):
        before = dense(rows, 1)
        rows = train_on(rows, base, Problem(X[[i]], Y[[i]], np.zeros(1, np.int64), 2.0, float(n)))
        mistakes += not np.array_equal(dense(rows, 1), before)
    assert mistakes <= 2 + 3 * r * (1 + np.log2(n))


@settings(max_examples=50, deadline=None, derandomize=True)  # sums in another order may decide a near tie differently
@given(problem=free_problems, seed=st.integers(0, 2**32 - 1))
def test_permuted_features_give_permuted_weights(problem, seed, dense):
    permutation = np.random.default_rng(seed).permutation(problem.X.shape[1])
    permuted = replace(problem, X=problem.X[:, permutation])
    W, V = (dense(train(p), problem.n_classes) for p in (problem, permuted))
    np.testing.assert_array_equal(V, W[permutation])


@settings(max_examples=50, deadline=None)
@given(problem=tied_problems() | free_problems, seed=st.integers(0, 2**32 - 1))
def test_permuted_classes_give_permuted_weights_with_ties_too(problem, seed, dense):
    permutation = np.random.default_rng(seed).permutation(problem.n_classes)
    permuted = replace(problem, Y=problem.Y[:, permutation])
    W, V = (dense(train(p), problem.n_classes) for p in (problem, permuted))
    np.testing.assert_array_equal(V, W[:, permutation])


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_classes_are_ranked_by_their_weights(seed):
    rng = np.random.default_rng(seed)
    exponents = rng.integers(-3, 4, (6, 5))
    X = (rng.integers(0, 4, (8, 6)) / 4).astype(np.float32)
    X[:, 0] += 1
    ranked = rank_powers(loaded(exponents), as_instances(X), np.array([0, 0, -np.inf, 0, 0]), 2.0, 5)
    for x, classes in zip(X, ranked, strict=True):
        s = x @ 2.0**exponents
        assert classes.tolist() == [*sorted({0, 1, 3, 4}, key=lambda c: (-s[c], c)), -1]


@pytest.mark.parametrize("exponent", [-5000, 5000])
def test_overflowing_weights_still_rank(exponent):
    rows = loaded(np.array([[exponent, 1], [1, 0]]))
    ranked = rank_powers(rows, as_instances(np.array([[1, 1]], np.float32)), np.zeros(2), 2.0, 2)
    assert ranked.tolist() == ([[1, 0]] if exponent < 0 else [[0, 1]])


def test_a_weight_that_returns_to_one_has_no_edge():
    true, false = np.array([[True]]), np.array([[False]])
    rows, x = empty_rows(1, 10), np.ones((1, 1), np.float32)
    train_on(rows, np.zeros(1), Problem(x, true, np.zeros(1, np.int64), theta=1.5))
    assert rows.n_edges == 1
    train_on(rows, np.zeros(1), Problem(x, false, np.zeros(1, np.int64), theta=1.5))
    assert rows.n_edges == 0


def test_an_unseen_class_is_neither_ranked_nor_updated(dense):
    problem = Problem(np.ones((2, 1), np.float32), np.array([[True, False, False], [False, False, True]]), np.arange(2))
    assert dense(train(problem), 3).tolist() == [[-1, 0, 0]]
