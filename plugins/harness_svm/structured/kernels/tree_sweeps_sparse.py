"""Sweeps with the weights in an index, if a matrix of all weights would be too large; see `subproblem`."""

from __future__ import annotations

from typing import Any

from numba import float64, int64

from harness.sdk.kernels.compile import LEAN, helper, kernel, reads
from harness.sdk.kernels.instances import Array
from harness.sdk.kernels.moves import Moves
from harness.sdk.kernels.rows import ROWS, Rows
from harness_svm.structured.kernels.class_tree import OrderedTree
from harness_svm.structured.kernels.pair_steps import forget_shift, improve
from harness_svm.structured.kernels.subproblem import RELUCTANCE, SWEEP, SWEEP_STATE, Block, Goal, Sweep, SweepState
from harness_svm.structured.kernels.sweeps import sweep_with_index
from harness_svm.structured.kernels.tree_sweeps import score_by_tree


@helper()
def improve_by_index(
    tree: OrderedTree, y: Any, square: float, goal: Goal, near: float, block: Block, size: Any, moves: Moves
) -> Any:
    """Improve like `improve`, from the products <u_y, x>."""
    score_by_tree(tree, block)
    violation, size, n = improve(tree, y, square, goal, near, block, size, moves)
    forget_shift(tree, block.shift, moves, n)
    return violation, size, n


sweep_rows = sweep_with_index(improve_by_index, RELUCTANCE)


@kernel(int64(SWEEP, ROWS, SWEEP_STATE, reads(float64)), **LEAN)
def sweep_tree_rows(sweep: Sweep, rows: Rows, state: SweepState, zeros: Array) -> int:
    """Sweep like `sweep_matrix`, but stop also if the index has no room."""
    return sweep_rows(sweep, rows, state, zeros)  # type: ignore[no-any-return]  # an int64
