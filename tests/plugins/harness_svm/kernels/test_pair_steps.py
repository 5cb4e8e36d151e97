"""Steps between the members of one instance, compared with the definition of the whole problem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from harness_svm.structured.kernels.pair_steps import (
    carry,
    compare,
    forget_shift,
    go_further,
    improve,
    invite,
    join_in_order,
    line_up,
    move,
    settle,
)
from svm_row import CLASSES, AtOneRow

seeds = st.integers(0, 2**32 - 1)
costs = st.booleans()


@given(seed=seeds, slack=costs)
def test_rates_and_similarities_of_members_match_their_paths(seed, slack):
    row = AtOneRow(seed, slack)
    L, members = row.problem.hierarchy.attributes(), row.members
    line_up(row.tree, row.y, slack, row.block, row.size)
    assert_allclose(row.block.rate[: row.size], row.problem.rate[0][members], atol=1e-12)
    assert_allclose(row.block.own[: row.size], L[members] @ L[row.y], atol=1e-12)
    for place in range(row.size):
        compare(row.tree, np.uint32(place), row.block, row.size, row.block.near_up)
        assert_allclose(row.block.near_up[: row.size], L[members] @ L[members[place]], atol=1e-12)


@given(seed=seeds, joining=st.permutations(range(CLASSES)))
def test_members_are_kept_in_tree_order(seed, joining):
    row = AtOneRow(seed, True)
    size = row.size
    for c in joining:
        if not row.block.member[c]:
            size = join_in_order(np.uint32(c), row.block, size)
    assert row.block.members[:size].tolist() == list(range(CLASSES))
    assert row.block.member.all()


@given(seed=seeds, bar=st.floats(-1, 3), room=st.integers(0, 8))
def test_classes_with_a_gradient_above_the_threshold_are_added_while_space_remains(seed, bar, room):
    row = AtOneRow(seed, True)
    waiting = [c for c in range(CLASSES) if row.block.gradient[c] >= bar and c not in row.members]
    expected = sorted([*row.members, *waiting[:room]])
    size = invite(bar, row.block, row.size, row.size + np.uint32(room))
    assert row.block.members[:size].tolist() == expected


@given(seed=seeds, amounts=st.lists(st.tuples(st.integers(0, 6), st.floats(-2, 2)), max_size=6))
def test_each_class_update_is_planned_once_and_applied_to_the_scores(seed, amounts):
    row = AtOneRow(seed, True)
    n, coefficients = 0, np.zeros(CLASSES)
    for c, amount in amounts:
        n = move(row.tree, np.uint32(c), float(amount), row.block, row.moves, n)
        coefficients[c] += amount
    assert sorted(row.moves.classes[:n].tolist()) == sorted({c for c, _ in amounts})
    assert_allclose(row.moves.changes, row.tree.scale * coefficients, atol=1e-12)
    L = row.problem.hierarchy.attributes()
    assert_allclose(row.block.shift, L @ (L.T @ coefficients), atol=1e-9)
    forget_shift(row.tree, row.block.shift, row.moves, n)
    assert not row.block.shift.any()


@settings(max_examples=100)
@given(seed=seeds, slack=costs, C=st.sampled_from([0.01, 1.0, 30.0]))
def test_converged_members_have_equal_gradients_that_match_the_definition(seed, slack, C):
    row = AtOneRow(seed, slack, C)
    before = row.problem.objective(row.b)
    settle(row.tree, row.y, row.square, row.goal, 1e-7, row.block, row.size)
    after = row.with_first(row.block.beta)
    assert np.all(after[0] >= 0)
    assert after[0].sum() <= C * (1 + 1e-9)
    assert row.problem.objective(after) >= before - 1e-9
    g, members = row.problem.gradients(after)[0], row.members
    assert_allclose(row.block.gradient[members], g[members], atol=1e-8 * max(1, C))
    if members and row.square > 0:
        spare = C - after[0].sum() > 1e-9 * C
        having = [*g[after[0] > 0], *([0.0] if spare else [])]
        assert max(0.0, g[members].max()) - min(having) <= 1e-6 * max(1, C)


@given(seed=seeds, slack=costs)
def test_applied_updates_give_all_classes_the_gradients_of_the_new_duals(seed, slack):
    row = AtOneRow(seed, slack)
    line_up(row.tree, row.y, slack, row.block, row.size)
    row.block.beta[:] *= np.random.default_rng(seed).random(CLASSES)
    carry(row.tree, row.y, row.square, slack, row.block, row.size, row.moves, 0)
    after = row.with_first(row.block.beta)
    assert_allclose(row.block.gradient, row.problem.gradients(after)[0], atol=1e-9)
    moved = row.problem.u(after) - row.problem.u(row.b)
    assert_allclose(np.outer(row.problem.X[0], row.moves.changes), moved, atol=1e-9)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ([0.2, 0.3], [0.3, 0.25], [0.35, 0.225]),  # one and a half times the step
        ([0.4, 0.1], [0.1, 0.1], [0.0, 0.1]),  # at most down to zero
        ([0.1, 0.1], [0.3, 0.5], [0.3 + 0.2 / 3, 0.5 + 0.4 / 3]),  # at most up to C = 1
        ([0.2, 0.3], [0.2, 0.0], [0.2, 0.0]),  # a dual of zero cannot decrease
    ],
)
def test_steps_overshoot_the_optimum_by_half_where_allowed(before, now, expected):
    row = AtOneRow(0, True)
    row.block.members[:2] = [2, 5]
    row.block.before[[2, 5]], row.block.beta[[2, 5]] = before, now
    row.block.gradient[[2, 5]] = 0.0
    assert go_further(row.y, row.square, 1.0, row.block, np.uint32(2)) == (expected != now)
    assert_allclose(row.block.beta[[2, 5]], expected, atol=1e-12)


@pytest.mark.parametrize(("top", "further"), [(0.6, 0.2), (0.7, 0.4), (0.9, 0.5), (0.51, 0.0)])
def test_steps_are_at_most_twice_the_distance_to_the_optimum(top, further):
    row = AtOneRow(0, True)
    row.block.members[0], row.block.before[2], row.block.beta[2], row.block.rate[0] = 2, 0.2, 0.3, 1.0
    row.block.shift[2] = -4.0  # moving weight between the two duals lowers the slope by 0.4 times the square
    row.block.gradient[2] = 4.0 * row.square * (top - 1)
    assert go_further(row.y, row.square, 1.0, row.block, np.uint32(1)) == (further > 0)
    assert row.block.beta[2] == pytest.approx(0.3 + 0.1 * further)


@settings(max_examples=100)
@given(seed=seeds, slack=costs, C=st.sampled_from([0.01, 1.0, 30.0]))
def test_improving_an_instance_keeps_its_duals_feasible_and_equalises_gradients(seed, slack, C):
    row = AtOneRow(seed, slack, C)
    before, expected = row.problem.objective(row.b), row.problem.violation(row.b, 0)
    violation, size, n = improve(
        row.tree, row.y, row.square, row.goal, 1e-9, row.block, row.size, row.moves
    )  # fmt: skip
    assert violation == pytest.approx(expected, abs=1e-9)
    after = row.with_first(row.block.beta)
    assert np.all(after[0] >= 0)
    assert after[0].sum() <= C * (1 + 1e-9)
    assert after[0, row.y] == 0
    assert row.problem.objective(after) >= before - 1e-9
    assert set(np.flatnonzero(after[0])) <= set(row.block.members[:size].tolist())
    moved = row.problem.u(after) - row.problem.u(row.b)
    assert_allclose(np.outer(row.problem.X[0], row.moves.changes), moved, atol=1e-9)
    listed = row.moves.classes[:n].tolist()
    assert len(set(listed)) == n
    assert set(np.flatnonzero(row.moves.changes)) == set(listed)  # a step that was undone moves by almost nothing
    assert row.problem.violation(after, 0) <= max(1e-6, 0.7 * expected)  # half the distance beyond the optimum
