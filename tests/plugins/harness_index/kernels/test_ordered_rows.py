"""OOZ with rows of frequent features ordered by class is bit-identical to OOZ with plain rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from harness.sdk import Instances, Labels, as_instances, frozen
from harness_index import OOZ, many_classes
from harness_index.kernels.ooz import EXACT, SHARED, OOZStep, update_ooz
from internals import MOST_EDGES, Rows, as_edges, empty_rows, empty_space, enlarge, patch_internal
from problems import as_indicator, near_prototypes

SMALLEST = 5e-324
STEP = OOZStep(0.5, 0.1, True, False, SHARED, SMALLEST, 2, MOST_EDGES, 0.0, False, False)
STEPS = [
    STEP,
    STEP._replace(reading=EXACT, rate=0.3, degree=1),
    STEP._replace(lower_rate=False, degree=5),
    STEP._replace(margin=2.0, rate=0.7, least=0.01),
    STEP._replace(lower_rate=False, least=0.03, degree=3),
    STEP._replace(margin=0.1, rate=0.01, least=float(np.nextafter(0.001, 1)), degree=4),
]
PASSES = 3


@dataclass(frozen=True)
class Problem:
    instances: Instances = field(repr=False)
    labels: Labels = field(repr=False)
    n_features: int
    n_classes: int
    orders: list[np.ndarray] = field(repr=False)
    k: int


@st.composite
def problems(draw):
    """Draw rows of few distinct values, with many ties, or of many; features occur in few rows or in most."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_features, n_classes = draw(st.integers(3, 150)), draw(st.integers(1, 12)), draw(st.integers(20, 50))
    values = draw(st.sampled_from([np.array([1.0, 0.5, 0.25, 0.1]), np.array([1.0]), rng.random(60)]))
    X = rng.choice(values, (n, n_features)) * (rng.random((n, n_features)) < rng.random(n_features))
    if draw(st.booleans()):
        X /= np.maximum(1e-9, np.linalg.norm(X, axis=1, keepdims=True))
    y = rng.integers(0, n_classes, n).astype(np.int32)
    labels = Labels(frozen(np.arange(n + 1), np.int64), frozen(y, np.int32))
    orders = [rng.permutation(n) for _ in range(PASSES)]
    k = draw(st.sampled_from([0, 1, 3, 15]))
    return Problem(as_instances(X.astype(np.float32)), labels, n_features, n_classes, orders, k)


def learn_plainly(rows: Rows, free: np.ndarray, problem: Problem, order: np.ndarray, step: OOZStep) -> Rows:
    n_classes = problem.n_classes
    space, losses, chosen = empty_space(n_classes), np.zeros(n_classes), np.empty(problem.k, np.int32)
    data = problem.instances, problem.labels
    while (done := update_ooz(rows, free, *data, order, space, losses, chosen, step)) < order.size:
        rows, order = enlarge(rows), order[done:]
    return rows


def edges_of(rows: Rows) -> list[np.ndarray]:
    return [np.array(array) for array in as_edges(rows)]


@settings(max_examples=150, deadline=None)
@given(problem=problems(), step=st.sampled_from(STEPS))
def test_each_pass_gives_the_edges_of_plain_rows_in_the_same_order(problem, step):
    rows, free = empty_rows(problem.n_features, 2), np.ones(problem.n_features)
    others, sources = empty_rows(problem.n_features, 2), np.ones(problem.n_features)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many_classes, "LEAST_MET", 4)
        for order in problem.orders:
            rows = learn_plainly(rows, free, problem, order, step)
            given_labels = problem.instances, problem.labels, order, problem.n_classes, problem.k
            found = many_classes.learn_pass(others, sources, *given_labels, step)
            if found is None:  # no feature is frequent
                assert np.bincount(problem.instances.indices, minlength=1).max() < 4
                found = learn_plainly(others, sources, problem, order, step)
            others = found
            assert_array_equal(sources, free)
            for ours, theirs in zip(edges_of(others), edges_of(rows), strict=True):
                assert_array_equal(ours, theirs)


