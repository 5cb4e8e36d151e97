"""Sweeps over a lattice with the weights in an index, if a matrix of all weights would be too large."""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from harness.sdk.kernels.compile import LEAN, kernel, reads
from harness.sdk.kernels.instances import Array
from harness.sdk.kernels.rows import ROWS, Rows
from harness.sdk.kernels.score import score
from harness_svm.structured.kernels.lattice import score_nodes
from harness_svm.structured.kernels.lattice_sweeps import improve, set_lattice_gradients
from harness_svm.structured.kernels.subproblem import (
    LATTICE_SWEEP,
    RELUCTANCE,
    SWEEP_STATE,
    Sweep,
    SweepState,
    fetch_duals,
    has_dual_room,
    move_rows,
)


@kernel(int64(LATTICE_SWEEP, ROWS, SWEEP_STATE, reads(float64)), **LEAN)
def sweep_lattice_rows(sweep: Sweep, rows: Rows, state: SweepState, zeros: Array) -> int:
    """Sweep like `sweep_lattice`, but stop also if the index has no room."""
    instances, squares, labels, order, lattice, goal = sweep
    duals, block, moves, violations = state
    near = RELUCTANCE * goal.tolerance
    for done in range(order.size):
        i = order[done]
        if not has_dual_room(duals, order, done):
            return done
        y = np.uint32(labels[i])
        score(rows, instances, i, zeros, block.scores)
        score_nodes(lattice, block.scores, block.sums, block.scores)
        set_lattice_gradients(lattice, y, squares[i], goal.slack, block)
        size = fetch_duals(duals, np.uint32(i), block)
        violations[i], size, n = improve(lattice, y, squares[i], goal, near, block, size, moves)
        if n > 0:
            block.shift[:] = 0.0
        if not move_rows(rows, instances, i, state, size, n, violations[i] > near):
            return done
    return order.size
