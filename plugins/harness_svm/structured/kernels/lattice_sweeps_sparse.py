"""Sweeps over a lattice with the weights in an index, if a matrix of all weights would be too large."""

from __future__ import annotations

from typing import Any

from numba import float64, int64

from harness.sdk.kernels.compile import LEAN, helper, kernel, reads
from harness.sdk.kernels.instances import Array
from harness.sdk.kernels.moves import Moves
from harness.sdk.kernels.rows import ROWS, Rows
from harness_svm.structured.kernels.lattice import Lattice
from harness_svm.structured.kernels.lattice_sweeps import improve, score_by_lattice
from harness_svm.structured.kernels.subproblem import (
    LATTICE_SWEEP,
    RELUCTANCE,
    SWEEP_STATE,
    Block,
    Goal,
    Sweep,
    SweepState,
)
from harness_svm.structured.kernels.sweeps import sweep_with_index


@helper()
def improve_by_index(
    lattice: Lattice, y: Any, square: float, goal: Goal, near: float, block: Block, size: Any, moves: Moves
) -> Any:
    """Improve like `improve`, from the products <u_y, x>."""
    score_by_lattice(lattice, block)
    violation, size, n = improve(lattice, y, square, goal, near, block, size, moves)
    if n > 0:
        block.shift[:] = 0.0
    return violation, size, n


sweep_rows = sweep_with_index(improve_by_index, RELUCTANCE)


@kernel(int64(LATTICE_SWEEP, ROWS, SWEEP_STATE, reads(float64)), **LEAN)
def sweep_lattice_rows(sweep: Sweep, rows: Rows, state: SweepState, zeros: Array) -> int:
    """Sweep like `sweep_lattice`, but stop also if the index has no room."""
    return sweep_rows(sweep, rows, state, zeros)  # type: ignore[no-any-return]  # an int64
