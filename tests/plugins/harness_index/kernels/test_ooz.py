"""OOZ training does what a dense reference does, and keeps what is proved of it: bounded weights, shrinking slack."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from harness.sdk.kernels.arrays import frozen
from harness.sdk.kernels.compiling import helper
from harness.sdk.kernels.instances import Labels, as_instances
from harness.sdk.kernels.rows import MOST_EDGES, Rows, append, empty_rows, enlarge
from harness.sdk.kernels.touched import empty_space
from harness_index.kernels.ooz import EXACT, LEVEL, SHARED, OOZStep, spread_losses, update_ooz
from harness_prototype import BoundedPerceptron

update64 = helper()(update_ooz.py_func)
"""The same source, compiled for weights of float64."""

SMALLEST = 5e-324
NEW = OOZStep(0.5, 0.1, True, False, SHARED, SMALLEST, MOST_EDGES, MOST_EDGES, 0.0, False, False)
OLD = NEW._replace(free_first=True)
STEPS = [
    NEW,
    OLD,
    NEW._replace(reading=LEVEL),
    NEW._replace(reading=EXACT, rate=0.3),
    OLD._replace(reading=LEVEL, degree=2),
    OLD._replace(reading=EXACT, lower_rate=False),
    NEW._replace(margin=2.0, rate=0.7, least=0.01),
    NEW._replace(lower_rate=False, degree=1),
    NEW._replace(lower_rate=False, rate=0.6),
    NEW._replace(degree=2, stored=2),
    OLD._replace(degree=1, stored=1, least=0.01),
    NEW._replace(third_source=True, margin=1.0, rate=0.4),
    OLD._replace(third_source=True, reading=LEVEL, least=0.01),
    NEW._replace(least=0.03, transfers=True),
    OLD._replace(least=0.03, transfers=True, third_source=True, rate=0.4),
    NEW._replace(extra=1.0, rate=0.6, margin=2.0),
    OLD._replace(extra=1.0, rate=0.6, margin=2.0),
]
VALUES = st.sampled_from([0.0, 0.0, 0.0, 1.0, 0.5, 0.25, 2.0, 1e-20, 0.1])


@dataclass(frozen=True)
class Problem:
    X: np.ndarray
    truths: list[list[int]]
    order: np.ndarray
    n_classes: int
    k: int = 15
    budget: float = 1.0

    @property
    def labels(self) -> Labels:
        classes = np.array([c for truth in self.truths for c in truth])
        return Labels(frozen(np.cumsum([0, *map(len, self.truths)]), np.int64), frozen(classes, np.int32))


@dataclass
class Model:
    """What training leaves: the weights, and the free sources."""

    W: np.ndarray
    free: np.ndarray
    rows: Rows | None = field(default=None, repr=False)


@st.composite
def tied_problems(draw, most_labels: int = 1):
    """Few values, so many ties and zero rows; some classes never occur, some instances come twice or not at all."""
    n, n_features, n_classes = draw(st.integers(1, 8)), draw(st.integers(1, 5)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.float32, (n, n_features), elements=VALUES.map(lambda x: float(np.float32(x)))))
    truth = st.lists(st.integers(0, n_classes - 1), min_size=most_labels == 1, max_size=most_labels, unique=True)
    order = draw(hnp.arrays(np.int64, st.integers(0, 25), elements=st.integers(0, n - 1)))
    k = draw(st.sampled_from([0, 1, 2, 15]))
    return Problem(X, draw(st.lists(truth, min_size=n, max_size=n)), order, n_classes, k)


def free_problem(seed: int, n: int = 30, n_features: int = 12, n_classes: int = 6) -> Problem:
    """No ties but those at the start; rows of length 1 at most."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.6)
    X[:, 0] += rng.random(n)
    X /= np.linalg.norm(X, axis=1, keepdims=True) * (1 + 1e-6)
    return Problem(X.astype(np.float32), [[c] for c in rng.integers(0, n_classes, n).tolist()], rng.permutation(n), 6)


free_problems = st.builds(free_problem, st.integers(0, 2**32 - 1))


