"""Proved properties of OOZ for instances of length at most 1: bounded weights, shrinking slack, few mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_index.kernels.ooz import EXACT, LEVEL, SHARED, OOZStep, spread_losses
from internals import MOST_EDGES
from ooz_problems import NEW, OLD, SMALLEST, STEPS, Model, Problem, free_problems, train


@settings(max_examples=60)
@given(problem=free_problems, step=st.sampled_from(STEPS), budget=st.sampled_from([1.0, 0.25]))
def test_weights_are_not_negative_and_never_exceed_the_budget_with_the_free_source(problem, step, budget):
    problem = Problem(problem.X, problem.truths, problem.order, problem.n_classes, budget=budget)
    model = train(problem, step)
    assert model.W.min() >= 0
    assert model.free.min() >= 0
    held = model.W.sum(axis=1) + model.free
    assert np.all(held <= budget * (1 + 1e-12))
    if step.least == SMALLEST:
        np.testing.assert_allclose(held, budget, rtol=1e-12)


def random_update(seed: int, step: OOZStep) -> tuple[Model, Model, np.ndarray, int]:
    """Return a model within its budget, the model after one unit-length instance, the instance and its class."""
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
def test_an_update_changes_active_rows_only_and_few_columns(seed, step):
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
    assert -1e-12 <= z_after < z  # within the budget an update always reduces the slack
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
def test_a_single_class_grows_by_the_rate_until_the_margin_is_reached(step):
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
def test_competitors_lose_the_budget_and_better_ones_lose_more(scores, budget):
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


def test_the_worked_example_uses_the_level_rule():
    s, D = np.array([0.4, 0.3, 0.1]), np.zeros(3)
    spread_losses(s, np.arange(3, dtype=np.int32), 0.15, LEVEL, D)
    np.testing.assert_allclose(D, [0.15, 0.05, 0.0], atol=1e-12)


def test_exact_water_filling_ends_in_ties():
    s, D = np.array([0.5, 0.4, 0.35, 0.0]), np.zeros(4)
    spread_losses(s, np.arange(4, dtype=np.int32), 0.3, EXACT, D)
    np.testing.assert_allclose((s - D)[:3], (s - D)[0], atol=1e-12)


def test_the_best_of_several_labels_gains_or_all_equally_if_none_has_a_score():
    x = np.array([[1.0]], np.float32)
    first = train(Problem(x, [[0, 2]], np.zeros(1, np.int64), 3), NEW)
    np.testing.assert_allclose(first.W, [[0.05, 0, 0.05]], rtol=1e-6)
    again = train(
        Problem(x, [[0, 2]], np.zeros(1, np.int64), 3), NEW, start=Model(np.array([[0.1, 0, 0.2]]), np.ones(1))
    )
    np.testing.assert_allclose(again.W, [[0.1, 0, 0.3]], rtol=1e-6)


# -- two classes: the weight-bounded perceptron of the convergence proof


def test_the_bounded_perceptron_makes_no_more_mistakes_than_its_bound():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_features, beta, u = 8, 0.05, 3.0
        target = np.where(rng.random(n_features) < 0.5, rng.choice([0.0, 1.0], n_features), rng.random(n_features))
        X = rng.random((400, n_features)) * (rng.random((400, n_features)) < 0.5)
        X = X[X.any(axis=1)]
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        lead = X @ target - X @ (1 - target)
        X, first = X[np.abs(lead) >= u * beta], lead[np.abs(lead) >= u * beta] > 0
        w, mistakes = np.full(n_features, 0.5), 0
        for _ in range(3):
            for x, is_first in zip(X, first, strict=True):
                gap = x @ w - x @ (1 - w)
                if (gap if is_first else -gap) > 0:
                    continue
                before = np.sum((w - target) ** 2)
                w = w + np.minimum(beta * x, 1 - w) if is_first else w - np.minimum(beta * x, w)
                mistakes += 1
                assert before - np.sum((w - target) ** 2) >= (u - 1) * beta**2 - 1e-12
        assert np.all((w >= 0) & (w <= 1))
        assert mistakes <= np.sum((0.5 - target) ** 2) / ((u - 1) * beta**2) <= n_features / (4 * (u - 1) * beta**2)
