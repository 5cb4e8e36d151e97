"""What float32 weights cannot hold is refused, rather than ranked by."""

from __future__ import annotations

import numpy as np

from harness.sdk.kernels.rows import Rows


def check_finite(rows: Rows, number: int) -> None:
    """Raise ValueError when a weight has grown out of range in pass `number`."""
    if not np.isfinite(rows.weights[: rows.heads[0]]).all():
        raise ValueError(f"weights outgrew float32 in pass {number}: scale X down")