def train(
    problem: Problem, step: OOZStep, dtype: type = np.float64, start: Model | None = None, n_edges: int = 2
) -> Model:
    n_features = problem.X.shape[1]
    rows, free = empty_rows(n_features, n_edges, dtype), np.full(n_features, problem.budget)
    if start is not None:
        rows, free = loaded(start.W), start.free.copy()
    kernel = update_ooz if dtype == np.float32 else update64
    space, losses = empty_space(problem.n_classes), np.zeros(problem.n_classes)
    chosen, order = np.empty(problem.k, np.int32), problem.order
    rest = as_instances(problem.X), problem.labels
    while (done := kernel(rows, free, *rest, order, space, losses, chosen, step)) < order.size:
        rows, order = enlarge(rows), order[done:]
    assert not space.scores.any()
    assert not losses.any()
    return Model(spread_out(rows, problem.n_classes), free, rows)


def spread_out(rows: Rows, n_classes: int) -> np.ndarray:
    W = np.zeros((rows.start.size, n_classes), rows.weights.dtype)
    for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
        W[f, rows.classes[start : start + length]] = rows.weights[start : start + length]
    return W


def loaded(W: np.ndarray) -> Rows:
    """An index with these weights, heaviest first."""
    rows = empty_rows(W.shape[0], 8 * W.size + 100, np.float64)
    for f in range(W.shape[0]):
        for c in np.argsort(-W[f], kind="stable"):
            if W[f, c]:
                append(rows, np.uint32(f), np.uint32(c), W[f, c])
    return rows


# -- the oracle: as the papers have it, with a matrix


def deductions(scores: list[float], budget: float, reading: int) -> list[float]:
    D, cum, m = [0.0] * len(scores), 0.0, len(scores)
    for i in range(m):
        rem = budget - cum
        if rem <= 0:
            break
        if i < m - 1:
            gap = scores[i] - scores[i + 1]
            rem = min(rem, (i + 1) * gap if reading == EXACT else gap)
        for j in range(i + 1):
            D[j] += rem if reading == LEVEL else rem / (i + 1)
        cum += rem
    return D


def grow(W_f: np.ndarray, row: list[int], gainers: list[int], boost: float, step: OOZStep) -> list[int]:
    """Give each gainer the boost; the classes that the row then keeps, heaviest first: no other has any weight."""
    for c in gainers:
        if c in row:
            W_f[c] = float(W_f[c]) + boost
        elif boost >= step.least:
            W_f[c] = boost
            row.append(c)
    row = sorted(row, key=lambda c: -W_f[c])[: step.stored]
    W_f[[c for c in range(W_f.size) if c not in row]] = 0
    return row


