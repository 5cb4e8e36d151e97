"""Which rows are dense; apart from what compiles, so that who only converts data needs no compiler."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from harness.sdk.kernels.arrays import frozen

LEAST_DENSITY = 0.25
"""Rows are dense from this share of values other than 0 on; below it they are faster as sparse ones."""
FEWEST_ROWS = 16
"""For fewer rows weights are not spread out into a matrix."""
RANKED_ROWS = 128
"""So many dense rows are ranked at once. Threads part rows at multiples of it, so that the same products are made."""

Vectors = NDArray[np.float32]


def is_dense(X: Any) -> bool:
    """Whether a matrix, in whichever form it comes, has rows enough and few values that are 0."""
    if X.shape[0] < FEWEST_ROWS:
        return False
    count = X.nnz if issparse(X) else np.count_nonzero(X)
    return bool(count >= LEAST_DENSITY * X.shape[0] * X.shape[1])


def dense_rows(X: Any) -> Vectors:
    """A matrix as an array of float32, rows one behind the other; a copy only where some values of a sparse one are 0.

    Where none is, the values of sparse rows in canonical form are those of the array already.
    """
    if issparse(X):
        full = X.nnz == X.shape[0] * X.shape[1] and X.has_canonical_format
        X = X.data.reshape(X.shape) if full else X.toarray()
    return frozen(X, np.float32)
