"""The closed form for one instance's duals in Crammer and Singer's machine, compared with its problem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from harness_svm.structured.kernels.flat_sweeps import find_level, sweep_flat
from harness_svm.structured.kernels.subproblem import IDLE
from internals import empty_rows
from svm_definitions import Structured, flat_hierarchy, random_rows
from svm_sweeps import Sweeps

seeds = st.integers(0, 2**32 - 1)
heights = st.lists(st.floats(-5, 5), min_size=1, max_size=9)


def problem(seed: int, C: float = 1.0, n_classes: int = 7) -> Structured:
    return Structured(*random_rows(seed, 12, 5, n_classes), flat_hierarchy(n_classes), C, False)


def best_duals(task: Structured, b: np.ndarray, i: int) -> np.ndarray:
    """Return the duals of row i that maximise the objective while all others are fixed.

    At the optimum all classes with a dual have the same gradient v, no class has a larger one, and v is 0 unless C is
    used up. The dual of class c is the excess of its gradient (without duals of this row) over v. Bisection finds v.
    """
    without = b.copy()
    without[i] = 0
    g, square = task.gradients(without)[i], float(task.X[i] @ task.X[i])

    def filled(level: float) -> np.ndarray:
        return np.maximum(0, g - level) / square

    def gradient(
        level: float,
    ) -> float:  # over classes above the level: a dual lowers its own gradient, and all duals lower all gradients
        return level - square * filled(level).sum()

    top = max(g.max(), 0.0)
    level = brentq(gradient, 0.0, top, xtol=1e-14) if gradient(0.0) < 0 else 0.0
    if filled(level).sum() > task.C:
        level = brentq(lambda v: filled(v).sum() - task.C, g.max() - square * task.C - 1e-9, g.max(), xtol=1e-14)
    return filled(level)


@settings(max_examples=60)
@given(seed=seeds, C=st.sampled_from([0.05, 0.5, 20.0]))
def test_a_visit_gives_a_row_its_optimal_duals(seed, C):
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
def test_the_level_equals_the_sum_of_the_excess_above_it(h):
    heights = np.array(h)
    level = find_level(heights, np.arange(heights.size, dtype=np.uint32), np.uint32(heights.size), 0.0, -1.0)
    assert level >= 0
    assert level == pytest.approx(np.maximum(0, heights - level).sum(), abs=1e-9) or level == 0 >= heights.max()


@given(h=heights, budget=st.floats(0.01, 10))
def test_with_a_budget_the_excess_above_the_level_is_the_budget(h, budget):
    heights = np.array(h)
    start = heights.max() - budget  # not above the level: the highest class alone would use the whole budget
    lowest = min(start, heights.min() - budget)
    level = find_level(heights, np.arange(heights.size, dtype=np.uint32), np.uint32(heights.size), lowest, budget)
    assert np.maximum(0, heights - level).sum() == pytest.approx(budget, abs=1e-9)


def test_only_members_determine_the_level():
    members = np.array([2, 0, 1], np.uint32)
    assert find_level(np.array([3.0, 9.0, 5.0]), members, np.uint32(2), 0.0, -1.0) == pytest.approx((3 + 5) / 3)


def test_a_row_without_features_gives_all_of_c_to_one_class_and_changes_no_weight():
    X, y = np.zeros((2, 3)), np.array([0, 1])
    sweeps = Sweeps(Structured(X, y, flat_hierarchy(3), 2.5, False), sweep_flat, sparse=False)
    assert sweeps.visit(0, 1, 0) == 3
    assert sweeps.b().tolist() == [[0, 2.5, 0], [2.5, 0, 0]]
    assert not sweeps.kept().any()
    assert sweeps.violations.tolist() == [0, 1]  # the second visit changes nothing


@settings(max_examples=20)
@given(seed=seeds)
def test_a_row_near_its_optimum_is_skipped(seed):
    sweeps = Sweeps(problem(seed), sweep_flat, sparse=False, tolerance=1e9)
    assert sweeps.visit(*range(12)) == 12
    assert not sweeps.b().any()
    assert not sweeps.kept().any()


@pytest.mark.parametrize(("tolerance", "moves"), [(0.9 / IDLE, True), (1.1 / IDLE, False)])
def test_a_row_is_skipped_up_to_a_share_of_the_tolerance(tolerance, moves):
    sweeps = Sweeps(problem(0), sweep_flat, sparse=False, tolerance=tolerance)
    assert sweeps.visit(0) == 1
    assert sweeps.violations[0] == 1  # the cost of a mistake while all weights are 0
    assert sweeps.b().any() == moves


def test_a_visit_adds_at_most_fifty_classes_including_the_best():
    task = problem(5, C=1e4, n_classes=80)
    sweeps = Sweeps(task, sweep_flat, sparse=False, tolerance=1e-9, room=20_000)
    best = int(np.argmax(task.gradients(sweeps.b())[0]))
    assert sweeps.visit(0) == 1
    assert np.count_nonzero(sweeps.b()[0]) == 50
    assert sweeps.b()[0, best] > 0
    sweeps.visit(0)
    assert np.count_nonzero(sweeps.b()[0]) == 79


def test_without_space_for_new_duals_the_kernel_stops_before_changing_the_row():
    sweeps = Sweeps(problem(0), sweep_flat, sparse=False)
    sweeps.assert_a_row_without_room_is_left_as_it_was(empty_rows(12, 10, np.float64), duals=True)
