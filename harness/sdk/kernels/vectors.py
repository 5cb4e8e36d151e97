"""Dense rows, such as embeddings: weights in a matrix, classes x features, and scores by the BLAS, block by block.

Training still goes instance by instance. The scores of a block of rows are computed at once, from the weights before
the block. When an instance changes a class, the scores of the later instances are corrected by inner products:

    <w_c + a x_q, x_r> = <w_c, x_r> + a <x_q, x_r>

So the updates equal sequential ones, except for the rounding of sums in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.dense import spread_out
from harness.sdk.kernels.edges import Edges
from harness.sdk.kernels.instances import RANKED_ROWS, Array, Vectors, frozen
from harness.sdk.kernels.rows import MOST_EDGES, Rows, freeze
from harness.sdk.kernels.score import fill_top_k
from harness.sdk.threads import one_blas_thread

BLOCK_ROWS = 64
"""Instances in a block: longer blocks score faster, but need more corrections."""


class Block(NamedTuple):
    """A block of instances for training."""

    numbers: NDArray[np.int64]
    """Their positions among all instances."""
    rows: Vectors
    scores: Vectors
    """Scores by instance and class, with the weights at the time of the instance."""
    products: Vectors
    """<x_q, x_r> for all pairs."""


WEIGHTS = writes(float32, 2)
"""W, classes x features."""
BLOCK = named(Block, reads(int64), reads(float32, 2), writes(float32, 2), reads(float32, 2))


def as_matrix(rows: Rows, n_classes: int) -> Vectors:
    """Return the weights of an index as a matrix.

    Parameters
    ----------
    rows : Rows
        The index.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of float32, shape (n_features, n_classes)
        The weights.
    """
    matrix = np.zeros((rows.start.size, n_classes), np.float32)
    spread_out(freeze(rows), MOST_EDGES, n_classes, matrix.reshape(-1))
    return matrix


def matrix_edges(matrix: Vectors) -> Edges:
    """Return the weights of a matrix that are not 0 as the edges of an index.

    Parameters
    ----------
    matrix : ndarray of float32, shape (n_features, n_classes)
        The weights.

    Returns
    -------
    Edges
        The edges.
    """
    kept = matrix != 0
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1), dtype=np.int64)])
    classes = np.broadcast_to(np.arange(matrix.shape[1], dtype=np.uint32), matrix.shape)
    return Edges(indptr, classes[kept], matrix[kept])


# -- training


class RowBlock(NamedTuple):
    """A block of rows with their inner products."""

    numbers: NDArray[np.int64]
    values: Vectors
    products: Vectors


def row_blocks(X: Vectors, order: NDArray[np.int64]) -> Iterator[RowBlock]:
    """Yield rows in blocks, with their inner products.

    Parameters
    ----------
    X : ndarray of float32, shape (n_rows, n_features)
        Rows.
    order : ndarray of int64
        Order of the rows in this pass.

    Yields
    ------
    RowBlock
        At most `BLOCK_ROWS` rows.
    """
    for first in range(0, order.size, BLOCK_ROWS):
        numbers = order[first : first + BLOCK_ROWS]
        values = X[numbers]
        yield RowBlock(frozen(numbers), frozen(values), frozen(values @ values.T))


def scored(rows: RowBlock, scores: Vectors) -> Block:
    """Return a block of rows with their scores.

    Parameters
    ----------
    rows : RowBlock
        The rows.
    scores : ndarray of float32, shape (n_rows, n_classes)
        Scores with the weights before the block; training corrects them in place.

    Returns
    -------
    Block
        The argument of a training kernel.
    """
    return Block(rows.numbers, rows.values, scores, rows.products)


@helper()
def move_class(W: Array, c: Any, amount: float, x: Array) -> None:
    """Add amount x to w_c, rounded as an index rounds it."""
    for f in range(np.uint64(x.size)):
        W[c, f] += amount * np.float64(x[f])


@helper()
def correct_scores(block: Block, r: Any, c: Any, amount: float, shift: float = 0.0) -> None:
    """Correct the scores of class c for the instances after r, when r has changed the class by this amount.

    A bias adds its square to each product: the shift.
    """
    for q in range(np.uint64(r + 1), np.uint64(block.numbers.size)):
        block.scores[q, c] += amount * (np.float64(block.products[r, q]) + shift)


@helper()
def correct_all_scores(block: Block, r: Any, amounts: Array, shift: float) -> None:
    """Correct the scores of all classes at once."""
    for q in range(np.uint64(r + 1), np.uint64(block.numbers.size)):
        product = block.products[r, q] + np.float32(shift)
        for c in range(np.uint64(amounts.size)):
            block.scores[q, c] += product * amounts[c]


# -- ranking


def rank_vectors(
    matrix: Vectors, X: Vectors, base: NDArray[np.float64], k: int, *, empty_too: bool = False
) -> NDArray[np.int32]:
    """Return the k best classes of each dense row, by <w_c, x> + base_c in float32.

    Parameters
    ----------
    matrix : ndarray of float32, shape (n_features, n_classes)
        Weights.
    X : ndarray of float32, shape (n_rows, n_features)
        Rows to rank.
    base : ndarray of float64, shape (n_classes,)
        Score of each class without any feature; -inf for classes that are never ranked.
    k : int
        Number of classes for each row.
    empty_too : bool, default=False
        Rank rows of zeros as well.

    Returns
    -------
    ndarray of int32, shape (n_rows, k)
        Classes, best first; -1 pads.
    """
    ranked = np.empty((X.shape[0], k), np.int32)
    with one_blas_thread():
        for first in range(0, X.shape[0], RANKED_ROWS):
            rows, here = X[first : first + RANKED_ROWS], ranked[first : first + RANKED_ROWS]
            scores = rows @ matrix
            nothing = np.flatnonzero(~scores.any(axis=1))  # a row of zeros is among them
            fill_vector_ranks(scores, base, here)
            if not empty_too:
                here[nothing[~rows[nothing].any(axis=1)]] = -1
    return ranked


@kernel(void(writes(float32, 2), reads(float64), writes(int32, 2)), **LEAN)
def fill_vector_ranks(scores: Array, base: Array, ranked: Array) -> None:
    """Fill `ranked` with the best classes of each row of `scores`, of shape (n_rows, n_classes)."""
    for i in range(ranked.shape[0]):
        for c in range(np.uint64(base.size)):
            scores[i, c] += np.float32(base[c])
        fill_top_k(scores[i], ranked[i])


def score_vectors(
    matrix: Vectors, X: Vectors, base: NDArray[np.float64], ranks: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the scores of some classes of each dense row, equal to those of the ranking to the last bit.

    Parameters
    ----------
    matrix : ndarray of float32, shape (n_features, n_classes)
        Weights.
    X : ndarray of float32, shape (n_rows, n_features)
        Rows.
    base : ndarray of float64, shape (n_classes,)
        Score of each class without any feature.
    ranks : ndarray of int32, shape (n_rows, k)
        Classes; -1 pads.

    Returns
    -------
    ndarray of float64, shape (n_rows, k)
        The scores; 0 beside pads.
    """
    scores = np.zeros(ranks.shape)
    with one_blas_thread():
        for first in range(0, X.shape[0], RANKED_ROWS):
            part = slice(first, first + RANKED_ROWS)
            all_scores = X[part] @ matrix + base.astype(np.float32)
            scores[part] = np.take_along_axis(all_scores, np.maximum(ranks[part], 0), axis=1)
    scores[ranks < 0] = 0.0
    return scores
