"""Sweeps of the support vector machines that train all classes at once, and ranking by their weights.

The vectors v_y that score the classes (see `subproblem`) are kept in a matrix, features x classes. The weights u_y are
summed up from the duals at the end. `tree_sweeps_sparse` is for weights that do not fit into a matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float64, int32, int64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness.sdk.kernels.moves import MOVES, Moves, forget
from harness.sdk.kernels.rows import FROZEN_ROWS, Rows, freeze
from harness.sdk.kernels.score import fill_top_k, score, squared_norm
from harness_svm.structured.kernels.class_tree import (
    CLASS_TREE,
    ORDERED_TREE,
    ClassTree,
    OrderedTree,
    come_down,
    sum_subtrees,
)
from harness_svm.structured.kernels.dense_weights import adder_of_duals, begin_visit, move_range, score_densely
from harness_svm.structured.kernels.pair_steps import IN_TREE, forget_shift, improve
from harness_svm.structured.kernels.subproblem import (
    BLOCK,
    DUALS,
    IDLE,
    SWEEP,
    SWEEP_STATE,
    Block,
    Sweep,
    SweepState,
    empty_block,
    fetch_duals,
    put_duals_back,
    set_gradients,
)

add_duals = adder_of_duals(IN_TREE)


@helper()
def move_branches(
    W: Array, instances: Instances, i: Any, tree: OrderedTree, shift: Array, moves: Moves, n: int
) -> None:
    """W[f, c] += x_f shift_c for all classes in the branches of moving ones; then all shifts are reset."""
    for m in range(np.uint32(n)):
        top = tree.top[moves.classes[m]]
        lo, hi = np.uint64(tree.first[top]), np.uint64(tree.end[top])
        if not moves.marked[lo]:
            moves.marked[lo] = True
            move_range(W, instances, i, shift, lo, hi)
    for m in range(np.uint32(n)):
        moves.marked[tree.first[tree.top[moves.classes[m]]]] = False
    forget_shift(tree, shift, moves, n)


@kernel(int64(SWEEP, writes(float64, 2), SWEEP_STATE), **LEAN)
def sweep_matrix(sweep: Sweep, W: Array, state: SweepState) -> int:
    """Visit the instances in this order, with the weights in a matrix, and store each one's distance from its optimum.

    Returns the number of instances done: all of them, or those before the first one without room for its duals.
    """
    instances, squares, labels, order, tree, goal = sweep
    duals, block, moves, violations = state
    for done in range(order.size):
        i = order[done]
        if not begin_visit(sweep, duals, done):
            return done
        y = np.uint32(labels[i])
        score_densely(W, instances, i, block.scores)
        set_gradients(tree, y, squares[i], goal.slack, block)
        size = fetch_duals(duals, np.uint32(i), block)
        violations[i], size, n = improve(tree, y, squares[i], goal, IDLE * goal.tolerance, block, size, moves)
        move_branches(W, instances, i, tree, block.shift, moves, n)
        put_duals_back(duals, np.uint32(i), block, size, violations[i] > IDLE * goal.tolerance)
        forget(moves, n)
    return order.size


@kernel(int64(INSTANCES, reads(int32), ORDERED_TREE, boolean, DUALS, BLOCK, MOVES, writes(float64, 2)), **LEAN)
def sum_up(
    instances: Instances,
    labels: Array,
    tree: OrderedTree,
    slack: bool,
    duals: Rows,
    block: Block,
    moves: Moves,
    u: Array,
) -> int:
    """Add to u, features x classes, the sum from the duals: u_c += r_c (coefficient of c in i) x_i. Returns 0."""
    add_duals(tree, instances, labels, slack, duals, block, moves, u)
    return 0


def rank_by_tree(rows: Rows, tree: ClassTree, instances: Instances, base: Array, k: int) -> NDArray[np.int32]:
    """Return the k best classes of each instance, best first, by F(x, y) + base_y; -1 pads."""
    ranked = np.empty((instances.n_instances, k), np.int32)
    tree = ClassTree(*(frozen(array) for array in tree))  # unpickled arrays are writable
    fill_tree_ranks(freeze(rows), tree, instances, base, np.zeros_like(base), empty_block(tree), ranked)
    return ranked


@kernel(
    int64(FROZEN_ROWS, CLASS_TREE, INSTANCES, reads(float64), reads(float64), BLOCK, writes(int32, 2)), **LEAN
)  # fmt: skip
def fill_tree_ranks(
    rows: Rows, tree: ClassTree, instances: Instances, base: Array, zeros: Array, block: Block, ranked: Array
) -> int:
    """Rank the classes for each instance.

    An instance without features gets only padding. Returns the number of others.
    """
    scores, n = block.scores, 0
    for i in range(ranked.shape[0]):
        if squared_norm(instances, i) == 0:
            for place in range(ranked.shape[1]):
                ranked[i, place] = -1
            continue
        score(rows, instances, i, zeros, scores)
        sum_subtrees(tree, scores, block.sums)
        come_down(tree, block.sums, block.totals)
        for c in range(np.uint32(scores.size)):
            scores[c] = tree.scale[c] * block.totals[tree.leaf[c]] + base[c]
        fill_top_k(scores, ranked[i])
        n += 1
    return n
