"""Gradients and duals of one instance, compared with the definition of the whole problem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness_svm.structured.kernels.subproblem import (
    NOBODY,
    fetch_duals,
    left_over,
    put_duals_back,
    set_gradients,
    steepest,
)
from internals import empty_rows
from svm_definitions import duals_of
from svm_row import CLASSES, AtOneRow

seeds = st.integers(0, 2**32 - 1)
costs = st.booleans()


@given(seed=seeds, slack=costs)
def test_gradients_are_the_derivatives_of_the_objective(seed, slack):
    row = AtOneRow(seed, slack)
    assert_allclose(row.block.gradient, row.problem.gradients(row.b)[0], atol=1e-9)
    for c in range(CLASSES):
        if c == row.y:
            continue
        up, down = row.b.copy(), row.b.copy()
        up[0, c] += 1e-4
        down[0, c] -= 1e-4
        slope = (row.problem.objective(up) - row.problem.objective(down)) / 2e-4  # exact for a quadratic
        assert row.block.gradient[c] == pytest.approx(slope, abs=1e-6)


@given(seed=seeds, slack=costs)
def test_gradients_use_the_current_scores(seed, slack):
    row = AtOneRow(seed, slack)
    moved = np.random.default_rng(seed).normal(size=CLASSES)
    row.block.shift[:] = moved
    set_gradients(row.tree, row.y, 2.0, slack, row.block)
    shifted = row.block.gradient.copy()
    row.block.scores[:] += 2.0 * moved
    row.block.shift[:] = 0.0
    set_gradients(row.tree, row.y, 2.0, slack, row.block)
    assert_allclose(shifted, row.block.gradient, atol=1e-9)


@given(seed=seeds, slack=costs)
def test_the_gaining_class_has_the_best_gradient_and_the_losing_class_the_worst_positive_dual(seed, slack):
    row = AtOneRow(seed, slack)
    g, b = row.problem.gradients(row.b)[0], row.b[0]
    up, down, apart = steepest(row.block, row.size, left_over(row.goal.C, row.block, row.size))
    assert apart == pytest.approx(row.problem.violation(row.b, 0), abs=1e-9)
    assert up == (NOBODY if g.max() <= 0 else np.argmax(g))
    having = np.where(b > 0, g, np.inf)
    assert down == (NOBODY if having.min() >= 0 else np.argmin(having))


def test_the_slack_cannot_lose_when_c_is_used_up():
    row = AtOneRow(0, True)
    row.block.beta[:] = 0
    row.block.gradient[:] = [5, 4, 3, 2, 1, 0.5, -np.inf]
    row.block.members[:2], row.block.beta[[1, 2]] = [1, 2], [0.25, 0.75]
    up, down, apart = steepest(row.block, np.uint32(2), left_over(1.0, row.block, np.uint32(2)))
    assert (up, down, apart) == (0, 2, 2.0)


@pytest.mark.parametrize(("given", "left"), [(0.25, 0.75), (1.0, 0.0), (1 - 1e-15, 0.0), (1 + 1e-15, 0.0)])
def test_rounding_residue_of_c_counts_as_zero(given, left):
    row = AtOneRow(0, True)
    row.block.beta[3], row.block.members[0] = given, 3
    assert left_over(1.0, row.block, np.uint32(1)) == left


@given(seed=seeds)
def test_duals_survive_gather_and_scatter_and_the_block_is_left_empty(seed):
    row = AtOneRow(seed, True)
    duals = empty_rows(5, 128, np.float64)
    put_duals_back(duals, np.uint32(2), row.block, row.size, True)
    assert_array_equal(duals_of(duals, CLASSES)[2], row.b[0])
    for array in (row.block.beta, row.block.before, row.block.carried, row.block.member):
        assert not array.any()
    assert fetch_duals(duals, np.uint32(2), row.block) == row.size
    for array in (row.block.beta, row.block.before, row.block.carried):
        assert_array_equal(array, row.b[0])
    assert_array_equal(row.block.member, row.b[0] > 0)
    row.block.beta[:] = 9.0
    put_duals_back(duals, np.uint32(2), row.block, row.size, False)  # marked as unchanged
    assert_array_equal(duals_of(duals, CLASSES)[2], row.b[0])
    fetch_duals(duals, np.uint32(2), row.block)
    row.block.beta[:] *= 2
    put_duals_back(duals, np.uint32(2), row.block, row.size, True)  # in place of the previous ones
    assert_array_equal(duals_of(duals, CLASSES)[2], 2 * row.b[0])
    assert duals.length[2] == row.size
