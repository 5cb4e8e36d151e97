"""An index as packed edges, feature by feature: the form for saving, checking and pruning."""

from __future__ import annotations

from math import floor
from typing import Any, NamedTuple

import numpy as np
from numba import boolean, int64, uint32
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk.kernels.compile import LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Array
from harness.sdk.kernels.rows import Rows, empty_rows


class Edges(NamedTuple):
    """Packed edges of an index: those of feature f are `indptr[f]:indptr[f + 1]`, in the order of its row.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_features + 1,)
        Start of each feature's edges, and the end of the last ones.
    classes : ndarray of uint32, shape (n_edges,)
        Class of each edge.
    weights : ndarray of float32 or float64, shape (n_edges,)
        Weight of each edge.
    """

    indptr: NDArray[np.int64]
    classes: NDArray[np.uint32]
    weights: NDArray[np.floating[Any]]

    @property
    def features(self) -> NDArray[np.int64]:
        """The feature of each edge."""
        return np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))


def as_edges(rows: Rows) -> Edges:
    """Return the edges of an index, without the gaps of its arena.

    Parameters
    ----------
    rows : Rows
        The index.

    Returns
    -------
    Edges
        The edges, feature by feature.
    """
    indptr = np.concatenate([[0], np.cumsum(rows.length, dtype=np.int64)])
    places = np.arange(indptr[-1]) + np.repeat(rows.start - indptr[:-1], rows.length)
    return Edges(indptr, rows.classes[places], rows.weights[places])


def as_rows(edges: Edges) -> Rows:
    """Return an index of these edges without gaps; a row moves to a block when it grows.

    Parameters
    ----------
    edges : Edges
        The edges.

    Returns
    -------
    Rows
        The index.
    """
    length = np.diff(edges.indptr)
    level = np.maximum(np.frexp(length)[1] - 1, 0)  # floor of log2
    heads = empty_rows(0, 0).heads
    heads[0] = edges.classes.size
    return Rows(
        start=edges.indptr[:-1].astype(np.uint32),
        length=length.astype(np.uint32),
        level=level.astype(np.uint8),
        classes=np.require(edges.classes, np.uint32, ["C", "A", "W"]),
        weights=np.require(edges.weights, None, ["C", "A", "W"]),
        heads=heads,
    )


def pack_rows(rows: Rows, *, by_class: bool = False) -> Rows:
    """Return the index in the order of the features, without gaps.

    Parameters
    ----------
    rows : Rows
        The index.
    by_class : bool, default=False
        Sort the classes of each row.

    Returns
    -------
    Rows
        An index with the same edges.
    """
    edges = as_edges(rows)
    return as_rows(sort_by_class(edges) if by_class else edges)


def sort_by_class(edges: Edges) -> Edges:
    """Return the edges with the classes of each row sorted.

    Scores of many classes exceed the first-level cache; in sorted order, the processor prefetches them.

    Parameters
    ----------
    edges : Edges
        The edges.

    Returns
    -------
    Edges
        The same edges.
    """
    n_classes = int(edges.classes.max(initial=0)) + 1
    matrix = csr_array(
        (edges.weights, edges.classes.astype(np.int64), edges.indptr), (edges.indptr.size - 1, n_classes)
    )
    matrix.sort_indices()
    return Edges(edges.indptr, matrix.indices.astype(np.uint32), matrix.data)


def keep_largest(edges: Edges, sizes: NDArray[Any], share: float) -> Edges:
    """Return the floor(share * n) largest edges, ties by feature, then class; rows keep their order.

    Parameters
    ----------
    edges : Edges
        The n edges.
    sizes : ndarray of shape (n_edges,)
        Size of each edge, such as the absolute weight.
    share : float
        Share of the edges to keep, from 0 to 1.

    Returns
    -------
    Edges
        The kept edges.
    """
    order = np.lexsort((edges.classes, edges.features, -sizes))
    kept = np.zeros(order.size, bool)
    kept[order[: floor(share * order.size)]] = True
    before = np.concatenate([[0], np.cumsum(kept)])
    return Edges(before[edges.indptr], edges.classes[kept], edges.weights[kept])


@kernel(boolean(reads(int64), reads(uint32), writes(int64)), **LEAN)
def names_a_class_twice(indptr: Array, classes: Array, met: Array) -> bool:
    """Return whether a row has two edges to one class; `met` has the last row of each class, initially -1."""
    for f in range(indptr.size - 1):
        for e in range(indptr[f], indptr[f + 1]):
            if met[classes[e]] == f:
                return True
            met[classes[e]] = f
    return False


def check_edges(edges: Edges, n_features: int, n_classes: int) -> None:
    """Raise ValueError for edges that make no valid index.

    Parameters
    ----------
    edges : Edges
        Edges, such as those of a file.
    n_features, n_classes : int
        Numbers that the edges must fit.

    Raises
    ------
    ValueError
        If a length, a class or a weight is invalid, or if a row has a class twice.
    """
    indptr, classes, weights = edges
    if [array.dtype for array in edges] != [np.int64, np.uint32, np.float32] or {array.ndim for array in edges} != {1}:
        raise ValueError("edges of another type")
    if indptr.size != n_features + 1 or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
        raise ValueError("rows out of order")
    if not indptr[-1] == classes.size == weights.size:
        raise ValueError("edges missing")
    if np.any(classes >= n_classes):
        raise ValueError("an edge to a class that is not there")
    if not np.all(np.isfinite(weights) & (weights != 0)):
        raise ValueError("a weight that is zero or no number")
    if names_a_class_twice(indptr, classes, np.full(n_classes, -1)):
        raise ValueError("a class twice in a row")
