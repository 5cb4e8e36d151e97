"""Sweeps over rows, and ranking, for every machine of `subproblem`.

The machines differ in what they do with one row. These functions are arguments here, and are compiled into the kernel
that calls the sweep: as fast as a sweep written for one machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.sdk.kernels.compile import helper
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness.sdk.kernels.moves import forget
from harness.sdk.kernels.rows import Rows, freeze
from harness.sdk.kernels.score import fill_top_k, score, squared_norm
from harness_svm.structured.kernels.dense_weights import begin_visit, score_densely
from harness_svm.structured.kernels.subproblem import (
    IDLE,
    Block,
    Sweep,
    SweepState,
    empty_block,
    fetch_duals,
    has_dual_room,
    move_rows,
    put_duals_back,
)


def sweep_with_matrix(improve: Any, move: Any) -> Any:
    """Return the sweep with the weights in a matrix.

    Parameters
    ----------
    improve : function
        `(tree, y, square, goal, near, block, size, moves)`: improves the duals of a row, from the scores of all
        classes, unless the row is within `near` of its optimum. Returns its former distance from the optimum, the
        number of members, and the number of classes that move.
    move : function
        `(W, instances, i, tree, shift, moves, n)`: moves the weights of n classes along row i, and resets the shifts.

    Returns
    -------
    function
        `(sweep, W, state)`: visits the rows in their order, and stores each one's distance from its optimum. Returns
        the number of rows done: all of them, or those before the first one without room for its duals.
    """

    @helper()
    def visit_rows(sweep: Sweep, W: Array, state: SweepState) -> int:
        instances, squares, labels, order, tree, goal = sweep
        duals, block, moves, violations = state
        near = IDLE * goal.tolerance
        for done in range(order.size):
            i = order[done]
            if not begin_visit(sweep, duals, done):
                return done
            score_densely(W, instances, i, block.scores)
            size = fetch_duals(duals, np.uint32(i), block)
            violations[i], size, n = improve(
                tree, np.uint32(labels[i]), squares[i], goal, near, block, size, moves
            )  # fmt: skip
            move(W, instances, i, tree, block.shift, moves, n)
            put_duals_back(duals, np.uint32(i), block, size, violations[i] > near)
            forget(moves, n)
        return order.size

    return visit_rows


def sweep_with_index(improve: Any, share: float) -> Any:
    """Return the sweep with the weights in an index, where a matrix would be too large.

    Parameters
    ----------
    improve : function
        As for `sweep_with_matrix`, from the products with the vectors u_c of the classes; it also resets the shifts.
    share : float
        Rows within this share of the tolerance from their optimum are left alone.

    Returns
    -------
    function
        `(sweep, rows, state, zeros)`: as for `sweep_with_matrix`; it stops also if the index has no room.
    """

    @helper()
    def visit_rows(sweep: Sweep, rows: Rows, state: SweepState, zeros: Array) -> int:
        instances, squares, labels, order, tree, goal = sweep
        duals, block, moves, violations = state
        near = share * goal.tolerance
        for done in range(order.size):
            i = order[done]
            if not has_dual_room(duals, order, done):
                return done
            score(rows, instances, i, zeros, block.scores)
            size = fetch_duals(duals, np.uint32(i), block)
            violations[i], size, n = improve(
                tree, np.uint32(labels[i]), squares[i], goal, near, block, size, moves
            )  # fmt: skip
            if not move_rows(rows, instances, i, state, size, n, violations[i] > near):
                return done
        return order.size

    return visit_rows


def ranks_by_scores(complete: Any) -> Any:
    """Return the function that ranks the classes for each instance.

    Parameters
    ----------
    complete : function
        `(tree, block)`: replaces the products with the vectors u_c in `block.scores` by the scores F(x, y).

    Returns
    -------
    function
        `(rows, tree, instances, base, zeros, block, ranked)`: an instance without features gets only padding. Returns
        the number of others.
    """

    @helper()
    def fill_ranks(
        rows: Rows, tree: Any, instances: Instances, base: Array, zeros: Array, block: Block, ranked: Array
    ) -> int:
        scores, n = block.scores, 0
        for i in range(ranked.shape[0]):
            if squared_norm(instances, i) == 0:
                ranked[i] = -1
                continue
            score(rows, instances, i, zeros, scores)
            complete(tree, block)
            for c in range(np.uint32(scores.size)):
                scores[c] += base[c]
            fill_top_k(scores, ranked[i])
            n += 1
        return n

    return fill_ranks


def rank_with(
    fill: Callable[..., int], rows: Rows, tree: Any, instances: Instances, base: Array, k: int
) -> NDArray[np.int32]:
    """Return the k best classes of each instance by a kernel that fills the ranks; -1 pads."""
    ranked = np.empty((instances.n_instances, k), np.int32)
    tree = type(tree)(*map(frozen, tree))  # unpickled arrays are writable
    fill(freeze(rows), tree, instances, base, np.zeros_like(base), empty_block(tree), ranked)
    return ranked
