"""Checks on the range of weights."""

from __future__ import annotations

import numpy as np

from harness.sdk.kernels.rows import Rows


def check_finite(rows: Rows, number: int, advice: str = "scale X down") -> None:
    """Raise ValueError if a weight has left the range of float32 in pass `number`."""
    if not np.isfinite(rows.weights[: rows.heads[0]]).all():
        raise ValueError(f"weights outgrew float32 in pass {number}: {advice}")
