"""Weights in a matrix, features x classes, if it is not too large: scores of an instance, and moves along it."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.sdk.kernels.compile import helper
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.moves import Moves, forget, plan_move
from harness.sdk.kernels.rows import Rows
from harness.sdk.kernels.score import fetch_instance, fetch_row
from harness_svm.structured.kernels.pair_steps import Relations
from harness_svm.structured.kernels.subproblem import Block, Sweep, fetch_duals, has_dual_room, put_duals_back


@helper()
def begin_visit(sweep: Sweep, duals: Rows, done: Any) -> bool:
    """Fetch the next instance into the cache; returns False if there is no room for its duals."""
    if not has_dual_room(duals, sweep.order, done):
        return False
    fetch_instance(sweep.instances, sweep.order, done)
    fetch_row(duals, sweep.order, done)
    return True


@helper()
def score_densely(W: Array, instances: Instances, i: Any, scores: Array) -> None:
    """Compute <w_c, x> of each class, four features at a time to pass over the scores less often."""
    for c in range(np.uint64(scores.size)):
        scores[c] = 0.0
    indices, data = instances.indices, instances.data
    j, end = instances.indptr[i], instances.indptr[i + 1]
    while j + 4 <= end:
        one, two = np.uint32(indices[j]), np.uint32(indices[j + 1])
        three, four = np.uint32(indices[j + 2]), np.uint32(indices[j + 3])
        x, y, z, v = data[j], data[j + 1], data[j + 2], data[j + 3]
        for c in range(np.uint64(scores.size)):
            scores[c] += (x * W[one, c] + y * W[two, c]) + (z * W[three, c] + v * W[four, c])
        j += 4
    while j < end:
        one, x = np.uint32(indices[j]), data[j]
        for c in range(np.uint64(scores.size)):
            scores[c] += x * W[one, c]
        j += 1


@helper()
def move_densely(W: Array, instances: Instances, i: Any, moves: Moves, n: int) -> None:
    """W[f, c] += x_f change_c for the n classes that move, class by class: only W changes in the inner loop."""
    lo, hi = np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1])
    for m in range(np.uint32(n)):
        c = moves.classes[m]
        change = moves.changes[c]
        for j in range(lo, hi):
            W[np.uint32(instances.indices[j]), c] += np.float64(instances.data[j]) * change


@helper()
def move_range(W: Array, instances: Instances, i: Any, changes: Array, lo: Any, hi: Any) -> None:
    """W[f, c] += x_f change_c for the neighbouring classes from lo to hi - 1."""
    for j in range(np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1])):
        f, x = np.uint32(instances.indices[j]), np.float64(instances.data[j])
        for c in range(lo, hi):
            W[f, c] += x * changes[c]


def adder_of_duals(related: Relations) -> Any:
    """Return the function that sums up duals by these relations."""
    line_up = related.line_up

    @helper()
    def add_duals(
        tree: Any,
        instances: Instances,
        labels: Array,
        slack: bool,
        duals: Rows,
        block: Block,
        moves: Moves,
        u: Array,
    ) -> None:
        """Add to u, features x classes, the sum from the duals: u_c += r_c (coefficient of c in i) x_i."""
        for i in range(labels.size):
            y = np.uint32(labels[i])
            size = fetch_duals(duals, np.uint32(i), block)
            line_up(tree, y, slack, block, size)
            gain, n = 0.0, 0
            for m in range(size):
                c = block.members[m]
                amount = block.rate[m] * block.beta[c]
                gain += amount
                n = plan_move(moves, n, c, -tree.scale[c] * amount)
            n = plan_move(moves, n, y, tree.scale[y] * gain)
            move_densely(u, instances, i, moves, n)
            put_duals_back(duals, np.uint32(i), block, size, False)
            forget(moves, n)

    return add_duals
