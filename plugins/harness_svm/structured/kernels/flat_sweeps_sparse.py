"""Sweeps of Crammer and Singer's machine with the weights in an index, where a matrix would be too large."""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from harness.sdk.kernels.compile import LEAN, kernel, reads
from harness.sdk.kernels.instances import Array
from harness.sdk.kernels.rows import ROWS, Rows
from harness.sdk.kernels.score import score
from harness_svm.structured.kernels.flat_sweeps import decide
from harness_svm.structured.kernels.subproblem import (
    IDLE,
    RELUCTANCE,
    SWEEP,
    SWEEP_STATE,
    Sweep,
    SweepState,
    fetch_duals,
    has_dual_room,
    move_rows,
)


@kernel(int64(SWEEP, ROWS, SWEEP_STATE, reads(float64)), **LEAN)
def sweep_flat_rows(sweep: Sweep, rows: Rows, state: SweepState, zeros: Array) -> int:
    """Sweep like `sweep_flat`, but stop also if the index has no room."""
    instances, squares, labels, order, _, goal = sweep
    duals, block, moves, violations = state
    slack = RELUCTANCE * goal.tolerance
    for done in range(order.size):
        i = order[done]
        if not has_dual_room(duals, order, done):
            return done
        score(rows, instances, i, zeros, block.scores)
        size = fetch_duals(duals, np.uint32(i), block)
        violations[i], size, n = decide(np.uint32(labels[i]), squares[i], goal, slack, block, size, moves)
        if not move_rows(rows, instances, i, state, size, n, violations[i] > IDLE * goal.tolerance):
            return done
    return order.size
