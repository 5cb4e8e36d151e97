"""Sweeps and ranking like those of `tree_sweeps`, for classes whose nodes form a lattice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float64, int32, int64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.moves import MOVES, Moves
from harness.sdk.kernels.rows import FROZEN_ROWS, Rows
from harness_svm.structured.kernels.dense_weights import adder_of_duals, move_range
from harness_svm.structured.kernels.lattice import LATTICE, Lattice, alike_in_lattice, score_nodes, shared_sum
from harness_svm.structured.kernels.pair_steps import Relations, pair_steps
from harness_svm.structured.kernels.subproblem import (
    BLOCK,
    DUALS,
    LATTICE_SWEEP,
    SWEEP_STATE,
    Block,
    Sweep,
    SweepState,
)
from harness_svm.structured.kernels.sweeps import rank_with, ranks_by_scores, sweep_with_matrix


@helper()
def set_lattice_gradients(lattice: Lattice, y: Any, square: float, slack: bool, block: Block) -> None:
    """Compute the gradient g_c of each false class, from the scores after the moves so far."""
    scores, shift, gradient = block.scores, block.shift, block.gradient
    own = scores[y] + square * shift[y]
    for c in range(np.uint32(scores.size)):
        gradient[c] = lattice.leaving[y] + lattice.entering[c]
    for e in range(np.uint64(lattice.start[y]), np.uint64(lattice.start[y + np.uint32(1)])):
        z = lattice.nodes[e]
        both = lattice.missed[z] + lattice.false[z]
        for p in range(np.uint64(lattice.first[z]), np.uint64(lattice.first[z + np.uint32(1)])):
            gradient[lattice.classes[p]] -= both
    for c in range(np.uint32(scores.size)):
        lead = own - (scores[c] + square * shift[c])
        gradient[c] = gradient[c] * (1.0 - lead) if slack else gradient[c] - lead
    gradient[y] = -np.inf


@helper()
def cost_in_lattice(lattice: Lattice, y: Any, c: Any) -> Any:
    """Return the cost of predicting class c for y."""
    both = shared_sum(lattice, y, c, lattice.missed) + shared_sum(lattice, y, c, lattice.false)
    return lattice.leaving[y] + lattice.entering[c] - both


@helper()
def line_up_in_lattice(lattice: Lattice, y: Any, slack: bool, block: Block, size: Any) -> None:
    """Compute the rate of each member, and its likeness with the true class."""
    for p in range(size):
        c = block.members[p]
        block.own[p] = alike_in_lattice(lattice, y, c)
        block.rate[p] = cost_in_lattice(lattice, y, c) if slack else 1.0


@helper()
def compare_in_lattice(lattice: Lattice, place: Any, block: Block, size: Any, likeness: Array) -> None:
    """Compute <L(one), L(c)> of the member at this place with each of the others."""
    for p in range(size):
        likeness[p] = alike_in_lattice(lattice, block.members[place], block.members[p])


@helper()
def spread_in_lattice(lattice: Lattice, c: Any, amount: float, shift: Array) -> None:
    """Add the effect of a growing coefficient of class c to the score of each class that shares a node with it."""
    for e in range(np.uint64(lattice.start[c]), np.uint64(lattice.start[c + np.uint32(1)])):
        z = lattice.nodes[e]
        part = amount * lattice.scale[c] * lattice.weight[z]
        for p in range(np.uint64(lattice.first[z]), np.uint64(lattice.first[z + np.uint32(1)])):
            other = lattice.classes[p]
            shift[other] += part * lattice.scale[other]


IN_LATTICE = Relations(
    set_lattice_gradients, line_up_in_lattice, compare_in_lattice, alike_in_lattice, spread_in_lattice
)
improve = pair_steps(IN_LATTICE).improve


@helper()
def move_all_classes(
    W: Array, instances: Instances, i: Any, lattice: Lattice, shift: Array, moves: Moves, n: int
) -> None:
    """W[f, c] += x_f shift_c for all classes if any moves; then all shifts are reset."""
    if n > 0:
        move_range(W, instances, i, shift, np.uint64(0), np.uint64(shift.size))
        shift[:] = 0.0


@helper()
def score_by_lattice(lattice: Lattice, block: Block) -> None:
    """Replace the products <u_y, x> in `block.scores` by the scores F(x, y)."""
    score_nodes(lattice, block.scores, block.sums, block.scores)


sweep_rows = sweep_with_matrix(improve, move_all_classes)
add_duals = adder_of_duals(IN_LATTICE)
fill_ranks = ranks_by_scores(score_by_lattice)


@kernel(int64(LATTICE_SWEEP, writes(float64, 2), SWEEP_STATE), **LEAN)
def sweep_lattice(sweep: Sweep, W: Array, state: SweepState) -> int:
    """Sweep like `sweep_matrix`."""
    return sweep_rows(sweep, W, state)  # type: ignore[no-any-return]  # an int64


@kernel(int64(INSTANCES, reads(int32), LATTICE, boolean, DUALS, BLOCK, MOVES, writes(float64, 2)), **LEAN)
def sum_up_lattice(
    instances: Instances,
    labels: Array,
    lattice: Lattice,
    slack: bool,
    duals: Rows,
    block: Block,
    moves: Moves,
    u: Array,
) -> int:
    """Add to u, features x classes, the sum from the duals: u_c += r_c (coefficient of c in i) x_i. Returns 0."""
    add_duals(lattice, instances, labels, slack, duals, block, moves, u)
    return 0


@kernel(
    int64(FROZEN_ROWS, LATTICE, INSTANCES, reads(float64), reads(float64), BLOCK, writes(int32, 2)), **LEAN
)  # fmt: skip
def fill_lattice_ranks(
    rows: Rows, lattice: Lattice, instances: Instances, base: Array, zeros: Array, block: Block, ranked: Array
) -> int:
    """Rank the classes for each instance.

    An instance without features gets only padding. Returns the number of others.
    """
    return fill_ranks(rows, lattice, instances, base, zeros, block, ranked)  # type: ignore[no-any-return]  # an int64


def rank_by_lattice(rows: Rows, lattice: Lattice, instances: Instances, base: Array, k: int) -> NDArray[np.int32]:
    """Return the k best classes of each instance, best first, by F(x, y) + base_y; -1 pads."""
    return rank_with(fill_lattice_ranks, rows, lattice, instances, base, k)
