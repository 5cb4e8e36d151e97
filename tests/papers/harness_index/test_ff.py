"""FF training equals a dense reference: shares of counts, small shares dropped, new features scaled down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sdk import as_instances, helper
from harness_index.kernels.ff import FFStep, update_ff, vote
from internals import MOST_EDGES, Rows, empty_rows, empty_space, enlarge
from kernel_problems import Problem, tied_problems

update64 = helper()(update_ff.py_func)
"""The same source, compiled for counts of float64."""

ALWAYS = FFStep(np.inf, 0.0, 0, True, MOST_EDGES, MOST_EDGES, True)
STEPS = [
    ALWAYS,
    ALWAYS._replace(margin=0.0),
    ALWAYS._replace(margin=0.5, least=0.2),
    ALWAYS._replace(margin=0.1, least=0.01, by_value=False, warm=3),
    ALWAYS._replace(margin=0.5, degree=1, warm=10),
    ALWAYS._replace(margin=0.5, degree=2, stored=2),
    ALWAYS._replace(margin=0.0, degree=2, least=0.05, meets=False, warm=2),
]
VALUES = st.sampled_from([0.0, 0.0, 0.0, 1.0, 0.5, 0.25, 2.0, 1e-20, 0.1])


@dataclass
class Model:
    counts: np.ndarray
    totals: np.ndarray
    met: np.ndarray
    rows: Rows | None = None


def free_problem(seed: int, n: int = 40, n_features: int = 8, n_classes: int = 6) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.6)
    X[:, 0] += rng.random(n)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return Problem(X.astype(np.float32), rng.integers(0, n_classes, n, np.int32), rng.permutation(n), n_classes)


free_problems = st.builds(free_problem, st.integers(0, 2**32 - 1))


def train(problem: Problem, step: FFStep, dtype: type = np.float64, n_edges: int = 2) -> Model:
    n_features = problem.X.shape[1]
    rows, order, space = empty_rows(n_features, n_edges, dtype), problem.order, empty_space(problem.n_classes)
    totals, met, votes = np.zeros(n_features), np.zeros(n_features, np.uint32), np.empty(n_features)
    kernel = update_ff if dtype == np.float32 else update64
    rest = as_instances(problem.X), problem.labels
    while (done := kernel(rows, totals, met, *rest, order, space, votes, step)) < order.size:
        rows, order = enlarge(rows), order[done:]
    assert not space.scores.any()
    counts = np.zeros((n_features, problem.n_classes), dtype)
    for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
        counts[f, rows.classes[start : start + length]] = rows.weights[start : start + length]
    return Model(counts, totals, met, rows)


def train_densely(problem: Problem, step: FFStep, dtype: type = np.float64) -> Model:
    """Train as specified, with a dense matrix."""
    n_features, n_classes = problem.X.shape[1], problem.n_classes
    n, N, met = np.zeros((n_features, n_classes), dtype), np.zeros(n_features), np.zeros(n_features, int)
    rows: list[list[int]] = [[] for _ in range(n_features)]  # the classes of each feature, most counted first
    for i in problem.order:
        x, truth = problem.X[i].astype(np.float64), problem.truths[i]
        if not truth:
            continue
        active = np.flatnonzero(x)
        s = np.zeros(n_classes)
        for f in active:
            trust = min(1.0, met[f] / step.warm) if step.warm else 1.0
            for c in rows[f][: step.degree]:
                s[c] += trust / N[f] * x[f] * float(n[f, c])
        met[active] += step.meets
        best = max([0.0, *np.delete(s, truth)])
        gainers = [y for y in truth if s[y] - best <= step.margin]
        if not gainers:
            continue
        for f in active:
            amount = x[f] if step.by_value else 1.0
            for y in gainers:
                n[f, y], N[f] = float(n[f, y]) + amount, N[f] + amount
                rows[f] += [y] if y not in rows[f] else []
            rows[f] = [c for c in rows[f] if not n[f, c] < step.least * N[f]]
            rows[f].sort(key=lambda c, f=f: -n[f, c])
            del rows[f][step.stored :]
            n[f, [c for c in range(n_classes) if c not in rows[f]]] = 0
    return Model(n, N, met)


@settings(max_examples=80)
@given(problem=tied_problems(VALUES), step=st.sampled_from(STEPS))
def test_float64_counts_equal_the_dense_reference(problem, step, assert_sound):
    model, expected = train(problem, step), train_densely(problem, step)
    assert_sound(model.rows)
    np.testing.assert_allclose(model.counts, expected.counts, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.totals, expected.totals, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.met, expected.met)


@settings(max_examples=80)
@given(problem=tied_problems(VALUES), step=st.sampled_from(STEPS))
def test_float32_counts_equal_a_reference_that_stores_float32(problem, step, assert_sound):
    model, expected = train(problem, step, np.float32), train_densely(problem, step, np.float32)
    assert_sound(model.rows)
    np.testing.assert_array_equal(model.counts, expected.counts)


@settings(max_examples=60)
@given(problem=tied_problems(VALUES, most_labels=3), step=st.sampled_from(STEPS))
def test_several_labels_or_none_per_row_match_the_dense_reference(problem, step, assert_sound):
    model, expected = train(problem, step), train_densely(problem, step)
    assert_sound(model.rows)
    np.testing.assert_allclose(model.counts, expected.counts, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.totals, expected.totals, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.met, expected.met)


def test_labels_below_the_margin_are_counted():
    x = np.eye(2, dtype=np.float32)[[0, 0, 0]]
    problem = Problem(x, np.zeros(3, np.int32), np.arange(3), 3, [[0], [0, 2], [0, 2]])
    model = train(problem, ALWAYS._replace(margin=0.6))
    assert model.counts[0].tolist() == [2, 0, 2]  # 0 leads by 1 at the second; both lead by 1/2 at the third
    assert model.totals.tolist() == [4, 0]


@settings(max_examples=40)
@given(problem=tied_problems(VALUES, most_labels=2), step=st.sampled_from(STEPS))
def test_an_arena_that_must_grow_gives_identical_weights(problem, step):
    tiny, ample = (train(problem, step, np.float32, n_edges) for n_edges in (2, 10_000))
    np.testing.assert_array_equal(tiny.counts, ample.counts)
    np.testing.assert_array_equal(tiny.met, ample.met)


@settings(max_examples=40)
@given(problem=free_problems, step=st.sampled_from(STEPS), seed=st.integers(0, 2**32 - 1))
def test_permuted_features_and_classes_give_permuted_counts(problem, step, seed):
    step = step._replace(degree=MOST_EDGES, stored=MOST_EDGES)  # ties at the degree limit depend on the update history
    rng = np.random.default_rng(seed)
    features, classes = rng.permutation(problem.X.shape[1]), rng.permutation(problem.n_classes)
    y = np.argsort(classes).astype(np.int32)[problem.y]
    permuted = Problem(problem.X[:, features], y, problem.order, problem.n_classes)
    n, m = train(problem, step).counts, train(permuted, step).counts
    np.testing.assert_allclose(m, n[features][:, classes], rtol=1e-9, atol=1e-9)


@settings(max_examples=60)
@given(problem=free_problems | tied_problems(VALUES, most_labels=2), step=st.sampled_from(STEPS))
def test_shares_sum_to_at_most_one_and_none_is_below_the_minimum(problem, step):
    model = train(problem, step)
    known = model.totals > 0
    shares = model.counts[known] / model.totals[known, None]
    assert np.all(shares.sum(axis=1) <= 1 + 1e-12)
    assert np.all(shares[shares > 0] >= step.least * (1 - 1e-12))
    if step.least == 0 and step.stored == MOST_EDGES:
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    if step.least > 0:
        assert model.rows.length.max(initial=0) <= 1 / step.least


@settings(max_examples=40)
@given(problem=free_problems, seed=st.integers(0, 2**32 - 1))
def test_shares_are_class_frequencies_in_any_order_if_all_instances_count(problem, seed):
    order = np.random.default_rng(seed).permutation(problem.order)
    one, two = (train(Problem(problem.X, problem.y, o, problem.n_classes), ALWAYS) for o in (problem.order, order))
    np.testing.assert_allclose(one.counts, two.counts, rtol=1e-12)
    expected = problem.X.T.astype(np.float64) @ (problem.y[:, None] == np.arange(problem.n_classes))
    np.testing.assert_allclose(one.counts / one.totals[:, None], expected / expected.sum(axis=1, keepdims=True))


@settings(max_examples=40)
@given(problem=free_problems, degree=st.integers(1, 5), step=st.sampled_from(STEPS))
def test_rows_with_a_degree_limit_are_sorted_by_decreasing_weight(problem, degree, step):
    rows = train(problem, step._replace(degree=degree), np.float32).rows
    for start, length in zip(rows.start.tolist(), rows.length.tolist(), strict=True):
        assert np.all(np.diff(rows.weights[start : start + length]) <= 0)


def test_without_a_margin_the_first_instance_mistakes_and_ties_count():
    x = np.ones((2, 1), np.float32)
    problem = Problem(x, np.array([0, 1], np.int32), np.array([0, 0, 1, 1, 1]), 2)
    assert train(problem, ALWAYS._replace(margin=0.0)).counts.tolist() == [[1, 2]]  # known; mistake; tie; then known


def test_a_feature_is_counted_once_per_instance_in_counting_passes_only():
    x = np.ones((1, 2), np.float32)
    problem = Problem(x, np.zeros(1, np.int32), np.zeros(7, np.int64), 2)
    assert train(problem, ALWAYS._replace(margin=0.0)).met.tolist() == [7, 7]
    assert train(problem, ALWAYS._replace(meets=False)).met.tolist() == [0, 0]


def test_the_vote_of_a_new_feature_grows_with_its_number_of_occurrences():
    assert [vote(2.0, met, 4) for met in (0, 1, 4, 9)] == [0, 0.125, 0.5, 0.5]
    assert vote(2.0, 0, 0) == 0.5
    assert vote(0.0, 3, 4) == 0
