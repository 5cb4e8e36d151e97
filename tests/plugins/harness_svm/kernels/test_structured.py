"""One instance's part of the dual, held against the definition of the whole problem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness.sdk.kernels.moves import no_moves
from harness.sdk.kernels.rows import empty_rows
from harness_svm.kernels.class_tree import sum_subtrees
from harness_svm.kernels.structured import (
    NOBODY,
    Goal,
    curvature,
    empty_block,
    fetch_duals,
    improve,
    judge,
    left_over,
    push,
    put_duals_back,
    set_gradients,
    steepest,
)
from svm_definitions import Structured, duals_of, random_hierarchy, random_rows

CLASSES = 7
seeds = st.integers(0, 2**32 - 1)
costs = st.booleans()


class AtOneRow:
    """A problem, feasible duals for each of its rows, and the kernel's block for one of them."""

    def __init__(self, seed: int, slack: bool, C: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        X, y = random_rows(seed, 5, 4, CLASSES)
        self.problem = Structured(X, y, random_hierarchy(seed), C, slack)
        self.b = rng.dirichlet(np.ones(CLASSES + 1), 5)[:, 1:] * C * (rng.random((5, CLASSES)) < 0.6)
        self.b[np.arange(5), y] = 0
        self.i, self.y = 0, np.uint32(y[0])
        self.tree = self.problem.hierarchy.kernel_tree()
        self.goal = Goal(C, 1e-9, slack)
        self.block, self.moves = empty_block(self.tree), no_moves(CLASSES)
        for place, c in enumerate(np.flatnonzero(self.b[0])):
            self.block.members[place], self.block.member[c], self.block.beta[c] = c, True, self.b[0, c]
        self.size = np.uint32(np.count_nonzero(self.b[0]))
        sum_subtrees(self.tree, self.products(), self.block.sums)
        judge(self.tree, self.y, slack, self.block)
        set_gradients(self.tree, self.y, self.block)

    @property
    def square(self) -> float:
        return float(self.problem.X[0] @ self.problem.X[0])

    def products(self) -> np.ndarray:
        """<u_y, x> of each class."""
        return self.problem.X[0] @ self.problem.u(self.b)


@given(seed=seeds, slack=costs)
def test_costs_and_rates_are_those_of_the_paths(seed, slack):
    row = AtOneRow(seed, slack)
    others = np.arange(CLASSES) != row.y
    assert_allclose(row.block.cost, row.problem.cost[0], atol=1e-12)
    assert_allclose(row.block.rate[others], row.problem.rate[0][others], atol=1e-12)


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
def test_the_curvature_is_the_second_derivative_along_a_shift_between_two_classes(seed, slack):
    row = AtOneRow(seed, slack)
    classes = [c for c in range(CLASSES) if c != row.y][:4]
    for up in [*classes, None]:
        for down in [*classes, None]:
            if up == down:
                continue
            shift = np.zeros_like(row.b)
            if up is not None:
                shift[0, up] += 1
            if down is not None:
                shift[0, down] -= 1
            expected = (row.problem.w(shift) ** 2).sum()
            named = [NOBODY if c is None else np.uint32(c) for c in (up, down)]
            found = row.square * curvature(row.tree, row.y, *named, row.block.rate)
            assert found == pytest.approx(expected, abs=1e-9)


@given(seed=seeds, amounts=st.lists(st.tuples(st.integers(0, 6), st.floats(-2, 2)), max_size=6))
def test_what_is_pushed_is_planned_once_a_class_and_carried_into_the_sums(seed, amounts):
    row = AtOneRow(seed, True)
    n, changes = 0, np.zeros(CLASSES)
    for c, amount in amounts:
        n = push(row.tree, np.uint32(c), float(amount), row.square, row.block, row.moves, n)
        changes[c] += row.tree.scale[c] * amount
    assert sorted(row.moves.classes[:n].tolist()) == sorted(
        {c for c, amount in amounts if amount != 0} | {c for c, amount in amounts if amount == 0}
    )
    assert_allclose(row.moves.changes, changes, atol=1e-12)
    expected = np.empty_like(row.block.sums)
    sum_subtrees(row.tree, row.products() + changes * row.square, expected)
    assert_allclose(row.block.sums[1:], expected[1:], atol=1e-9)


@given(seed=seeds, slack=costs)
def test_who_gains_has_the_best_gradient_and_who_loses_the_worst_of_those_that_have_something(seed, slack):
    row = AtOneRow(seed, slack)
    g, b = row.problem.gradients(row.b)[0], row.b[0]
    up, down, apart = steepest(row.block, row.size, left_over(row.goal.C, row.block, row.size))
    assert apart == pytest.approx(row.problem.violation(row.b, 0), abs=1e-9)
    assert up == (NOBODY if g.max() <= 0 else np.argmax(g))
    having = np.where(b > 0, g, np.inf)
    assert down == (NOBODY if having.min() >= 0 else np.argmin(having))


def test_without_anything_left_of_c_nobody_cannot_lose():
    row = AtOneRow(0, True)
    row.block.beta[:] = 0
    row.block.gradient[:] = [5, 4, 3, 2, 1, 0.5, -np.inf]
    row.block.members[:2], row.block.beta[[1, 2]] = [1, 2], [0.25, 0.75]
    up, down, apart = steepest(row.block, np.uint32(2), left_over(1.0, row.block, np.uint32(2)))
    assert (up, down, apart) == (0, 2, 2.0)


@pytest.mark.parametrize(("given", "left"), [(0.25, 0.75), (1.0, 0.0), (1 - 1e-15, 0.0), (1 + 1e-15, 0.0)])
def test_what_is_left_of_c_by_rounding_alone_is_nothing(given, left):
    row = AtOneRow(0, True)
    row.block.beta[3], row.block.members[0] = given, 3
    assert left_over(1.0, row.block, np.uint32(1)) == left


@settings(max_examples=100)
@given(seed=seeds, slack=costs, C=st.sampled_from([0.01, 1.0, 30.0]))
def test_improving_an_instance_keeps_its_duals_feasible_and_makes_its_gradients_agree(seed, slack, C):
    row = AtOneRow(seed, slack, C)
    before, expected = row.problem.objective(row.b), row.problem.violation(row.b, 0)
    violation, size, n = improve(
        row.tree, row.y, row.square, row.goal, 1e-9, row.block, row.size, row.moves
    )  # fmt: skip
    assert violation == pytest.approx(expected, abs=1e-9)
    after = row.b.copy()
    after[0] = row.block.beta
    assert np.all(after[0] >= 0)
    assert after[0].sum() <= C * (1 + 1e-9)
    assert after[0, row.y] == 0
    assert row.problem.objective(after) >= before - 1e-9
    assert set(np.flatnonzero(after[0])) <= set(row.block.members[:size].tolist())
    moved = row.problem.u(after) - row.problem.u(row.b)
    assert_allclose(np.outer(row.problem.X[0], row.moves.changes), moved, atol=1e-9)
    listed = row.moves.classes[:n].tolist()
    assert len(set(listed)) == n
    assert set(np.flatnonzero(row.moves.changes)) == set(listed)  # one that came back moves by next to nothing
    assert row.problem.violation(after, 0) <= max(1e-6, expected / 2)  # fifty steps get far, if not to the end


@given(seed=seeds)
def test_duals_that_are_fetched_and_put_back_are_the_same_and_leave_the_block_empty(seed):
    row = AtOneRow(seed, True)
    duals = empty_rows(5, 128, np.float64)
    put_duals_back(duals, np.uint32(2), row.block, row.size, True)
    assert_array_equal(duals_of(duals, CLASSES)[2], row.b[0])
    assert not row.block.beta.any()
    assert not row.block.member.any()
    assert fetch_duals(duals, np.uint32(2), row.block) == row.size
    assert_array_equal(row.block.beta, row.b[0])
    assert_array_equal(row.block.member, row.b[0] > 0)
    row.block.beta[:] = 9.0
    put_duals_back(duals, np.uint32(2), row.block, row.size, False)  # said to be unchanged
    assert_array_equal(duals_of(duals, CLASSES)[2], row.b[0])
    fetch_duals(duals, np.uint32(2), row.block)
    row.block.beta[:] *= 2
    put_duals_back(duals, np.uint32(2), row.block, row.size, True)  # in the place of those that were there
    assert_array_equal(duals_of(duals, CLASSES)[2], 2 * row.b[0])
    assert duals.length[2] == row.size
