"""Options that the papers suggest, each in a small example; and OOZ for two classes and for many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_prototype import BoundedPerceptron
from ooz_problems import NEW, OLD, Model, Problem, free_problems, spread_out, tied_problems, train


@settings(max_examples=40)
@given(problem=free_problems, stored=st.integers(1, 4), step=st.sampled_from([NEW, OLD]))
def test_with_keep_scored_a_row_has_no_unscored_edges(problem, stored, step):
    rows = train(problem, step._replace(degree=stored, stored=stored)).rows
    assert rows.length.max() <= stored


def test_the_lightest_edge_is_dropped_first():
    start = Model(np.array([[0.0, 0.5, 0.2]]), np.array([0.3]))
    problem = Problem(np.ones((1, 1), np.float32), [[0]], np.zeros(1, np.int64), 3, k=0)
    full, cut = (train(problem, NEW._replace(degree=2, stored=stored), start=start) for stored in (3, 2))
    np.testing.assert_allclose(full.W, [[0.1, 0.5, 0.2]], rtol=1e-6)
    np.testing.assert_allclose(cut.W, [[0.0, 0.5, 0.2]], rtol=1e-6)
    np.testing.assert_allclose(cut.free, full.free)


GENEROUS = [step._replace(extra=1.0, rate=0.6, margin=2.0) for step in (NEW, OLD)]
"""With a source for each label."""

# -- what the papers leave to be tried


def test_the_third_source_gives_the_remainder_in_proportion():
    x = np.array([[0.6, 0.8]], np.float32)
    start = Model(np.array([[0, 0.9, 0, 0], [0, 0, 0.2, 0.1]]), np.zeros(2))
    problem = Problem(x, [[0]], np.zeros(1, np.int64), 4, k=1)
    two, three = (train(problem, NEW._replace(third_source=third), start=start) for third in (False, True))
    np.testing.assert_allclose(two.W, [[0.06, 0.84, 0, 0], [0, 0, 0.2, 0.1]], rtol=1e-6)
    np.testing.assert_allclose(three.W, [[0.06, 0.84, 0, 0], [0.08, 0, 0.44 / 3, 0.22 / 3]], rtol=1e-6)


def test_no_true_label_is_a_third_source():
    start = Model(np.array([[0.3, 0.2, 0.1]]), np.zeros(1))
    problem = Problem(np.ones((1, 1), np.float32), [[0, 1]], np.zeros(1, np.int64), 3, k=0)
    model = train(problem, NEW._replace(third_source=True, rate=0.04), start=start)
    np.testing.assert_allclose(model.W, [[0.34, 0.2, 0.06]], rtol=1e-6)


@settings(max_examples=60)
@given(
    problem=tied_problems(most_labels=3),
    step=st.sampled_from([step._replace(extra=1.0, rate=0.6, margin=2.0) for step in (NEW, OLD)]),
)
def test_with_a_source_per_label_weights_sum_to_at_most_that_many_budgets(problem, step):
    model = train(problem, step)
    most = np.ones(problem.X.shape[1])
    for i in problem.order:
        active = problem.X[i] > 0
        most[active] = np.maximum(most[active], len(problem.truths[i]))
    assert np.all(model.W.sum(axis=1) <= most + 1e-9)
    np.testing.assert_allclose(model.W.sum(axis=1) + model.free, 1, atol=1e-9)


@pytest.mark.parametrize("step", [NEW, OLD])
def test_one_label_cannot_use_the_source_of_a_second(step):
    eager = step._replace(extra=1.0, rate=0.7, margin=5.0, lower_rate=False)
    x = np.ones((2, 1), np.float32)
    full = train(Problem(x, [[0, 1], [2]], np.zeros(9, np.int64), 3, k=0), eager)
    assert full.W.sum() == pytest.approx(2)
    assert full.free.tolist() == pytest.approx([-1])
    later = train(Problem(x, [[0, 1], [2]], np.array([0] * 9 + [1]), 3, k=0), eager)
    np.testing.assert_array_equal(later.W, full.W)


def test_weight_of_dropped_edges_goes_to_the_true_class_on_request():
    start = Model(np.array([[0.2, 0.11, 0.0]]), np.zeros(1))
    problem = Problem(np.ones((1, 1), np.float32), [[0]], np.zeros(1, np.int64), 3)
    lost, given = (train(problem, NEW._replace(least=0.05, transfers=moves), start=start) for moves in (False, True))
    np.testing.assert_allclose(lost.W, [[0.3, 0, 0]], rtol=1e-6)  # 0.1 was shifted, 0.01 was left
    np.testing.assert_allclose(given.W, [[0.31, 0, 0]], rtol=1e-6)


# -- two classes, where OOZ is the weight-bounded perceptron of the convergence proof, and many, where there is none

TIES_ALONE = NEW._replace(margin=1e-9, rate=0.125, lower_rate=False)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_with_two_classes_and_no_free_source_ooz_is_the_weight_bounded_perceptron(seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 0.5, 1.0, 2.0], (12, 5)).astype(np.float32)
    y, order = rng.integers(0, 2, 12), rng.integers(0, 12, 40)
    problem = Problem(X, [[c] for c in y.tolist()], order, 2)
    model = train(problem, TIES_ALONE, start=Model(np.full((5, 2), 0.5), np.zeros(5)))
    bounded = BoundedPerceptron(beta=0.125).partial_fit(X[order], y[order], classes=[0, 1])
    np.testing.assert_array_equal(model.W, 0.5 + spread_out(bounded.rows_, 2))


@pytest.mark.parametrize("rate", [0.1, 0.01, 0.001])
def test_with_many_classes_an_update_may_move_away_from_a_separating_solution(rate):
    """Check the paper's counter-example: the row that knows the competitor gives weight to the wrong class."""
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
