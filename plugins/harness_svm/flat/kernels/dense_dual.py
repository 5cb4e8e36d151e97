"""Coordinate descent in the dual on dense rows, several machines at a time, so a row is fetched once for all of them.

Each machine takes the same steps as in `dual` and stops independently. The machines share only the order of the rows.
Sums of products are added up in vector registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float32, float64, int8, int64, uint32, uint64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array
from harness_svm.flat.kernels.dual import (
    DUAL_PROBLEM,
    FOCUS_SPREAD,
    MOST_FOCUSED_SWEEPS,
    RESTING_SHARE,
    DualProblem,
    best_dual,
    project,
    shuffle,
)

MACHINES = 8
"""Number of machines at a time: the weights of more would not fit into the nearest cache."""


class SideBySide(NamedTuple):
    """Several machines that are trained on the same rows at the same time."""

    w: NDArray[np.float64]
    """Machines x features; the last column is the bias."""
    alpha: NDArray[np.float64]
    """Rows x machines, like the next two arrays."""
    sign: NDArray[np.int8]
    awake: NDArray[np.bool_]
    """True if the row has been changed since the last sweep over all rows began."""
    sweeps: NDArray[np.int64]
    """By machine: number of sweeps over all rows; 0 until it is finished."""
    takes_part: NDArray[np.bool_]
    """By machine, in the current sweep."""
    largest: NDArray[np.float64]
    """By machine: the largest and the least projected gradient of a sweep, and their current tolerance."""
    least: NDArray[np.float64]
    goal: NDArray[np.float64]
    order: NDArray[np.uint32]
    random: NDArray[np.uint64]


SIDE_BY_SIDE = named(
    SideBySide,
    writes(float64, 2),
    writes(float64, 2),
    writes(int8, 2),
    writes(boolean, 2),
    writes(int64),
    writes(boolean),
    *[writes(float64)] * 3,
    writes(uint32),
    writes(uint64),
)


def side_by_side(n_machines: int, n_rows: int, n_features: int) -> SideBySide:
    """Return machines without any weights, for which all rows belong to the rest."""
    return SideBySide(
        w=np.zeros((n_machines, n_features + 1)),
        alpha=np.zeros((n_rows, n_machines)),
        sign=np.full((n_rows, n_machines), -1, np.int8),
        awake=np.ones((n_rows, n_machines), np.bool_),
        sweeps=np.zeros(n_machines, np.int64),
        takes_part=np.ones(n_machines, np.bool_),
        largest=np.zeros(n_machines),
        least=np.zeros(n_machines),
        goal=np.zeros(n_machines),
        order=np.arange(n_rows, dtype=np.uint32),
        random=np.ones(1, np.uint64),
    )


@helper(fastmath={"reassoc", "contract"})
def row_product(X: Array, i: Any, w: Array) -> float:
    """Return <w, x_i>."""
    total = 0.0
    for f in range(np.uint64(X.shape[1])):
        total += w[f] * np.float64(X[i, f])
    return total


@helper()
def add_row(X: Array, i: Any, amount: float, w: Array) -> None:
    """Add amount x_i to w."""
    for f in range(np.uint64(X.shape[1])):
        w[f] += amount * np.float64(X[i, f])


@helper()
def sweep_together(X: Array, squares: Array, problem: DualProblem, space: SideBySide, active: int) -> Any:
    """Improve each active row for each machine that takes part and for which the row is awake.

    Returns the number of rows that are still active: awake for at least one machine.
    """
    alpha, order, kept = space.alpha, space.order, np.uint64(0)
    bias, last = problem.bias, np.uint32(space.w.shape[1] - 1)
    still = RESTING_SHARE * problem.tolerance
    for m in range(np.uint32(space.sweeps.size)):
        space.largest[m], space.least[m] = -np.inf, np.inf
    for s in range(np.uint64(active)):
        i, stays = order[s], False
        for m in range(np.uint32(space.sweeps.size)):
            if not (space.takes_part[m] and space.awake[i, m]):
                continue
            w, y, a = space.w[m], np.float64(space.sign[i, m]), alpha[i, m]
            gradient = project(y * (row_product(X, i, w) + bias * w[last]) - 1 + problem.ridge * a, a, problem.upper)
            space.largest[m], space.least[m] = max(space.largest[m], gradient), min(space.least[m], gradient)
            if abs(gradient) <= still:
                space.awake[i, m] = False
                continue
            stays = True
            alpha[i, m] = best_dual(a, gradient, squares[i] + bias * bias + problem.ridge, problem.upper)
            add_row(X, i, (alpha[i, m] - a) * y, w)
            w[last] += (alpha[i, m] - a) * y * bias
        if stays:
            order[kept] = i
            kept += np.uint64(1)
    return np.int64(kept)


@helper()
def wake_all(space: SideBySide) -> None:
    """Wake all rows, in order, and let every unfinished machine take part."""
    for i in range(np.uint32(space.order.size)):
        space.order[i] = i
        for m in range(np.uint32(space.sweeps.size)):
            space.awake[i, m] = True
    for m in range(np.uint32(space.sweeps.size)):
        space.takes_part[m] = space.sweeps[m] == 0


@helper()
def set_goals(problem: DualProblem, space: SideBySide, number: int) -> int:
    """After a sweep over all rows, finish machines within the tolerance and set goals for the others.

    Returns how many.
    """
    left = 0
    for m in range(np.uint32(space.sweeps.size)):
        if not space.takes_part[m]:
            continue
        spread = space.largest[m] - space.least[m]
        if spread <= problem.tolerance:
            space.sweeps[m], space.takes_part[m] = number, False
        else:
            space.goal[m] = max(FOCUS_SPREAD * spread, problem.tolerance / 2)
            left += 1
    return left


@helper()
def rest_at_goals(space: SideBySide) -> int:
    """Let machines at their goal wait for the next sweep over all rows; returns the number of the others."""
    left = 0
    for m in range(np.uint32(space.sweeps.size)):
        if space.takes_part[m]:
            space.takes_part[m] = space.largest[m] - space.least[m] > space.goal[m]
            left += space.takes_part[m]
    return left


@kernel(int64(reads(float32, 2), reads(float64), DUAL_PROBLEM, SIDE_BY_SIDE), **LEAN)
def solve_together(X: Array, squares: Array, problem: DualProblem, space: SideBySide) -> int:
    """Solve several problems like `solve`; returns the number of machines that exceeded the maximum of sweeps.

    The sweeps of such a machine are one more than allowed.
    """
    left = space.sweeps.size
    for number in range(1, problem.most_sweeps + 1):
        wake_all(space)
        active = space.order.size
        shuffle(space.order, active, space.random)
        active = sweep_together(X, squares, problem, space, active)
        left = set_goals(problem, space, number)
        if left == 0:
            return 0
        for _ in range(MOST_FOCUSED_SWEEPS):
            shuffle(space.order, active, space.random)
            active = sweep_together(X, squares, problem, space, active)
            if rest_at_goals(space) == 0:
                break
    for m in range(np.uint32(space.sweeps.size)):
        if space.sweeps[m] == 0:
            space.sweeps[m] = problem.most_sweeps + 1
    return left
