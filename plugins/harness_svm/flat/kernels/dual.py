"""A linear support vector machine for one class against the rest, by coordinate descent in the dual.

The sign y_i is 1 for instances of the class and -1 for others. The bias is the weight of a constant feature:

    min_w  1/2 ||w||^2 + C sum_i max(0, 1 - y_i <w, x_i>)^p        p = 1 or 2
    max_a  sum_i a_i - 1/2 ||w||^2 - D/2 sum_i a_i^2,   0 <= a_i <= U,   w = sum_i a_i y_i x_i

with U = C, D = 0 for p = 1 and U = inf, D = 1 / (2 C) for p = 2 (Hsieh and others, ICML 2008).
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int8, int64, uint32, uint64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.random_numbers import draw_number

RESTING_SHARE = 0.1
"""An instance whose projected gradient is below this share of the tolerance is skipped."""
FOCUS_SPREAD = 0.05
"""The remaining instances are visited again until the spread of their gradients has fallen to this share."""
MOST_FOCUSED_SWEEPS = 20
RUN = np.uint64(4)
"""Number of instances that stay together in a shuffle: neighbours in memory are read faster."""


HINGE_LOSSES = ("hinge", "squared_hinge")


class DualProblem(NamedTuple):
    """A problem and its tolerance for the difference of the largest and the least projected gradient."""

    upper: float
    ridge: float
    bias: float
    tolerance: float
    most_sweeps: int


DUAL_PROBLEM = named(DualProblem, float64, float64, float64, float64, int64)


def pose(C: float, *, squared: bool, bias: float, tolerance: float, most_sweeps: int) -> DualProblem:
    """Return the problem for a cost C and the squared or the plain hinge loss."""
    upper, ridge = (inf, 1 / (2 * C)) if squared else (C, 0.0)
    return DualProblem(upper, ridge, bias, tolerance, most_sweeps)


class DualSpace(NamedTuple):
    """Arrays of a machine in training."""

    w: NDArray[np.float64]
    """The last element is the bias."""
    alpha: NDArray[np.float64]
    sign: NDArray[np.int8]
    order: NDArray[np.uint32]
    random: NDArray[np.uint64]


DUAL_SPACE = named(DualSpace, writes(float64), writes(float64), writes(int8), writes(uint32), writes(uint64))


def empty_dual_space(n_instances: int, n_features: int) -> DualSpace:
    """Return the space with all duals 0 and all instances in the rest."""
    return DualSpace(
        w=np.zeros(n_features + 1),
        alpha=np.zeros(n_instances),
        sign=np.full(n_instances, -1, np.int8),
        order=np.arange(n_instances, dtype=np.uint32),
        random=np.ones(1, np.uint64),
    )


@helper()
def product(instances: Instances, i: Any, w: Array) -> float:
    """Return <w, x_i>, in four sums side by side, since each addition would otherwise wait for the one before."""
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    indices, data = instances.indices, instances.data
    j, end = np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + np.uint32(1)])
    while j + np.uint64(4) <= end:
        one += w[np.uint32(indices[j])] * data[j]
        two += w[np.uint32(indices[j + np.uint64(1)])] * data[j + np.uint64(1)]
        three += w[np.uint32(indices[j + np.uint64(2)])] * data[j + np.uint64(2)]
        four += w[np.uint32(indices[j + np.uint64(3)])] * data[j + np.uint64(3)]
        j += np.uint64(4)
    while j < end:
        one += w[np.uint32(indices[j])] * data[j]
        j += np.uint64(1)
    return (one + two) + (three + four)


@helper()
def add_instance(instances: Instances, i: Any, amount: float, w: Array) -> None:
    """Add amount x_i to w."""
    for j in range(instances.indptr[i], instances.indptr[i + np.uint32(1)]):
        w[np.uint32(instances.indices[j])] += amount * instances.data[j]


@helper()
def shuffle(order: Array, n: Any, random: Array) -> None:
    """Shuffle the first n elements in short runs, so neighbours in memory stay together."""
    runs = np.uint64(n) // RUN
    for r in range(runs):
        other = r + draw_number(random, runs - r)
        for p in range(RUN):
            one, two = r * RUN + p, other * RUN + p
            order[one], order[two] = order[two], order[one]


@helper()
def project(gradient: float, a: float, upper: float) -> float:
    """Return the projected gradient: 0 if it leads out of 0 <= a <= upper."""
    if a == 0:
        return min(gradient, 0.0)
    if a == upper:
        return max(gradient, 0.0)
    return gradient


@helper()
def best_dual(a: float, gradient: float, curvature: float, upper: float) -> float:
    """Return the best a_i while all others are fixed."""
    if curvature > 0:
        return min(max(a - gradient / curvature, 0.0), upper)
    return upper  # without ridge, an instance that w cannot move has a constant loss


@helper()
def sweep(
    instances: Instances, squares: Array, weights: Any, problem: DualProblem, space: DualSpace, active: int
) -> Any:
    """Improve each active a_i in turn; instances that hardly change become inactive.

    `weights` multiply the costs of instances; with None, no code for them is compiled. Returns the number of instances
    that are still active, and the largest and the least projected gradient.
    """
    w, alpha, sign, order, _ = space
    bias, last, kept = problem.bias, np.uint32(space.w.size - 1), np.uint64(0)
    largest, least = -np.inf, np.inf
    still = RESTING_SHARE * problem.tolerance
    for s in range(np.uint64(active)):
        i = order[s]
        y, a = np.float64(sign[i]), alpha[i]
        upper, ridge = problem.upper, problem.ridge
        if weights is not None:
            upper, ridge = upper * weights[i], ridge / weights[i]
        gradient = project(y * (product(instances, i, w) + bias * w[last]) - 1 + ridge * a, a, upper)
        largest, least = max(largest, gradient), min(least, gradient)
        if abs(gradient) <= still:
            continue
        order[kept] = i
        kept += np.uint64(1)
        alpha[i] = best_dual(a, gradient, squares[i] + bias * bias + ridge, upper)
        add_instance(instances, i, (alpha[i] - a) * y, w)
        w[last] += (alpha[i] - a) * y * bias
    return np.int64(kept), largest, least


@helper()
def run_sweeps(instances: Instances, squares: Array, weights: Any, problem: DualProblem, space: DualSpace) -> int:
    """See `solve`; for `weights` see `sweep`."""
    n, order = space.alpha.size, space.order
    for number in range(1, problem.most_sweeps + 1):
        for i in range(np.uint32(n)):
            order[i] = i
        shuffle(order, n, space.random)
        active, largest, least = sweep(instances, squares, weights, problem, space, n)
        if largest - least <= problem.tolerance:
            return number
        goal = max(FOCUS_SPREAD * (largest - least), problem.tolerance / 2)
        for _ in range(MOST_FOCUSED_SWEEPS):
            shuffle(order, active, space.random)
            active, largest, least = sweep(instances, squares, weights, problem, space, active)
            if largest - least <= goal:
                break
    return problem.most_sweeps + 1


@kernel(int64(INSTANCES, reads(float64), DUAL_PROBLEM, DUAL_SPACE), **LEAN)
def solve(instances: Instances, squares: Array, problem: DualProblem, space: DualSpace) -> int:
    """Continue from the a_i and w in the space until a sweep over all instances is within the tolerance.

    Returns the number of such sweeps, or one more than allowed.
    """
    return run_sweeps(instances, squares, None, problem, space)


@kernel(void(INSTANCES, reads(int64), float64, DUAL_SPACE), **LEAN)
def move_over(instances: Instances, own: Array, bias: float, space: DualSpace) -> None:
    """Assign these instances to the class, and undo their effect on w as instances of the rest."""
    for p in range(own.size):
        i = np.uint32(own[p])
        add_instance(instances, i, space.alpha[i], space.w)
        space.w[space.w.size - 1] += space.alpha[i] * bias
        space.alpha[i], space.sign[i] = 0.0, 1
