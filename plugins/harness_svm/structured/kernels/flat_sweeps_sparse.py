"""Sweeps of Crammer and Singer's machine with the weights in an index, where a matrix would be too large."""

from __future__ import annotations

from numba import float64, int64

from harness.sdk.kernels.compile import LEAN, kernel, reads
from harness.sdk.kernels.instances import Array
from harness.sdk.kernels.rows import ROWS, Rows
from harness_svm.structured.kernels.flat_sweeps import improve_with
from harness_svm.structured.kernels.subproblem import IDLE, RELUCTANCE, SWEEP, SWEEP_STATE, Sweep, SweepState
from harness_svm.structured.kernels.sweeps import sweep_with_index

sweep_rows = sweep_with_index(improve_with(RELUCTANCE), IDLE)


@kernel(int64(SWEEP, ROWS, SWEEP_STATE, reads(float64)), **LEAN)
def sweep_flat_rows(sweep: Sweep, rows: Rows, state: SweepState, zeros: Array) -> int:
    """Sweep like `sweep_flat`, but stop also if the index has no room."""
    return sweep_rows(sweep, rows, state, zeros)  # type: ignore[no-any-return]  # an int64
