"""One-vs-rest machines whose rows have weights: coordinate descent in the dual, on sparse rows.

    min_w  1/2 ||w||^2 + C sum_i s_i max(0, 1 - y_i <w, x_i>)^p        p = 1 or 2

A weight s_i > 0 multiplies the cost of row i: the dual of `dual` with U_i = s_i U and D_i = D / s_i. Rows without
weights take the faster kernels of `dual` and `dense_dual`, which read no bounds by row.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numba import float64, int64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, reads
from harness.sdk.kernels.instances import Array, Instances, Labels, by_frequency, places_of, renamed, square_lengths
from harness.sdk.threads import in_threads, stretches
from harness_svm.flat.kernels.dual import (
    DUAL_PROBLEM,
    DUAL_SPACE,
    FOCUS_SPREAD,
    MOST_FOCUSED_SWEEPS,
    RESTING_SHARE,
    DualProblem,
    DualSpace,
    add_instance,
    best_dual,
    empty_dual_space,
    move_over,
    product,
    project,
    shuffle,
)
from harness_svm.flat.kernels.one_vs_rest import (
    STRETCHES_PER_THREAD,
    Machine,
    Machines,
    by_class,
    collect,
    machine_of,
    state_of,
)


def train_weighted_one_vs_rest(
    instances: Instances,
    labels: Labels,
    n_features: int,
    n_classes: int,
    problem: DualProblem,
    seed: int,
    prune: float,
    row_weights: NDArray[np.float64],
) -> Machines:
    """Do what `train_one_vs_rest` does, for rows with weights above 0."""
    features = by_frequency(instances, n_features)
    arranged = renamed(instances, places_of(features))
    squares, members = square_lengths(arranged), by_class(labels, n_classes)
    begun = empty_dual_space(squares.size, n_features)
    begun.random[0] = state_of(seed, 0)
    solve_weighted(arranged, squares, row_weights, problem, begun)

    def train(share: slice) -> list[Machine]:
        space, found = empty_dual_space(squares.size, n_features), []
        for c in range(share.start, share.stop):
            space.w[:], space.alpha[:] = begun.w, begun.alpha
            space.random[0] = state_of(seed, c + 1)
            move_over(arranged, members[c], problem.bias, space)
            sweeps = solve_weighted(arranged, squares, row_weights, problem, space)
            found.append(machine_of(c, space.w, problem.bias, prune, sweeps))
            space.sign[members[c]] = -1
        return found

    shares = stretches(n_classes, per_thread=STRETCHES_PER_THREAD)
    return collect(list(itertools.chain(*in_threads(train, shares))), features)


@helper()
def sweep_weighted(
    instances: Instances, squares: Array, weights: Array, problem: DualProblem, space: DualSpace, active: int
) -> Any:
    """Do what `sweep` does, with bounds by row."""
    w, alpha, sign, order, _ = space
    bias, last, kept = problem.bias, np.uint32(space.w.size - 1), np.uint64(0)
    largest, least = -np.inf, np.inf
    still = RESTING_SHARE * problem.tolerance
    for s in range(np.uint64(active)):
        i = order[s]
        y, a = np.float64(sign[i]), alpha[i]
        upper, ridge = problem.upper * weights[i], problem.ridge / weights[i]
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


@kernel(int64(INSTANCES, reads(float64), reads(float64), DUAL_PROBLEM, DUAL_SPACE), **LEAN)
def solve_weighted(instances: Instances, squares: Array, weights: Array, problem: DualProblem, space: DualSpace) -> int:
    """Do what `solve` does, with bounds by row."""
    n, order = space.alpha.size, space.order
    for number in range(1, problem.most_sweeps + 1):
        for i in range(np.uint32(n)):
            order[i] = i
        shuffle(order, n, space.random)
        active, largest, least = sweep_weighted(instances, squares, weights, problem, space, n)
        if largest - least <= problem.tolerance:
            return number
        goal = max(FOCUS_SPREAD * (largest - least), problem.tolerance / 2)
        for _ in range(MOST_FOCUSED_SWEEPS):
            shuffle(order, active, space.random)
            active, largest, least = sweep_weighted(instances, squares, weights, problem, space, active)
            if largest - least <= goal:
                break
    return problem.most_sweeps + 1
