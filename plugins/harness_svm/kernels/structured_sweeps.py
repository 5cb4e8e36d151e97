"""Sweeps of the support vector machines that train all classes at once, and ranking by what they learned.

The weights u_y (see `structured`) are kept in a matrix, features x classes; `structured_rows` is for those that are too
many.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int32, int64
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array, frozen
from harness.sdk.kernels.compiling import LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.moves import MOVES, Moves, forget
from harness.sdk.kernels.prefetching import fetch_instance, fetch_row
from harness.sdk.kernels.rows import FROZEN_ROWS, Rows, freeze, has_room
from harness.sdk.kernels.scoring import score, squared_norm
from harness.sdk.kernels.signatures import INSTANCES
from harness.sdk.kernels.topk import fill_top_k
from harness_svm.kernels.class_tree import CLASS_TREE, ClassTree, come_down, sum_subtrees
from harness_svm.kernels.matrix import move_densely, score_densely
from harness_svm.kernels.structured import (
    BLOCK,
    DUALS,
    GIVEN,
    IDLE,
    MOST_STEPS,
    Block,
    Goal,
    empty_block,
    fetch_duals,
    improve,
    judge,
    put_duals_back,
    set_gradients,
)


@kernel(int64(*GIVEN, writes(float64, 2), DUALS, BLOCK, MOVES, writes(float64)), **LEAN)
def sweep_matrix(
    instances: Instances,
    squares: Array,
    labels: Array,
    order: Array,
    tree: ClassTree,
    goal: Goal,
    W: Array,
    duals: Rows,
    block: Block,
    moves: Moves,
    violations: Array,
) -> int:
    """Visit the instances in this order, with the weights in a matrix, and note how far each was from its optimum.

    Gives the number of instances done: all of them, or those before the first that the duals have no room for.
    """
    for done in range(order.size):
        i = order[done]
        if not has_room(duals, order[done : done + 1], MOST_STEPS):
            return done
        fetch_instance(instances, order, done)
        fetch_row(duals, order, done)
        y = np.uint32(labels[i])
        score_densely(W, instances, i, block.scores)
        sum_subtrees(tree, block.scores, block.sums)
        judge(tree, y, goal.slack, block)
        set_gradients(tree, y, block)
        size = fetch_duals(duals, np.uint32(i), block)
        violations[i], size, n = improve(tree, y, squares[i], goal, IDLE * goal.tolerance, block, size, moves)
        move_densely(W, instances, i, moves, n)
        put_duals_back(duals, np.uint32(i), block, size, violations[i] > IDLE * goal.tolerance)
        forget(moves, n)
    return order.size


def rank_by_tree(rows: Rows, tree: ClassTree, instances: Instances, base: Array, k: int) -> NDArray[np.int32]:
    """The k best classes of each instance, best first, by F(x, y) + base_y; -1 pads."""
    ranked = np.empty((instances.n_instances, k), np.int32)
    tree = ClassTree(*(frozen(array) for array in tree))  # one that was pickled is no more
    fill_tree_ranks(freeze(rows), tree, instances, base, np.zeros_like(base), empty_block(tree), ranked)
    return ranked


@kernel(
    int64(FROZEN_ROWS, CLASS_TREE, INSTANCES, reads(float64), reads(float64), BLOCK, writes(int32, 2)), **LEAN
)  # fmt: skip
def fill_tree_ranks(
    rows: Rows, tree: ClassTree, instances: Instances, base: Array, zeros: Array, block: Block, ranked: Array
) -> int:
    """Rank the classes for each instance; one without a feature has only padding. Gives how many had one."""
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
