"""Ranking with few classes: for a large batch, the index becomes a matrix, features x classes.

A row of the matrix is read without looking up the class of each weight. Scores are equal to the last bit: a missing
edge adds 0.
"""

from __future__ import annotations

import numpy as np
from numba import float32, float64, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.rows import FROZEN_ROWS, MOST_EDGES, Rows, freeze
from harness.sdk.kernels.score import AHEAD, LINE_EDGES, prefetch

MOST_MATRIX_CLASSES = 64
MOST_MATRIX_BYTES = 256_000_000
LANES = 4
"""Scores that a vector register holds: the matrix is as wide as a multiple of it."""
BLOCK_ROWS = 1024
NO_FACTORS = np.empty(0)


def pays(rows: Rows, instances: Instances, n_classes: int) -> bool:
    """Return whether ranking by a matrix is faster: it is small, and the batch has a value for each of its rows.

    Parameters
    ----------
    rows : Rows
        The index.
    instances : Instances
        Rows to rank.
    n_classes : int
        Number of classes.

    Returns
    -------
    bool
        True to call `rank_dense`.
    """
    n_features = rows.start.size
    small = n_classes <= MOST_MATRIX_CLASSES and n_features * _width(n_classes) * 4 <= MOST_MATRIX_BYTES
    return small and n_features <= instances.indices.size


def rank_dense(
    rows: Rows,
    instances: Instances,
    base: Array,
    k: int,
    *,
    factors: Array = NO_FACTORS,
    degree: int = 0,
    least: float = -np.inf,
) -> NDArray[np.int32]:
    """Return the k best classes of each instance, by sum_f factor_f x_f W[f, c] + base_c.

    Parameters
    ----------
    rows : Rows
        The index, W.
    instances : Instances
        Rows to rank. An instance without features ranks no class.
    base : ndarray of float64, shape (n_classes,)
        Score of each class without any feature; -inf for classes that are never ranked.
    k : int
        Number of classes for each instance.
    factors : ndarray of float64, shape (n_features,), default=empty
        Factor of each feature; empty for factors of 1.
    degree : int, default=0
        Number of edges that count per feature, from the front of its row; 0 for all.
    least : float, default=-inf
        Only scores above this value are ranked.

    Returns
    -------
    ndarray of int32, shape (n_instances, k)
        Classes, best first; -1 pads.
    """
    width, n = _width(base.size), instances.n_instances
    matrix = np.zeros(rows.start.size * width, np.float32)
    spread_out(freeze(rows), degree or MOST_EDGES, width, matrix)
    base = np.append(base, np.full(width - base.size, -np.inf))
    ranked, kept = np.full((n, k), -1, np.int32), min(k, width)
    for first in range(0, n, BLOCK_ROWS):
        scores = np.empty((min(BLOCK_ROWS, n - first), width))
        add_up_all(matrix, instances, first, factors, base, scores)
        best = _best(scores, kept)
        ranks = np.where(np.take_along_axis(scores, best, axis=1) > least, best, -1)
        ranked[first : first + BLOCK_ROWS, :kept] = ranks
    return ranked


def _width(n_classes: int) -> int:
    return -(-n_classes // LANES) * LANES


def _best(scores: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Return the columns of the k highest scores of each row, the lowest first on ties."""
    best: NDArray[np.intp] = (
        np.argsort(-scores, axis=1, kind="stable") if k > 1 else scores.argmax(axis=1, keepdims=True)
    )
    return best[:, :k]


@kernel(void(FROZEN_ROWS, int64, int64, writes(float32)), **LEAN)
def spread_out(rows: Rows, degree: int, width: int, matrix: Array) -> None:
    """Return W[f, c] as a matrix, from the first `degree` edges of each row."""
    for f in range(np.uint64(rows.start.size)):
        start = rows.start[f]
        for e in range(start, start + min(rows.length[f], np.uint32(degree))):
            matrix[f * np.uint64(width) + rows.classes[e]] = rows.weights[e]


@kernel(void(reads(float32), INSTANCES, int64, reads(float64), reads(float64), writes(float64, 2)), **LEAN)
def add_up_all(matrix: Array, instances: Instances, first: int, factors: Array, base: Array, scores: Array) -> None:
    """Compute the scores of consecutive instances, as many as `scores` has room for; -inf without features."""
    width, last = np.uint64(scores.shape[1]), np.uint64(instances.indices.size - 1)
    for i in range(np.uint64(scores.shape[0])):
        lo, hi = np.uint64(instances.indptr[first + i]), np.uint64(instances.indptr[first + i + 1])
        active = False
        for j in range(lo, hi):
            active |= instances.data[j] != 0
        for c in range(width):
            scores[i, c] = base[c] if active else -np.inf
        for j in range(lo, hi):
            ahead = np.uint64(np.uint32(instances.indices[min(j + np.uint64(AHEAD), last)])) * width
            for place in range(ahead, ahead + width, np.uint64(LINE_EDGES)):
                prefetch(matrix, place)
            f = np.uint32(instances.indices[j])
            x = np.float64(instances.data[j]) * (factors[f] if factors.size else 1.0)
            start = np.uint64(f) * width
            for c in range(width):
                scores[i, c] += x * matrix[start + c]