def train_densely(problem: Problem, step: OOZStep, dtype: type = np.float64) -> Model:
    n_features, n_classes = problem.X.shape[1], problem.n_classes
    W, free = np.zeros((n_features, n_classes), dtype), np.full(n_features, problem.budget)
    rows: list[list[int]] = [[] for _ in range(n_features)]  # the classes of each feature, heaviest first
    for i in problem.order:
        x, truth = problem.X[i].astype(np.float64), problem.truths[i]
        active = np.flatnonzero(x > 0)
        if not truth or not active.size:
            continue
        s = np.zeros(n_classes)
        for f in active:
            for c in rows[f][: step.degree]:
                s[c] += x[f] * float(W[f, c])
        y = min(truth, key=lambda c: (-s[c], c))
        negatives = [c for c in range(n_classes) if c not in truth]
        z = step.margin - (s[y] - max([0.0, *s[negatives]]))
        if z <= 0:
            continue
        b = min(step.rate, z / (2 * max(1.0, sum(v * v for v in x[active].tolist())))) if step.lower_rate else step.rate
        gainers = [y] if s[y] > 0 else truth
        reach = {f: max(0.0, free[f] + step.extra * (len(truth) - 1)) for f in active}
        t = {f: min(reach[f], x[f] * b) if step.free_first else 0.0 for f in active}
        g = sum(x[f] * t[f] for f in active)
        rivals = [c for c in negatives if s[c] > 0 and s[c] > s[y] + g - step.margin]
        rivals = sorted(rivals, key=lambda c: (-s[c], c))[: problem.k]
        budget = min(b, z) - g if step.free_first else b
        D = dict(zip(rivals, deductions([s[c] for c in rivals], budget, step.reading), strict=True))
        for f in active:
            h = {c: min(float(W[f, c]), x[f] * D[c]) for c in rows[f] if c in D}
            total, most = sum(h.values()), x[f] * b - t[f]
            share = 1.0 if total <= most * (1 + 1e-12) else most / total
            for c, loss in h.items():
                W[f, c] = float(W[f, c]) - share * loss
            if not step.free_first:
                t[f] = min(reach[f], max(0.0, x[f] * b - share * total))
            free[f] -= t[f]
            gained = t[f] + share * total
            others = [c for c in rows[f] if c not in truth and D.get(c, 0.0) == 0]
            missing, held = x[f] * b - gained, sum(float(W[f, c]) for c in others)
            if step.third_source and missing > 0 and held > 0:
                for c in others:
                    W[f, c] = float(W[f, c]) * (1 - min(1.0, missing / held))
                gained += min(missing, held)
            if step.transfers:
                gained += sum(float(W[f, c]) for c in rows[f] if W[f, c] < step.least and c not in gainers)
            boost = gained / len(gainers)
            rows[f] = grow(W[f], [c for c in rows[f] if W[f, c] >= step.least], gainers, boost, step)
    return Model(W, free)


# -- the kernel is the oracle


@settings(max_examples=100)
@given(problem=tied_problems(), step=st.sampled_from(STEPS))
def test_float64_weights_are_those_of_the_dense_reference(problem, step, assert_sound):
    model, expected = train(problem, step), train_densely(problem, step)
    assert_sound(model.rows)
    np.testing.assert_allclose(model.W, expected.W, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.free, expected.free, rtol=1e-12, atol=1e-12)


@settings(max_examples=60)
@given(problem=tied_problems(most_labels=3), step=st.sampled_from(STEPS))
def test_several_labels_or_none_give_what_the_dense_reference_gives(problem, step, assert_sound):
    model, expected = train(problem, step), train_densely(problem, step)
    assert_sound(model.rows)
    np.testing.assert_allclose(model.W, expected.W, rtol=1e-12, atol=1e-12)


@settings(max_examples=40, derandomize=True)  # rounding may settle a near tie otherwise, once in a while
@given(problem=free_problems, step=st.sampled_from(STEPS))
def test_shipped_weights_are_those_of_float64_to_the_precision_of_float32(problem, step):
    np.testing.assert_allclose(train(problem, step, np.float32).W, train_densely(problem, step).W, rtol=1e-3, atol=1e-4)


@settings(max_examples=40)
@given(problem=tied_problems() | free_problems, step=st.sampled_from(STEPS))
def test_an_arena_that_must_grow_gives_the_same_bits(problem, step):
    tiny, ample = (train(problem, step, np.float32, n_edges=n_edges) for n_edges in (2, 10_000))
    np.testing.assert_array_equal(tiny.W, ample.W)
    np.testing.assert_array_equal(tiny.free, ample.free)


@settings(max_examples=40)
@given(problem=free_problems, degree=st.integers(1, 5), step=st.sampled_from(STEPS))
def test_rows_with_a_degree_limit_are_in_decreasing_order(problem, degree, step):
    rows = train(problem, step._replace(degree=degree), np.float32).rows
    for start, length in zip(rows.start.tolist(), rows.length.tolist(), strict=True):
        assert np.all(np.diff(rows.weights[start : start + length]) <= 0)


# -- what is proved of it, for ||x|| <= 1


@settings(max_examples=60)
@given(problem=free_problems, step=st.sampled_from(STEPS), budget=st.sampled_from([1.0, 0.25]))
def test_weights_are_not_negative_and_with_the_free_source_never_exceed_the_budget(problem, step, budget):
    problem = Problem(problem.X, problem.truths, problem.order, problem.n_classes, budget=budget)
    model = train(problem, step)
    assert model.W.min() >= 0
    assert model.free.min() >= 0
    held = model.W.sum(axis=1) + model.free
    assert np.all(held <= budget * (1 + 1e-12))
    if step.least == SMALLEST and step.stored == MOST_EDGES:
        np.testing.assert_allclose(held, budget, rtol=1e-12)


