"""Input of kernels: sparse rows with fixed types and each feature once in a row, or dense rows.

This module does not import numba, so the conversion of data needs no compiler.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse

Array = NDArray[Any]
"""An array; the signature of the kernel has its type."""


def frozen(array: Array, dtype: DTypeLike | None = None) -> Array:
    """Return a read-only view; a copy if type or layout differ. Memory-mapped data is not copied.

    Parameters
    ----------
    array : ndarray
        The array, which is not changed.
    dtype : dtype-like, optional
        Type of the elements; by default that of the array.

    Returns
    -------
    ndarray
        C-contiguous and aligned, as kernels require.
    """
    view = np.require(array, dtype, ["C", "A"]).view(np.ndarray)
    view.flags.writeable = False
    return view


class Instances(NamedTuple):
    """Sparse rows as arrays.

    Instance i has the features `indices[indptr[i]:indptr[i + 1]]` with the values `data[indptr[i]:indptr[i + 1]]`.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_instances + 1,)
        Start of each instance, and the end of the last one.
    indices : ndarray of int32, shape (n_values,)
        Feature of each value; a feature occurs once in an instance.
    data : ndarray of float32, shape (n_values,)
        Values.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]

    @property
    def n_instances(self) -> int:
        """The number of instances."""
        return self.indptr.size - 1


class Labels(NamedTuple):
    """Classes of each instance: instance i has the classes `indices[indptr[i]:indptr[i + 1]]`.

    Each instance has one class or, where several are allowed, any number.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]


def canonical_rows(X: Any) -> csr_array:
    """Return a matrix as CSR with each feature once in a row, in order.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        Rows, which are never changed.

    Returns
    -------
    csr_array
        X itself if it has this form already.
    """
    rows = X if isinstance(X, csr_array) else csr_array(X)
    if not rows.has_canonical_format:  # a repeated feature would grow its row twice where the kernels count once
        rows = rows.copy()  # never change the original
        rows.sum_duplicates()
    return rows


def rows_between(X: Any, part: slice) -> Any:
    """Return consecutive rows of a matrix without a copy; a slice of a sparse matrix would copy.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        Rows.
    part : slice
        The rows to return, with a start and a stop.

    Returns
    -------
    ndarray or csr_array
        A view.
    """
    if not isinstance(X, csr_array):
        return X[part]
    starts = X.indptr[part.start : part.stop + 1]
    values = slice(starts[0], starts[-1])
    shape = (starts.size - 1, X.shape[1])
    rows = csr_array((X.data[values], X.indices[values], starts - starts[0]), shape=shape)
    rows.has_canonical_format = X.has_canonical_format
    return rows


def as_instances(X: Any) -> Instances:
    """Return a matrix as instances; the original is never changed.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        Rows. They are not copied if types and order fit already.

    Returns
    -------
    Instances
        Read-only arrays.
    """
    rows = canonical_rows(X)
    return Instances(frozen(rows.indptr, np.int64), frozen(rows.indices, np.int32), frozen(rows.data, np.float32))


def positive_only(instances: Instances) -> Instances:
    """Return the instances without values <= 0.

    Parameters
    ----------
    instances : Instances
        Rows.

    Returns
    -------
    Instances
        The same object if there are no such values.
    """
    kept = instances.data > 0
    if kept.all():
        return instances
    before = np.concatenate([[0], np.cumsum(kept)])
    indptr = before[instances.indptr]
    return Instances(frozen(indptr, np.int64), frozen(instances.indices[kept]), frozen(instances.data[kept]))


LEAST_DENSITY = 0.25
"""Share of values that are not 0 from which on dense kernels are faster."""
FEWEST_ROWS = 16
"""Fewer rows are not worth a matrix of weights."""
LEAST_WEIGHTS, MOST_WEIGHTS = 4_096, 250_000_000
"""Limits for features times classes: blocks of rows do not pay below, and the matrix exceeds 1 GB above."""
LEAST_VALUE, MOST_VALUE = 1e-12, 1e12
"""Limits for values; products and sums of larger or smaller ones may overflow or underflow float32."""
RANKED_ROWS = 128
"""Dense rows ranked at once. Threads split rows at multiples of it: the products do not change."""

COUNTED_VALUES = 2**16
"""Values counted at once; they fit into a cache."""

Vectors = NDArray[np.float32]


def pays_as_dense(X: Any, n_classes: int) -> bool:
    """Return whether dense kernels are better for a matrix.

    Few values are 0, the largest is within its limits, and so is the size of a matrix of all weights. NaN and infinite
    values exceed the limits.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows.
    n_classes : int
        Number of classes.

    Returns
    -------
    bool
        True if training and ranking are faster on `dense_rows(X)`.
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
    """Return whether at least `least` values are not 0; stops early if hardly any value is 0."""
    height, found = max(1, COUNTED_VALUES // max(1, values[:1].size)), 0
    for start in range(0, len(values), height):
        found += int(np.count_nonzero(values[start : start + height] != 0))
        if found >= least:
            return True
    return found >= least


def dense_rows(X: Any) -> Vectors:
    """Return a matrix as an array of float32; copies a sparse one only if it has zeros.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Rows. Without zeros, the values of canonical sparse rows are the array.

    Returns
    -------
    ndarray of float32, shape (n_rows, n_features)
        Read-only rows.
    """
    if issparse(X):
        full = X.nnz == X.shape[0] * X.shape[1] and X.has_canonical_format
        X = X.data.reshape(X.shape) if full else X.toarray()
    return frozen(X, np.float32)


def square_lengths(instances: Instances) -> NDArray[np.float64]:
    """Return ||x_i||^2 of each instance.

    Parameters
    ----------
    instances : Instances
        Rows.

    Returns
    -------
    ndarray of float64, shape (n_instances,)
        Squared Euclidean lengths.
    """
    owners = np.repeat(np.arange(instances.n_instances), np.diff(instances.indptr))
    squares = np.square(instances.data, dtype=np.float64)
    return np.bincount(owners, weights=squares, minlength=instances.n_instances).astype(np.float64)


def by_frequency(instances: Instances, n_features: int) -> NDArray[np.int64]:
    """Return the features by frequency, the most frequent first.

    Parameters
    ----------
    instances : Instances
        Rows whose features are counted.
    n_features : int
        Number of features; those that do not occur come last.

    Returns
    -------
    ndarray of int64, shape (n_features,)
        Features; ties are in the order of their numbers.
    """
    return np.argsort(-np.bincount(instances.indices, minlength=n_features), kind="stable")


def places_of(features: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the position of each feature in an order.

    Parameters
    ----------
    features : ndarray of int64, shape (n_features,)
        All features in this order, as from `by_frequency`.

    Returns
    -------
    ndarray of int32, shape (n_features,)
        Position by feature.
    """
    places = np.empty(features.size, np.int32)
    places[features] = np.arange(features.size, dtype=np.int32)
    return places


def renamed(instances: Instances, places: NDArray[np.int32]) -> Instances:
    """Return the instances with features renumbered by their position: frequent features are adjacent in memory.

    Parameters
    ----------
    instances : Instances
        Rows.
    places : ndarray of int32, shape (n_features,)
        Position of each feature, from `places_of`.

    Returns
    -------
    Instances
        Rows with the same values.
    """
    return instances._replace(indices=frozen(places[instances.indices]))
