"""Crammer and Singer's machine: the closed form for one instance's duals, held against the problem that it solves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from harness.sdk.kernels.rows import empty_rows
from harness_svm.kernels.flat_sweeps import find_level, sweep_flat
from harness_svm.kernels.structured import IDLE
from svm_definitions import Structured, flat_hierarchy, random_rows
from svm_sweeps import Sweeps

seeds = st.integers(0, 2**32 - 1)
heights = st.lists(st.floats(-5, 5), min_size=1, max_size=9)


def problem(seed: int, C: float = 1.0, n_classes: int = 7) -> Structured:
    return Structured(*random_rows(seed, 12, 5, n_classes), flat_hierarchy(n_classes), C, False)


def best_duals(task: Structured, b: np.ndarray, i: int) -> np.ndarray:
    """The duals of row i that make the objective largest while all others stay: water filling, by bisection.

    At the optimum all classes with a dual have the same gradient, nobody a larger one, and it is 0 unless C is used up.
    With all of them at v, the dual of c is how far its gradient without any dual of this row exceeds what v leaves.
    """
    without = b.copy()
    without[i] = 0
    g, square = task.gradients(without)[i], float(task.X[i] @ task.X[i])

    def filled(level: float) -> np.ndarray:
        return np.maximum(0, g - level) / square

    def gradient(
        level: float,
    ) -> float:  # of those above the level: a dual lowers its own, and all lower all
        return level - square * filled(level).sum()

    top = max(g.max(), 0.0)
    level = brentq(gradient, 0.0, top, xtol=1e-14) if gradient(0.0) < 0 else 0.0
    if filled(level).sum() > task.C:
        level = brentq(lambda v: filled(v).sum() - task.C, g.max() - square * task.C - 1e-9, g.max(), xtol=1e-14)
    return filled(level)


@settings(max_examples=60)
@given(seed=seeds, C=st.sampled_from([0.05, 0.5, 20.0]))
def test_a_visit_gives_a_row_its_best_duals(seed, C):
    task = problem(seed, C)
    sweeps = Sweeps(task, sweep_flat, sparse=False, tolerance=1e-9)
    for i in np.random.default_rng(seed).permutation(np.repeat(np.arange(12), 2)):
        if not task.X[i].any():
            continue
        expected = best_duals(task, sweeps.b(), int(i))
        sweeps.assert_a_visit_is_by_the_definition(int(i))
        assert_allclose(sweeps.b()[i], expected, atol=1e-7 * max(1, C))
        assert task.violation(sweeps.b(), int(i)) <= 1e-6


@given(h=heights)
def test_the_level_is_as_high_as_all_that_is_above_it(h):
    heights = np.array(h)
    level = find_level(heights, np.arange(heights.size, dtype=np.uint32), np.uint32(heights.size), 0.0, -1.0)
    assert level >= 0
    assert level == pytest.approx(np.maximum(0, heights - level).sum(), abs=1e-9) or level == 0 >= heights.max()


@given(h=heights, budget=st.floats(0.01, 10))
def test_with_a_budget_that_much_is_above_the_level(h, budget):
    heights = np.array(h)
    start = heights.max() - budget  # not above the level: the highest alone would use the whole budget
    lowest = min(start, heights.min() - budget)
    level = find_level(heights, np.arange(heights.size, dtype=np.uint32), np.uint32(heights.size), lowest, budget)
    assert np.maximum(0, heights - level).sum() == pytest.approx(budget, abs=1e-9)


def test_only_members_count():
    members = np.array([2, 0, 1], np.uint32)
    assert find_level(np.array([3.0, 9.0, 5.0]), members, np.uint32(2), 0.0, -1.0) == pytest.approx((3 + 5) / 3)


def test_a_row_without_features_gives_all_of_c_to_some_other_class_and_moves_nothing():
    X, y = np.zeros((2, 3)), np.array([0, 1])
    sweeps = Sweeps(Structured(X, y, flat_hierarchy(3), 2.5, False), sweep_flat, sparse=False)
    assert sweeps.visit(0, 1, 0) == 3
    assert sweeps.b().tolist() == [[0, 2.5, 0], [2.5, 0, 0]]
    assert not sweeps.kept().any()
    assert sweeps.violations.tolist() == [0, 1]  # nothing was left to do the second time


@settings(max_examples=20)
@given(seed=seeds)
def test_a_row_that_is_near_its_optimum_rests(seed):
    sweeps = Sweeps(problem(seed), sweep_flat, sparse=False, tolerance=1e9)
    assert sweeps.visit(*range(12)) == 12
    assert not sweeps.b().any()
    assert not sweeps.kept().any()


@pytest.mark.parametrize(("tolerance", "moves"), [(0.9 / IDLE, True), (1.1 / IDLE, False)])
def test_a_row_rests_up_to_a_share_of_the_tolerance(tolerance, moves):
    sweeps = Sweeps(problem(0), sweep_flat, sparse=False, tolerance=tolerance)
    assert sweeps.visit(0) == 1
    assert sweeps.violations[0] == 1  # which is what a mistake costs, while all weights are 0
    assert sweeps.b().any() == moves


def test_at_most_fifty_classes_become_new_in_one_visit_and_the_best_is_among_them():
    task = problem(5, C=1e4, n_classes=80)
    sweeps = Sweeps(task, sweep_flat, sparse=False, tolerance=1e-9, room=20_000)
    best = int(np.argmax(task.gradients(sweeps.b())[0]))
    assert sweeps.visit(0) == 1
    assert np.count_nonzero(sweeps.b()[0]) == 50
    assert sweeps.b()[0, best] > 0
    sweeps.visit(0)
    assert np.count_nonzero(sweeps.b()[0]) == 79


def test_without_room_for_more_duals_it_stops_and_leaves_the_row_as_it_was():
    sweeps = Sweeps(problem(0), sweep_flat, sparse=False)
    sweeps.assert_a_row_without_room_is_left_as_it_was(empty_rows(12, 10, np.float64), duals=True)