def random_update(seed: int, step: OOZStep) -> tuple[Model, Model, np.ndarray, int]:
    """A model within its budget, the same after one instance of length 1, the instance and its class."""
    rng = np.random.default_rng(seed)
    W = rng.random((6, 5)) ** 3 * (rng.random((6, 5)) < 0.6)
    W *= rng.random((6, 1)) / np.maximum(W.sum(axis=1, keepdims=True), 1)
    before = Model(W, 1 - W.sum(axis=1))
    x = rng.random(6) * (rng.random(6) < 0.6)
    x[rng.integers(6)] += 0.3
    x = (x / np.linalg.norm(x) / (1 + 1e-6)).astype(np.float32)
    y = int(rng.integers(5))
    problem = Problem(x[None], [[y]], np.zeros(1, np.int64), 5, int(rng.integers(1, 5)))
    return before, train(problem, step, start=before), x.astype(np.float64), y


def slack(model: Model, x: np.ndarray, y: int, margin: float) -> float:
    s = x @ model.W
    return margin - s[y] + max(0.0, *np.delete(s, y))


FULL = [step for step in STEPS if step.degree == MOST_EDGES and step.least == SMALLEST]


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), step=st.sampled_from(FULL))
def test_an_update_changes_active_rows_only_and_in_few_columns(seed, step):
    before, after, x, y = random_update(seed, step)
    moved = after.W - before.W
    assert not moved[x == 0].any()
    assert np.all(np.delete(moved, y, axis=1) <= 0)
    assert np.all(moved[:, y] >= 0)


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), step=st.sampled_from([s for s in FULL if s.lower_rate]))
def test_the_slack_shrinks_by_at_most_twice_the_rate_and_never_below_zero(seed, step):
    before, after, x, y = random_update(seed, step)
    z, z_after = slack(before, x, y, step.margin), slack(after, x, y, step.margin)
    if z <= 0:
        np.testing.assert_array_equal(after.W, before.W)
        return
    b = min(step.rate, z / 2)
    s, s_after = x @ before.W, x @ after.W
    assert -1e-12 <= s_after[y] - s[y] <= b + 1e-12
    assert np.all(np.delete(s_after - s, y) <= 1e-12)
    assert -1e-12 <= z_after < z  # within the budget an update is never in vain
    assert z - z_after <= 2 * b + 1e-12
    moved = after.W - before.W
    assert np.all(np.abs(moved) <= b * x[:, None] + 1e-12)
    assert np.linalg.norm(moved[:, y]) <= b + 1e-12
    assert np.linalg.norm(moved) <= np.sqrt(2) * b + 1e-12


@settings(max_examples=40)
@given(problem=free_problems, step=st.sampled_from(STEPS), power=st.integers(-4, 4))
def test_margin_rate_and_budget_scale_together(problem, step, power):
    a = 2.0**power
    least = step.least if step.least == SMALLEST else a * step.least
    scaled = step._replace(margin=a * step.margin, rate=a * step.rate, least=least)
    richer = Problem(problem.X, problem.truths, problem.order, problem.n_classes, budget=a)
    np.testing.assert_allclose(train(richer, scaled).W, a * train(problem, step).W, rtol=1e-12)


