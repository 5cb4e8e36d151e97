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
LEAST_WEIGHTS, MOST_WEIGHTS = 4_096, 250_000_000
"""Features times classes: with fewer a block of rows costs more than it spares, more would take over 1 GB."""
LEAST_VALUE, MOST_VALUE = 1e-12, 1e12
"""Products of values beyond these, and their sums, may be too much or too little for float32."""
RANKED_ROWS = 128
"""So many dense rows are ranked at once. Threads part rows at multiples of it, so that the same products are made."""

COUNTED_VALUES = 2**16
"""Values are counted in blocks of about so many, which fit a cache."""

Vectors = NDArray[np.float32]


def pays_as_dense(X: Any, n_classes: int) -> bool:
    """Whether a matrix, in whichever form it comes, is better gone through row by whole row.

    Few of its values are 0, the largest is within bounds, and so is the size of a matrix of all weights. One with a
    value that is no number, or is infinite, is refused: the largest is not within bounds then.
    """
    n_rows, n_features = X.shape
    n_weights = n_features * n_classes
    if n_rows < FEWEST_ROWS or not LEAST_WEIGHTS <= n_weights <= MOST_WEIGHTS:
        return False
    values = X.data if issparse(X) else X
    if not _has_others_than_zero(values, LEAST_DENSITY * n_rows * n_features):
        return False
    largest = max(abs(float(values.min())), abs(float(values.max())))
    return LEAST_VALUE <= largest <= MOST_VALUE


def _has_others_than_zero(values: NDArray[Any], least: float) -> bool:
    """Whether at least so many values are other than 0: few blocks have to be counted where hardly any value is 0."""
    height, found = max(1, COUNTED_VALUES // max(1, values[:1].size)), 0
    for start in range(0, len(values), height):
        found += int(np.count_nonzero(values[start : start + height] != 0))
        if found >= least:
            return True
    return found >= least


def dense_rows(X: Any) -> Vectors:
    """A matrix as an array of float32, rows one behind the other; a copy only where some values of a sparse one are 0.

    Where none is, the values of sparse rows in canonical form are those of the array already.
    """
    if issparse(X):
        full = X.nnz == X.shape[0] * X.shape[1] and X.has_canonical_format
        X = X.data.reshape(X.shape) if full else X.toarray()
    return frozen(X, np.float32)
