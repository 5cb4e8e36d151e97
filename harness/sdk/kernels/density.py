"""Which rows are dense; apart from what compiles, so that who only converts data needs no compiler."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_DENSITY = 0.25
"""Rows are dense from this share of values other than 0 on; below it they are faster as sparse ones."""
RANKED_ROWS = 128
"""So many dense rows are ranked at once. Threads part rows at multiples of it, so that the same products are made."""

Vectors = NDArray[np.float32]


def is_dense(X: Any) -> bool:
    """Whether X is an array with few values that are 0."""
    return isinstance(X, np.ndarray) and bool(np.count_nonzero(X) >= LEAST_DENSITY * X.size)