@settings(max_examples=40)
@given(problem=free_problems, step=st.sampled_from(FULL), seed=st.integers(0, 2**32 - 1))
def test_permuted_features_and_classes_give_permuted_weights(problem, step, seed):
    rng = np.random.default_rng(seed)
    features, classes = rng.permutation(problem.X.shape[1]), rng.permutation(problem.n_classes)
    places = np.argsort(classes)
    truths = [[int(places[c]) for c in truth] for truth in problem.truths]
    permuted = Problem(problem.X[:, features], truths, problem.order, problem.n_classes)
    W, V = train(problem, step).W, train(permuted, step).W
    np.testing.assert_allclose(V, W[features][:, classes], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("step", [NEW, OLD])
def test_one_class_alone_grows_by_the_rate_until_the_margin_is_met(step):
    x = np.array([[0.6, 0.8]], np.float32)
    once, often = (train(Problem(x, [[2]], np.zeros(n, np.int64), 3), step) for n in (1, 50))
    np.testing.assert_allclose(once.W[:, 2], 0.1 * x[0], rtol=1e-6)
    assert x[0] @ often.W[:, 2] == pytest.approx(0.5, abs=1e-6)
    assert not np.delete(often.W, 2, axis=1).any()


@settings(max_examples=100)
@given(
    scores=st.lists(st.sampled_from([0.4, 0.3, 0.25, 0.1, 0.05]), min_size=1, max_size=6),
    budget=st.sampled_from([0.01, 0.15, 0.5]),
)
def test_what_rivals_lose_is_the_budget_and_more_for_better_ones(scores, budget):
    s = np.array(sorted(scores, reverse=True))
    rivals = np.arange(s.size, dtype=np.int32)
    for reading in (SHARED, LEVEL, EXACT):
        D = np.zeros(s.size)
        spread_losses(s, rivals, budget, reading, D)
        assert np.all(np.diff(D) <= 1e-15)
        assert np.all(D[s <= s[0] - budget] == 0) or s.size == 1
        assert D[0] <= budget * (1 + 1e-12)
        if reading != LEVEL:
            assert D.sum() == pytest.approx(budget, rel=1e-12)


def test_the_worked_example_is_level():
    s, D = np.array([0.4, 0.3, 0.1]), np.zeros(3)
    spread_losses(s, np.arange(3, dtype=np.int32), 0.15, LEVEL, D)
    np.testing.assert_allclose(D, [0.15, 0.05, 0.0], atol=1e-12)


def test_exact_water_filling_ends_in_ties():
    s, D = np.array([0.5, 0.4, 0.35, 0.0]), np.zeros(4)
    spread_losses(s, np.arange(4, dtype=np.int32), 0.3, EXACT, D)
    np.testing.assert_allclose((s - D)[:3], (s - D)[0], atol=1e-12)


def test_of_several_labels_the_best_gains_and_all_alike_where_none_has_a_score():
    x = np.array([[1.0]], np.float32)
    first = train(Problem(x, [[0, 2]], np.zeros(1, np.int64), 3), NEW)
    np.testing.assert_allclose(first.W, [[0.05, 0, 0.05]], rtol=1e-6)
    again = train(
        Problem(x, [[0, 2]], np.zeros(1, np.int64), 3), NEW, start=Model(np.array([[0.1, 0, 0.2]]), np.ones(1))
    )
    np.testing.assert_allclose(again.W, [[0.1, 0, 0.3]], rtol=1e-6)


# -- what the papers leave to be tried


def test_the_third_source_gives_what_is_still_missing_in_proportion():
    x = np.array([[0.6, 0.8]], np.float32)
    start = Model(np.array([[0, 0.9, 0, 0], [0, 0, 0.2, 0.1]]), np.zeros(2))
    problem = Problem(x, [[0]], np.zeros(1, np.int64), 4, k=1)
    two, three = (train(problem, NEW._replace(third_source=third), start=start) for third in (False, True))
    np.testing.assert_allclose(two.W, [[0.06, 0.84, 0, 0], [0, 0, 0.2, 0.1]], rtol=1e-6)
    np.testing.assert_allclose(three.W, [[0.06, 0.84, 0, 0], [0.08, 0, 0.44 / 3, 0.22 / 3]], rtol=1e-6)


def test_of_several_labels_none_is_a_third_source():
    start = Model(np.array([[0.3, 0.2, 0.1]]), np.zeros(1))
    problem = Problem(np.ones((1, 1), np.float32), [[0, 1]], np.zeros(1, np.int64), 3, k=0)
    model = train(problem, NEW._replace(third_source=True, rate=0.04), start=start)
    np.testing.assert_allclose(model.W, [[0.34, 0.2, 0.06]], rtol=1e-6)


@settings(max_examples=60)
@given(problem=tied_problems(most_labels=3), step=st.sampled_from([s for s in STEPS if s.extra]))
def test_with_a_source_for_each_label_weights_sum_to_that_many_budgets_at_most(problem, step):
    model = train(problem, step)
    most = np.ones(problem.X.shape[1])
    for i in problem.order:
        active = problem.X[i] > 0
        most[active] = np.maximum(most[active], len(problem.truths[i]))
    assert np.all(model.W.sum(axis=1) <= most + 1e-9)
    np.testing.assert_allclose(model.W.sum(axis=1) + model.free, 1, atol=1e-9)


@pytest.mark.parametrize("step", [NEW, OLD])
def test_one_label_cannot_reach_the_source_of_a_second(step):
    eager = step._replace(extra=1.0, rate=0.7, margin=5.0, lower_rate=False)
    x = np.ones((2, 1), np.float32)
    full = train(Problem(x, [[0, 1], [2]], np.zeros(9, np.int64), 3, k=0), eager)
    assert full.W.sum() == pytest.approx(2)
    assert full.free.tolist() == pytest.approx([-1])
    later = train(Problem(x, [[0, 1], [2]], np.array([0] * 9 + [1]), 3, k=0), eager)
    np.testing.assert_array_equal(later.W, full.W)


def test_what_light_edges_held_goes_to_the_true_class_when_told_so():
    start = Model(np.array([[0.2, 0.11, 0.0]]), np.zeros(1))
    problem = Problem(np.ones((1, 1), np.float32), [[0]], np.zeros(1, np.int64), 3)
    lost, given = (train(problem, NEW._replace(least=0.05, transfers=told), start=start) for told in (False, True))
    np.testing.assert_allclose(lost.W, [[0.3, 0, 0]], rtol=1e-6)  # 0.1 was shifted, 0.01 was left
    np.testing.assert_allclose(given.W, [[0.31, 0, 0]], rtol=1e-6)


# -- two classes, where OOZ is the weight-bounded perceptron of the convergence proof, and many, where there is none

TIES_ALONE = NEW._replace(margin=1e-9, rate=0.125, lower_rate=False)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_with_two_classes_and_no_free_source_it_is_the_weight_bounded_perceptron(seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 0.5, 1.0, 2.0], (12, 5)).astype(np.float32)
    y, order = rng.integers(0, 2, 12), rng.integers(0, 12, 40)
    problem = Problem(X, [[c] for c in y.tolist()], order, 2)
    model = train(problem, TIES_ALONE, start=Model(np.full((5, 2), 0.5), np.zeros(5)))
    bounded = BoundedPerceptron(beta=0.125).partial_fit(X[order], y[order], classes=[0, 1])
    np.testing.assert_array_equal(model.W, 0.5 + spread_out(bounded.rows_, 2))


@pytest.mark.parametrize("rate", [0.1, 0.01, 0.001])
def test_with_many_classes_an_update_may_lead_away_from_what_separates(rate):
    """The paper's counter-example: the row that knows the rival gives y what it should not have."""
    n_classes = 47
    target, W = np.zeros((2, n_classes)), np.zeros((2, n_classes))
    target[0, 1], target[0, 2:] = 0.1, 0.02
    target[1, :2] = 0.9, 0.1
    W[0, :2], W[1, 2:12] = 0.5, 0.1
    np.testing.assert_allclose([target.sum(axis=1), W.sum(axis=1)], 1)
    x = np.ones((1, 2), np.float32)
    problem = Problem(x, [[0]], np.zeros(1, np.int64), n_classes, k=1)
    after = train(problem, TIES_ALONE._replace(rate=rate), start=Model(W, np.zeros(2))).W
    np.testing.assert_allclose(after[0, :2], [0.5 + rate, 0.5 - rate])
    np.testing.assert_array_equal(after[1], W[1])
    grown = np.sum((after - target) ** 2) - np.sum((W - target) ** 2)
    assert grown == pytest.approx(0.2 * rate + 2 * rate**2)
