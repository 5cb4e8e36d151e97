"""Sweeps of Crammer and Singer's machine with the weights in an index, where a matrix would be too large."""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.moves import MOVES, Moves, forget, move_all
from harness.sdk.kernels.rows import ROWS, Rows, has_room
from harness.sdk.kernels.scoring import score
from harness_svm.kernels.class_tree import OrderedTree
from harness_svm.kernels.flat_sweeps import decide
from harness_svm.kernels.structured import (
    BLOCK,
    DUALS,
    GIVEN,
    IDLE,
    MOST_STEPS,
    RELUCTANCE,
    Block,
    Goal,
    fetch_duals,
    put_duals_back,
)


@kernel(int64(*GIVEN, ROWS, DUALS, BLOCK, MOVES, writes(float64), reads(float64)), **LEAN)
def sweep_flat_rows(
    instances: Instances,
    squares: Array,
    labels: Array,
    order: Array,
    tree: OrderedTree,
    goal: Goal,
    rows: Rows,
    duals: Rows,
    block: Block,
    moves: Moves,
    violations: Array,
    zeros: Array,
) -> int:
    """As `sweep_flat` does it; the index too may be what has no room."""
    slack = RELUCTANCE * goal.tolerance
    for done in range(order.size):
        i = order[done]
        if not has_room(duals, order[done : done + 1], MOST_STEPS):
            return done
        score(rows, instances, i, zeros, block.scores)
        size = fetch_duals(duals, np.uint32(i), block)
        violations[i], size, n = decide(np.uint32(labels[i]), squares[i], goal, slack, block, size, moves)
        if not move_all(rows, instances, i, moves, n):
            put_duals_back(duals, np.uint32(i), block, size, False)
            forget(moves, n)
            return done
        put_duals_back(duals, np.uint32(i), block, size, violations[i] > IDLE * goal.tolerance)
        forget(moves, n)
    return order.size
