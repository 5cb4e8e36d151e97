"""One-vs-rest perceptrons: one linear separator a class, all trained side by side; and the sum of a committee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import float64, int32, int64, void
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk.kernels.compile import INSTANCES, LABELS, LEAN, kernel, reads, writes
from harness.sdk.kernels.edges import Edges, as_edges, as_rows
from harness.sdk.kernels.instances import Array, Instances, Labels
from harness.sdk.kernels.moves import MOVES, Moves, forget, move_all, no_moves, plan_move
from harness.sdk.kernels.rows import FROZEN_ROWS, ROWS, Rows, enlarge, freeze
from harness.sdk.kernels.score import fill_top_k, score, squared_norm


def learn_one_vs_rest(
    rows: Rows, instances: Instances, labels: Labels, order: NDArray[np.int64], n_classes: int
) -> tuple[Rows, int]:
    """Return the index after one pass of one-vs-rest perceptrons.

    Parameters
    ----------
    rows : Rows
        The index, W; its arena is enlarged if needed.
    instances : Instances
        Training rows.
    labels : Labels
        Classes of each row.
    order : ndarray of int64
        Order of the rows in this pass.
    n_classes : int
        Number of classes.

    Returns
    -------
    rows : Rows
        The index after the pass.
    errors : int
        Number of updates.
    """
    errors, moves = np.zeros(1, np.int64), no_moves(n_classes)
    zeros, scores = np.zeros(n_classes), np.empty(n_classes)
    done = update_one_vs_rest(rows, instances, labels, order, zeros, scores, moves, errors)
    while done < order.size:
        rows, order = enlarge(rows), order[done:]
        done = update_one_vs_rest(rows, instances, labels, order, zeros, scores, moves, errors)
    return rows, int(errors[0])


@kernel(int64(ROWS, INSTANCES, LABELS, reads(int64), reads(float64), writes(float64), MOVES, writes(int64)), **LEAN)
def update_one_vs_rest(
    rows: Rows,
    instances: Instances,
    labels: Labels,
    order: Array,
    zeros: Array,
    scores: Array,
    moves: Moves,
    errors: Array,
) -> int:
    """For each instance x != 0 in this order and each class k, with c_k = 1 if k is true, else -1.

        W[:, k] += c_k x    if c_k s_k <= 0

    `errors[0]` counts these updates; `zeros` is 0 for each class, `scores` is working space. Returns the number of
    instances done: all of them, or those before the first without room in the arena.
    """
    for done in range(order.size):
        i = order[done]
        if squared_norm(instances, i) == 0:
            continue
        score(rows, instances, i, zeros, scores)
        n = 0
        for p in range(labels.indptr[i], labels.indptr[i + 1]):
            y = np.uint32(labels.indices[p])
            if scores[y] <= 0:
                n = plan_move(moves, n, y, 1.0)
            scores[y] = -np.inf
        for k in range(np.uint32(scores.size)):
            if scores[k] >= 0:
                n = plan_move(moves, n, k, -1.0)
        if not move_all(rows, instances, i, moves, n):
            forget(moves, n)
            return done
        forget(moves, n)
        errors[0] += n
    return order.size


def norms(rows: Rows, n_classes: int) -> NDArray[np.float64]:
    """Return ||w_k|| of each class.

    Parameters
    ----------
    rows : Rows
        The index, W.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of float64, shape (n_classes,)
        Euclidean lengths.
    """
    squares = np.zeros(n_classes)
    add_squares(freeze(rows), squares)
    return np.sqrt(squares)


@kernel(void(FROZEN_ROWS, writes(float64)), **LEAN)
def add_squares(rows: Rows, squares: Array) -> None:
    """Add the squared weights of each class to `squares`, of shape (n_classes,)."""
    for f in range(rows.start.size):
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            squares[rows.classes[e]] += np.float64(rows.weights[e]) ** 2


def inverse(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / length for each length.

    Parameters
    ----------
    lengths : ndarray of float64
        Lengths.

    Returns
    -------
    ndarray of float64
        0 for a length of 0.
    """
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def total(members: Sequence[Rows], n_classes: int) -> Rows:
    """Return the index with the summed scores of a committee: sum_m W_m[f, k] / ||w_{m, k}||.

    Parameters
    ----------
    members : sequence of Rows
        The indexes, W_m.
    n_classes : int
        Number of classes.

    Returns
    -------
    Rows
        The index of the sum.
    """
    shape = (members[0].start.size, n_classes)
    summed = csr_array(shape, dtype=np.float64)
    for rows in members:
        indptr, classes, weights = as_edges(rows)
        scaled = weights * inverse(norms(rows, n_classes))[classes]
        summed = summed + csr_array((scaled, classes.astype(np.int64), indptr), shape=shape)
    summed = summed.astype(np.float32)
    summed.eliminate_zeros()
    return as_rows(Edges(summed.indptr.astype(np.int64), summed.indices.astype(np.uint32), summed.data))


def rank_scaled(rows: Rows, instances: Instances, base: Array, scale: Array, k: int) -> NDArray[np.int32]:
    """Return the k best classes of each instance, by scale_c sum_f x_f W[f, c] + base_c.

    Parameters
    ----------
    rows : Rows
        The index, W.
    instances : Instances
        Rows to rank.
    base : ndarray of float64, shape (n_classes,)
        Score of each class without any feature; -inf for classes that are never ranked.
    scale : ndarray of float64, shape (n_classes,)
        Factor of each class.
    k : int
        Number of classes for each instance.

    Returns
    -------
    ndarray of int32, shape (n_instances, k)
        Classes, best first; -1 pads.
    """
    ranked = np.empty((instances.n_instances, k), np.int32)
    fill_scaled_ranks(freeze(rows), instances, base, scale, np.zeros_like(base), np.empty_like(base), ranked)
    return ranked


@kernel(
    void(FROZEN_ROWS, INSTANCES, reads(float64), reads(float64), reads(float64), writes(float64), writes(int32, 2)),
    **LEAN,
)
def fill_scaled_ranks(
    rows: Rows, instances: Instances, base: Array, scale: Array, zeros: Array, scores: Array, ranked: Array
) -> None:
    """Rank the classes for each instance; one without a feature has no ranking, only padding."""
    for i in range(ranked.shape[0]):
        if squared_norm(instances, i) > 0:
            score(rows, instances, i, zeros, scores)
            for c in range(np.uint32(scores.size)):
                scores[c] = scores[c] * scale[c] + base[c]
            fill_top_k(scores, ranked[i])
        else:
            ranked[i] = -1
