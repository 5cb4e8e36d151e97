"""Sweeps with the weights in an index, if a matrix of all weights would be too large; see `subproblem`."""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from harness.sdk.kernels.compile import LEAN, kernel, reads
from harness.sdk.kernels.instances import Array
from harness.sdk.kernels.rows import ROWS, Rows
from harness.sdk.kernels.score import score
from harness_svm.structured.kernels.class_tree import come_down, sum_subtrees
from harness_svm.structured.kernels.pair_steps import forget_shift, improve
from harness_svm.structured.kernels.subproblem import (
    RELUCTANCE,
    SWEEP,
    SWEEP_STATE,
    Sweep,
    SweepState,
    fetch_duals,
    has_dual_room,
    move_rows,
    set_gradients,
)


@kernel(int64(SWEEP, ROWS, SWEEP_STATE, reads(float64)), **LEAN)
def sweep_tree_rows(sweep: Sweep, rows: Rows, state: SweepState, zeros: Array) -> int:
    """Sweep like `sweep_matrix`, but stop also if the index has no room."""
    instances, squares, labels, order, tree, goal = sweep
    duals, block, moves, violations = state
    near = RELUCTANCE * goal.tolerance
    for done in range(order.size):
        i = order[done]
        if not has_dual_room(duals, order, done):
            return done
        y = np.uint32(labels[i])
        score(rows, instances, i, zeros, block.scores)
        sum_subtrees(tree, block.scores, block.sums)
        come_down(tree, block.sums, block.totals)
        for c in range(np.uint32(block.scores.size)):
            block.scores[c] = tree.scale[c] * block.totals[tree.leaf[c]]
        set_gradients(tree, y, squares[i], goal.slack, block)
        size = fetch_duals(duals, np.uint32(i), block)
        violations[i], size, n = improve(tree, y, squares[i], goal, near, block, size, moves)
        forget_shift(tree, block.shift, moves, n)
        if not move_rows(rows, instances, i, state, size, n, violations[i] > near):
            return done
    return order.size
