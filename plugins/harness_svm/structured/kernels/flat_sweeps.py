"""Sweeps of Crammer and Singer's support vector machine: `structured` with a flat tree and all costs 1.

Here the best duals of one instance, with all others fixed, have a closed form. With A = ||x||^2, t = sum_c b_c, and
h_c = g_c + A (b_c + t) the gradient of class c without any duals of this instance,

    b_c = max(0, h_c - level) / A,    level = sum_c max(0, h_c - level),  or, if this would exceed C in total,
                                      A C   = sum_c max(0, h_c - level)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64

from harness.sdk.kernels.compile import LEAN, helper, kernel, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.moves import Moves, plan_move
from harness.sdk.kernels.score import BLOCK_CLASSES, highest
from harness_svm.structured.kernels.dense_weights import move_densely
from harness_svm.structured.kernels.subproblem import (
    MOST_STEPS,
    NOBODY,
    SWEEP,
    SWEEP_STATE,
    Block,
    Goal,
    Sweep,
    SweepState,
    join,
    left_over,
    steepest,
)
from harness_svm.structured.kernels.sweeps import sweep_with_matrix


@helper()
def find_level(h: Array, members: Array, size: Any, level: float, budget: float) -> float:
    """Return the level for these members, starting from a level that is not above it.

    Without a budget (below 0), the level equals the sum of the excess above it.
    """
    n = int(size) + 1
    while True:
        above, total = 0, 0.0
        for m in range(size):
            if h[members[m]] > level:
                above, total = above + 1, total + h[members[m]]
        if above >= n or above == 0:  # more than before are above it by rounding only
            return level
        n = above
        level = total / (above + 1) if budget < 0 else (total - budget) / above


@helper()
def find_least_level(h: Array, members: Array, size: Any, level: float, budget: float) -> float:
    """Return the level for these members if at most the budget is to be distributed."""
    level = find_level(h, members, size, level, -1.0)
    return find_level(h, members, size, level, budget) if level > budget else level


@helper()
def gather(h: Array, bar: float, shift: float, block: Block, size: Any) -> Any:
    """Append the classes above the bar that are no members yet to the `size` members, and raise them by `shift`."""
    for lo in range(0, h.size, BLOCK_CLASSES):
        hi = min(lo + BLOCK_CLASSES, h.size)
        if not highest(h, lo, hi) > bar:
            continue
        for c in range(np.uint32(lo), np.uint32(hi)):
            if h[c] > bar and not block.member[c]:
                h[c] += shift
                block.members[size] = c
                size += np.uint32(1)
    return size


@helper()
def invite(up: Any, slack: float, budget: float, shift: float, block: Block, size: Any) -> Any:
    """Make members of the classes that the best duals may need: `up`, and those above the level of all together.

    A class above the level of the members alone may gain, but most of them would not when all are members. With
    hundreds of classes the gaining ones must be selected well, since a class left out is as wrong in the next sweep.
    `shift` is missing in h for classes that are no members yet. Returns the new number of members.
    """
    h, members, most = block.gradient, block.members, size + np.uint32(MOST_STEPS)
    if up != NOBODY and not block.member[up]:
        h[up] += shift
        size = join(up, block, size)
    level = find_least_level(h, members, size, 0.0, budget)
    together = gather(h, level + slack - shift, shift, block, size)  # more members only raise the level
    if together == size:
        return size
    level = find_least_level(h, members, together, level, budget)
    for m in range(size, together):  # an invited one stands where it stood or further in front
        if h[members[m]] > level + slack and size < most:
            size = join(members[m], block, size)
    return size


@helper()
def settle_duals(y: Any, up: Any, square: float, C: float, slack: float, block: Block, size: Any, moves: Moves) -> Any:
    """Give an instance its best duals, among its members and a limited number of new ones, always including `up`.

    Without a limit, the first instances would give a dual to every class, since all are equally good. So other new
    classes must be above the level by `slack`. Returns the number of members, and the number of classes that move.
    """
    h, beta, members, budget = block.gradient, block.beta, block.members, square * C
    shift = square * (C - left_over(C, block, size))
    for m in range(size):
        h[members[m]] += shift + square * beta[members[m]]
    size = invite(up, slack, budget, shift, block, size)
    level = find_level(h, members, size, 0.0, -1.0)
    if level > budget:  # the budget left may be tiny compared to h, so h is measured from its maximum
        top = h[members[0]]
        for m in range(size):
            top = max(top, h[members[m]])
        for m in range(size):
            h[members[m]] -= top
        level = find_level(h, members, size, level - top, budget)
    n, gain = 0, 0.0
    for m in range(size):
        c = members[m]
        new = max(0.0, h[c] - level) / square
        change, beta[c] = new - beta[c], new
        if change != 0:
            n, gain = plan_move(moves, n, c, -change), gain + change
    return size, plan_move(moves, n, y, gain) if gain != 0 else n


@helper()
def give_all(C: float, block: Block, size: Any) -> Any:
    """Set the duals of an instance without features: they move nothing, so any class may have all of C."""
    if size == 0:
        c = np.uint32(0) if block.gradient[0] > 0 else np.uint32(1)
        size = join(c, block, size)
        block.beta[c] = C
    return size


def improve_with(reluctance: float) -> Any:
    """Return the function that gives a row its best duals.

    New classes other than the best one must be above the level by `reluctance`, a share of the tolerance.
    """

    @helper()
    def improve(
        tree: Any, y: Any, square: float, goal: Goal, near: float, block: Block, size: Any, moves: Moves
    ) -> Any:
        """Give a row its best duals, from the scores, unless it is within `near` of them. The flat tree is not read.

        Returns its former distance from them, the number of members, and the number of classes that move.
        """
        scores, gradient = block.scores, block.gradient
        for c in range(np.uint32(scores.size)):
            gradient[c] = 1.0 - scores[y] + scores[c]
        gradient[y] = -np.inf
        up, _, violation = steepest(block, size, left_over(goal.C, block, size))
        n = 0
        if violation > near:
            if square > 0:
                slack = reluctance * goal.tolerance
                size, n = settle_duals(y, up, square, goal.C, slack, block, size, moves)
            else:
                size = give_all(goal.C, block, size)
        return violation, size, n

    return improve


@helper()
def move_classes(W: Array, instances: Instances, i: Any, tree: Any, shift: Array, moves: Moves, n: int) -> None:
    """W[f, c] += x_f change_c for the n classes that move; there are no shifts."""
    move_densely(W, instances, i, moves, n)


sweep_rows = sweep_with_matrix(improve_with(0.0), move_classes)


@kernel(int64(SWEEP, writes(float64, 2), SWEEP_STATE), **LEAN)
def sweep_flat(sweep: Sweep, W: Array, state: SweepState) -> int:
    """Sweep like `sweep_matrix`, but for a flat tree, which is not read."""
    return sweep_rows(sweep, W, state)  # type: ignore[no-any-return]  # an int64
