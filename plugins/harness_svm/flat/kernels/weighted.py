"""One-vs-rest machines whose rows have weights: coordinate descent in the dual, on sparse rows.

    min_w  1/2 ||w||^2 + C sum_i s_i max(0, 1 - y_i <w, x_i>)^p        p = 1 or 2

A weight s_i > 0 multiplies the cost of row i: the dual of `dual` with U_i = s_i U and D_i = D / s_i. Rows without
weights take the faster kernels of `dual` and `dense_dual`, which read no bounds by row.
"""

from __future__ import annotations

import itertools

import numpy as np
from numba import float64, int64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, kernel, reads
from harness.sdk.kernels.instances import Array, Instances, Labels, by_frequency, places_of, renamed, square_lengths
from harness.sdk.threads import in_threads, stretches
from harness_svm.flat.kernels.dual import (
    DUAL_PROBLEM,
    DUAL_SPACE,
    DualProblem,
    DualSpace,
    empty_dual_space,
    move_over,
    run_sweeps,
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


@kernel(int64(INSTANCES, reads(float64), reads(float64), DUAL_PROBLEM, DUAL_SPACE), **LEAN)
def solve_weighted(instances: Instances, squares: Array, weights: Array, problem: DualProblem, space: DualSpace) -> int:
    """Do what `solve` does, with bounds by row."""
    return run_sweeps(instances, squares, weights, problem, space)
