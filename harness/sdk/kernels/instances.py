"""Instances as the kernels want them: the rows of a sparse matrix with fixed types and each feature once in a row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk.kernels.arrays import frozen


class Instances(NamedTuple):
    """Instance i has the features `indices[indptr[i]:indptr[i + 1]]` with the values `data[...]`."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]

    @property
    def n_instances(self) -> int:
        return self.indptr.size - 1


class Labels(NamedTuple):
    """Instance i has the classes `indices[indptr[i]:indptr[i + 1]]`: one, or where several are allowed, any number."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]


def canonical_rows(X: Any) -> csr_array:
    """A dense or sparse matrix as rows with each feature once, in order; not a copy where it is that already."""
    rows = X if isinstance(X, csr_array) else csr_array(X)
    if not rows.has_canonical_format:  # a repeated feature would grow its row twice where the kernels count once
        rows = rows.copy()  # the original is not ours to change
        rows.sum_duplicates()
    return rows


def rows_between(X: Any, part: slice) -> Any:
    """Some rows of a matrix, one behind the other; not a copy, as a slice of a sparse matrix would be."""
    if not isinstance(X, csr_array):
        return X[part]
    starts = X.indptr[part.start : part.stop + 1]
    values = slice(starts[0], starts[-1])
    shape = (starts.size - 1, X.shape[1])
    rows = csr_array((X.data[values], X.indices[values], starts - starts[0]), shape=shape)
    rows.has_canonical_format = X.has_canonical_format
    return rows


def as_instances(X: Any) -> Instances:
    """Convert a dense or sparse matrix, without a copy where it fits already, and without touching the original."""
    rows = canonical_rows(X)
    return Instances(frozen(rows.indptr, np.int64), frozen(rows.indices, np.int32), frozen(rows.data, np.float32))


def positive_only(instances: Instances) -> Instances:
    """The same instances without the features whose value is not above 0; not a copy where there are none."""
    kept = instances.data > 0
    if kept.all():
        return instances
    before = np.concatenate([[0], np.cumsum(kept)])
    indptr = before[instances.indptr]
    return Instances(frozen(indptr, np.int64), frozen(instances.indices[kept]), frozen(instances.data[kept]))
