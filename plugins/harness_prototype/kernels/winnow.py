"""Winnow, one for each class: weights are multiplied, never added to.

Every weight is a power of the rate, W[f, c] = alpha^n, and the index holds the exponent n: promotions less demotions.
So a missing edge means the weight 1, no weight ever becomes 0, and none is rounded.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LABELS, helper, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances, Labels
from harness.sdk.kernels.moves import MOVES, Moves, forget, move_all, plan_move
from harness.sdk.kernels.rows import FROZEN_ROWS, ROWS, Rows, freeze
from harness.sdk.kernels.score import fill_top_k, squared_norm


def gains(rows: Rows, alpha: float, n_updates: int = 0) -> NDArray[np.float64]:
    """Return alpha^n - 1 for n = -N ... N, where N bounds the exponents after `n_updates` updates."""
    edges = rows.weights[: rows.heads[0]]
    most = n_updates + int(max(edges.max(initial=0), -edges.min(initial=0)))
    with np.errstate(over="ignore"):
        return np.power(float(alpha), np.arange(-most, most + 1)) - 1


@helper()
def sum_values(instances: Instances, i: int) -> float:
    """Return sum_f x_f."""
    total = 0.0
    for j in range(instances.indptr[i], instances.indptr[i + 1]):
        total += np.float64(instances.data[j])
    return total


@helper()
def rank_scored(instances: Instances, i: int, scores: Array, ranks: Array) -> None:
    """Write the best classes by score; an instance without features gets only padding."""
    if squared_norm(instances, i) > 0:
        fill_top_k(scores, ranks)
    else:
        ranks[:] = -1


@helper()
def score_powers(rows: Rows, instances: Instances, i: int, base: Array, powers: Array, scores: Array) -> float:
    """s_c = base_c + sum_f x_f (W[f, c] - 1); returns sum_f x_f, the same difference to w.x for each class."""
    scores[:] = base
    middle = powers.size // 2
    for j in range(instances.indptr[i], instances.indptr[i + 1]):
        f = np.uint32(instances.indices[j])
        x = np.float64(instances.data[j])
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            scores[rows.classes[e]] += x * powers[np.uint32(middle + np.int64(rows.weights[e]))]
    return sum_values(instances, i)


@kernel(int64(ROWS, INSTANCES, LABELS, reads(int64), writes(float64), writes(float64), reads(float64), MOVES, float64))
def update_winnow(
    rows: Rows,
    instances: Instances,
    labels: Labels,
    order: Array,
    base: Array,
    scores: Array,
    powers: Array,
    moves: Moves,
    threshold: float,
) -> int:
    """Learn from each instance in this order, for each class c that has occurred and each feature f of x.

        W[f, c] *= alpha    if c is true and w_c x <  threshold     (promotion)
        W[f, c] /= alpha    if c is false and w_c x >= threshold    (demotion)

    `base` holds 0 for classes that have occurred and -inf for the others. It is changed, like the rows; `scores` is
    space, and `powers` come from `gains`.

    Returns
    -------
    int
        Number of instances done: all of them, or those before the first one without room in the arena.
    """
    for done in range(order.size):
        i = order[done]
        lo, hi = labels.indptr[i], labels.indptr[i + 1]
        for p in range(lo, hi):
            base[np.uint32(labels.indices[p])] = 0.0
        least = threshold - score_powers(rows, instances, i, base, powers, scores)
        n = 0
        for p in range(lo, hi):
            y = np.uint32(labels.indices[p])
            if scores[y] < least:
                n = plan_move(moves, n, y, 1.0)
            scores[y] = -np.inf
        for c in range(np.uint32(scores.size)):
            if scores[c] >= least:
                n = plan_move(moves, n, c, -1.0)
        if not move_all(rows, instances, i, moves, n, False):
            forget(moves, n)
            return done
        forget(moves, n)
    return order.size


def rank_powers(rows: Rows, instances: Instances, base: Array, alpha: float, k: int) -> NDArray[np.int32]:
    """Return the k best classes of each instance, best first, by sum_f x_f alpha^n[f, c] + base_c; -1 pads."""
    ranked = np.empty((instances.n_instances, k), np.int32)
    fill_power_ranks(freeze(rows), instances, base, gains(rows, alpha), np.empty_like(base), ranked)
    return ranked


@kernel(void(FROZEN_ROWS, INSTANCES, reads(float64), reads(float64), writes(float64), writes(int32, 2)))
def fill_power_ranks(
    rows: Rows, instances: Instances, base: Array, powers: Array, scores: Array, ranked: Array
) -> None:
    """Rank the classes for each instance."""
    for i in range(ranked.shape[0]):
        score_powers(rows, instances, i, base, powers, scores)
        rank_scored(instances, i, scores, ranked[i])
