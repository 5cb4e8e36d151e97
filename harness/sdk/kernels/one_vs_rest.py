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
    rows: Rows,
    instances: Instances,
    labels: Labels,
    order: NDArray[np.int64],
    intercept: NDArray[np.float64],
    bias: float = 0.0,
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
    intercept : ndarray of float64, shape (n_classes,)
        What the constant feature adds to the score of each class; changed in place.
    bias : float, default=0.0
        Value of the constant feature; 0 for none.

    Returns
    -------
    rows : Rows
        The index after the pass.
    errors : int
        Number of updates.
    """
    errors, moves, scores = np.zeros(1, np.int64), no_moves(intercept.size), np.empty(intercept.size)
    square = float(bias) ** 2
    done = update_one_vs_rest(rows, instances, labels, order, intercept, square, scores, moves, errors)
    while done < order.size:
        rows, order = enlarge(rows), order[done:]
        done = update_one_vs_rest(rows, instances, labels, order, intercept, square, scores, moves, errors)
    return rows, int(errors[0])


@kernel(
    int64(ROWS, INSTANCES, LABELS, reads(int64), writes(float64), float64, writes(float64), MOVES, writes(int64)),
    **LEAN,
)
def update_one_vs_rest(
    rows: Rows,
    instances: Instances,
    labels: Labels,
    order: Array,
    intercept: Array,
    square: float,
    scores: Array,
    moves: Moves,
    errors: Array,
) -> int:
    """For each instance x != 0 in this order and each class k, with c_k = 1 if k is true, else -1.

        W[:, k] += c_k x, intercept_k += c_k square    if c_k (s_k + intercept_k) <= 0

    `square` is that of the constant feature, which makes every instance x != 0; it may be 0. `errors[0]` counts these
    updates; `scores` is working space. Returns the number of instances done: all of them, or those before the first
    without room in the arena.
    """
    for done in range(order.size):
        i = order[done]
        if squared_norm(instances, i) + square == 0:
            continue
        score(rows, instances, i, intercept, scores)
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
        for m in range(np.uint32(n)):
            intercept[moves.classes[m]] += moves.changes[moves.classes[m]] * square
        forget(moves, n)
        errors[0] += n
    return order.size


def norms(
    rows: Rows, n_classes: int, intercept: NDArray[np.float64] | None = None, bias: float = 0.0
) -> NDArray[np.float64]:
    """Return ||w_k|| of each class, with the weight of the constant feature if there is one.

    Parameters
    ----------
    rows : Rows
        The index, W.
    n_classes : int
        Number of classes.
    intercept : ndarray of float64, shape (n_classes,), or None, default=None
        What the constant feature adds to the score of each class.
    bias : float, default=0.0
        Value of the constant feature; 0 for none.

    Returns
    -------
    ndarray of float64, shape (n_classes,)
        Euclidean lengths.
    """
    squares = np.zeros(n_classes)
    add_squares(freeze(rows), squares)
    if intercept is not None and bias:
        squares += (intercept / bias) ** 2
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


def total(members: Sequence[Rows], lengths: Sequence[NDArray[np.float64]]) -> Rows:
    """Return the index with the summed scores of a committee: sum_m W_m[f, k] / ||w_{m, k}||.

    Parameters
    ----------
    members : sequence of Rows
        The indexes, W_m.
    lengths : sequence of ndarray of float64, each of shape (n_classes,)
        The lengths of each member's vectors, by `norms`.

    Returns
    -------
    Rows
        The index of the sum.
    """
    shape = (members[0].start.size, lengths[0].size)
    summed = csr_array(shape, dtype=np.float64)
    for rows, own in zip(members, lengths, strict=True):
        indptr, classes, weights = as_edges(rows)
        scaled = weights * inverse(own)[classes]
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