@pytest.fixture
def many(monkeypatch):
    """Lower the thresholds: 12 classes count as many, and a feature of three rows as frequent."""
    patch_internal(monkeypatch, "ranking.CACHED_CLASSES", 10)
    monkeypatch.setattr(many_classes, "LEAST_MET", 3)
    used = []
    real = many_classes.learn_pass
    monkeypatch.setattr(many_classes, "learn_pass", lambda *given: used.append(real(*given)) or used[-1])
    return used


def learn_both(monkeypatch, train) -> tuple[OOZ, OOZ]:
    """Return a learner trained with ordered rows, and one trained without."""
    ordered = train()
    monkeypatch.setattr(many_classes, "LEAST_MET", np.inf)
    return ordered, train()


def expect_same(ordered: OOZ, plain: OOZ) -> None:
    assert_array_equal(ordered.free_, plain.free_)
    for ours, theirs in zip(edges_of(ordered.rows_), edges_of(plain.rows_), strict=True):
        assert_array_equal(ours, theirs)


def positive_rows(n: int = 600) -> tuple[csr_array, np.ndarray]:
    X, y = near_prototypes(n=n)
    return abs(csr_array(X)), y


@pytest.mark.parametrize("changed", [{}, {"deduct": "exact"}, {"lower_rate": False}, {"shift": False}, {"w_min": 1e-3}])
def test_a_learner_with_many_classes_has_the_weights_and_ranks_of_plain_rows(many, monkeypatch, changed):
    X, y = positive_rows()
    ordered, plain = learn_both(monkeypatch, lambda: OOZ(d=2, passes=3, random_state=0, **changed).fit(X, y))
    assert [found is not None for found in many] == [True] * 3 + [False] * 3
    expect_same(ordered, plain)
    assert_array_equal(ordered.rank(X, 4), plain.rank(X, 4))


def test_batches_continue_from_ordered_rows(many, monkeypatch):
    X, y = positive_rows()

    def train():
        return OOZ(d=2).partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])

    expect_same(*learn_both(monkeypatch, train))
    assert [found is not None for found in many] == [True, True, False, False]


def test_rows_that_are_not_sorted_by_weight_are_not_ordered(many, monkeypatch):
    X, y = positive_rows()

    def train():
        learner = OOZ(d=None).partial_fit(X[:300], y[:300]).set_params(d=2)
        return learner.partial_fit(X[300:], y[300:])

    expect_same(*learn_both(monkeypatch, train))
    assert many == [None, None]


@pytest.mark.parametrize(
    "other",
    [
        {"variant": "2008"},
        {"deduct": "level"},
        {"third_source": True},
        {"dropped": "given"},
        {"keep": "scored"},
        {"d": None},
    ],
)
def test_other_rules_are_learned_with_plain_rows(many, other):
    X, y = positive_rows()
    OOZ(**{"d": 2, "passes": 1, **other}).fit(X, y)
    assert many == []


def test_a_degree_close_to_the_number_of_classes_is_learned_with_plain_rows(many):
    X, y = positive_rows()
    OOZ(d=4, passes=1).fit(X, y)
    assert many == [None]


def test_several_labels_are_learned_with_plain_rows(many):
    X, y = positive_rows()
    Y = as_indicator(y).tolil()
    Y[0], Y[1] = 0, 0
    Y[0, [1, 2]] = 1  # rows with two labels or none, as many labels as rows
    OOZ(d=2, passes=1).fit(X, Y.tocsr())
    assert many == []


def test_the_memory_limit_keeps_the_most_frequent_features():
    X = np.tril(np.ones((40, 12), np.float32), -20)[20:]  # feature f is in 20 - f rows
    found = many_classes.frequent_features(as_instances(X), 12, n_classes=100, degree=1)
    assert found.size == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many_classes, "LEAST_MET", 10)
        assert many_classes.frequent_features(as_instances(X), 12, 100, 1).tolist() == list(range(11))
        patch.setattr(many_classes, "MOST_MATRIX_BYTES", 8 * 100 * 4)
        assert many_classes.frequent_features(as_instances(X), 12, 100, 1).tolist() == list(range(4))
