"""Sweeps with the weights in an index, where a matrix of all weights would be too large; see `structured`."""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.moves import MOVES, Moves, forget, move_all
from harness.sdk.kernels.rows import ROWS, Rows, has_room
from harness.sdk.kernels.scoring import score
from harness_svm.kernels.class_tree import OrderedTree, come_down, sum_subtrees
from harness_svm.kernels.member_steps import forget_shift, improve
from harness_svm.kernels.structured import (
    BLOCK,
    DUALS,
    GIVEN,
    MOST_STEPS,
    RELUCTANCE,
    Block,
    Goal,
    fetch_duals,
    put_duals_back,
    set_gradients,
)


@kernel(int64(*GIVEN, ROWS, DUALS, BLOCK, MOVES, writes(float64), reads(float64)), **LEAN)
def sweep_tree_rows(
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
    """As `sweep_matrix` does it; the index too may be what has no room."""
    near = RELUCTANCE * goal.tolerance
    for done in range(order.size):
        i = order[done]
        if not has_room(duals, order[done : done + 1], MOST_STEPS):
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
        if not move_all(rows, instances, i, moves, n):
            put_duals_back(duals, np.uint32(i), block, size, False)
            forget(moves, n)
            return done
        put_duals_back(duals, np.uint32(i), block, size, violations[i] > near)
        forget(moves, n)
    return order.size
