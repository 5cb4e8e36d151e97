"""Coordinate descent in the dual on dense rows: what `dual` does, with products over whole rows.

The same instances are met in the same order. Only the sums of a product are added up in another order, several side by
side in vector registers, so that gradients differ in their last places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32, float64, int64, void

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import LEAN, helper, kernel, reads
from harness_svm.kernels.dual import (
    DUAL_PROBLEM,
    DUAL_SPACE,
    FOCUS_SPREAD,
    MOST_FOCUSED_SWEEPS,
    RESTING_SHARE,
    DualProblem,
    DualSpace,
    shuffle,
)

VECTORS = reads(float32, 2)


@helper(fastmath={"reassoc", "contract"})
def row_product(X: Array, i: Any, w: Array) -> float:
    """<w, x_i>"""
    total = 0.0
    for f in range(np.uint64(X.shape[1])):
        total += w[f] * np.float64(X[i, f])
    return total


@helper()
def add_row(X: Array, i: Any, amount: float, w: Array) -> None:
    """w += amount x_i"""
    for f in range(np.uint64(X.shape[1])):
        w[f] += amount * np.float64(X[i, f])


@helper()
def sweep_densely(X: Array, squares: Array, problem: DualProblem, space: DualSpace, active: int) -> Any:
    """As `sweep` does."""
    w, alpha, sign, order, _ = space
    bias, last, kept = problem.bias, np.uint32(space.w.size - 1), np.uint64(0)
    largest, least = -np.inf, np.inf
    still = RESTING_SHARE * problem.tolerance
    for s in range(np.uint64(active)):
        i = order[s]
        y, a = np.float64(sign[i]), alpha[i]
        gradient = y * (row_product(X, i, w) + bias * w[last]) - 1 + problem.ridge * a
        if a == 0:
            gradient = min(gradient, 0.0)
        elif a == problem.upper:
            gradient = max(gradient, 0.0)
        largest, least = max(largest, gradient), min(least, gradient)
        if abs(gradient) <= still:
            continue
        order[kept] = i
        kept += np.uint64(1)
        curvature = squares[i] + bias * bias + problem.ridge
        target = min(max(a - gradient / curvature, 0.0), problem.upper) if curvature > 0 else problem.upper
        alpha[i] = target
        add_row(X, i, (target - a) * y, w)
        w[last] += (target - a) * y * bias
    return np.int64(kept), largest, least


@kernel(int64(VECTORS, reads(float64), DUAL_PROBLEM, DUAL_SPACE), **LEAN)
def solve_densely(X: Array, squares: Array, problem: DualProblem, space: DualSpace) -> int:
    """As `solve` does."""
    n, order = space.alpha.size, space.order
    for number in range(1, problem.most_sweeps + 1):
        for i in range(np.uint32(n)):
            order[i] = i
        shuffle(order, n, space.random)
        active, largest, least = sweep_densely(X, squares, problem, space, n)
        if largest - least <= problem.tolerance:
            return number
        goal = max(FOCUS_SPREAD * (largest - least), problem.tolerance / 2)
        for _ in range(MOST_FOCUSED_SWEEPS):
            shuffle(order, active, space.random)
            active, largest, least = sweep_densely(X, squares, problem, space, active)
            if largest - least <= goal:
                break
    return problem.most_sweeps + 1


@kernel(void(VECTORS, reads(int64), float64, DUAL_SPACE), **LEAN)
def move_over_densely(X: Array, own: Array, bias: float, space: DualSpace) -> None:
    """As `move_over` does."""
    for p in range(own.size):
        i = np.uint32(own[p])
        add_row(X, i, space.alpha[i], space.w)
        space.w[space.w.size - 1] += space.alpha[i] * bias
        space.alpha[i], space.sign[i] = 0.0, 1
