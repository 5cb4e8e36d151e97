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
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.moves import MOVES, Moves
from harness.sdk.kernels.rows import FROZEN_ROWS, Rows
from harness_svm.structured.kernels.class_tree import (
    CLASS_TREE,
    ORDERED_TREE,
    ClassTree,
    OrderedTree,
    come_down,
    sum_subtrees,
)
from harness_svm.structured.kernels.dense_weights import adder_of_duals, move_range
from harness_svm.structured.kernels.pair_steps import IN_TREE, forget_shift, improve
from harness_svm.structured.kernels.subproblem import BLOCK, DUALS, SWEEP, SWEEP_STATE, Block, Sweep, SweepState
from harness_svm.structured.kernels.sweeps import rank_with, ranks_by_scores, sweep_with_matrix


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


@helper()
def score_by_tree(tree: ClassTree | OrderedTree, block: Block) -> None:
    """Replace the products <u_y, x> in `block.scores` by the scores F(x, y)."""
    sum_subtrees(tree, block.scores, block.sums)
    come_down(tree, block.sums, block.totals)
    for c in range(np.uint32(block.scores.size)):
        block.scores[c] = tree.scale[c] * block.totals[tree.leaf[c]]


sweep_rows = sweep_with_matrix(improve, move_branches)
add_duals = adder_of_duals(IN_TREE)
fill_ranks = ranks_by_scores(score_by_tree)


@kernel(int64(SWEEP, writes(float64, 2), SWEEP_STATE), **LEAN)
def sweep_matrix(sweep: Sweep, W: Array, state: SweepState) -> int:
    """Visit the instances in this order, with the weights in a matrix, and store each one's distance from its optimum.

    Returns the number of instances done: all of them, or those before the first one without room for its duals.
    """
    return sweep_rows(sweep, W, state)  # type: ignore[no-any-return]  # an int64


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


@kernel(
    int64(FROZEN_ROWS, CLASS_TREE, INSTANCES, reads(float64), reads(float64), BLOCK, writes(int32, 2)), **LEAN
)  # fmt: skip
def fill_tree_ranks(
    rows: Rows, tree: ClassTree, instances: Instances, base: Array, zeros: Array, block: Block, ranked: Array
) -> int:
    """Rank the classes for each instance.

    An instance without features gets only padding. Returns the number of others.
    """
    return fill_ranks(rows, tree, instances, base, zeros, block, ranked)  # type: ignore[no-any-return]  # an int64


def rank_by_tree(rows: Rows, tree: ClassTree, instances: Instances, base: Array, k: int) -> NDArray[np.int32]:
    """Return the k best classes of each instance, best first, by F(x, y) + base_y; -1 pads."""
    return rank_with(fill_tree_ranks, rows, tree, instances, base, k)
