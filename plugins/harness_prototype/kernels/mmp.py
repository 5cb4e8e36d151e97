"""MMP training: all wrongly ordered pairs of a true and a false class share one step evenly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float64, int64

from harness.sdk.kernels.compile import INSTANCES, LABELS, helper, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances, Labels
from harness.sdk.kernels.moves import MOVES, Moves, forget, mark, move_all, plan_move
from harness.sdk.kernels.rows import ROWS, Rows
from harness.sdk.kernels.score import score


@helper()
def hold_true(scores: Array, truth: Array, held: Array) -> float:
    """Move the scores of the true classes to `held`, so only false ones are left; returns the lowest of them."""
    low = np.inf
    for p in range(np.uint32(truth.size)):
        y = np.uint32(truth[p])
        held[p] = scores[y]
        low = min(low, held[p])
        scores[y] = -np.inf
    return low


@helper()
def hide_untouched(rows: Rows, features: Array, values: Array, scores: Array, moves: Moves) -> int:
    """Exclude the classes without an edge from any of the features; returns the first class that took part, or -1."""
    for j in range(features.size):
        f = np.uint32(features[j])
        if values[j] != 0:
            mark(rows, f, rows.length[f], True, moves)
    first = -1
    for c in range(scores.size - 1, -1, -1):
        if not moves.marked[c] and scores[c] > -np.inf:
            first = c
            scores[c] = -np.inf
        moves.marked[c] = False
    return first


@helper()
def plan_pairs(scores: Array, truth: Array, held: Array, low: float, moves: Moves) -> int:
    """Plan the move of each class by its part in the wrongly ordered pairs; returns the number of classes that move."""
    n, pairs = 0, 0
    for c in range(np.uint32(scores.size)):
        if scores[c] >= low and scores[c] > -np.inf:
            part = beaten(scores[c], truth, held, moves.changes)
            n = plan_move(moves, n, c, -part)
            pairs += part
    if pairs == 0:
        return 0
    for p in range(truth.size):
        y = np.uint32(truth[p])
        if moves.changes[y] != 0:
            n = plan_move(moves, n, y, moves.changes[y])
    for m in range(np.uint32(n)):
        moves.changes[moves.classes[m]] /= pairs
    return n


@helper()
def beaten(s: float, truth: Array, held: Array, changes: Any) -> int:
    """Return the number of true classes whose score is at most s; each of them gains a part."""
    count = 0
    for p in range(np.uint32(truth.size)):
        if s >= held[p]:
            changes[np.uint32(truth[p])] += 1.0
            count += 1
    return count


@kernel(
    int64(ROWS, INSTANCES, LABELS, reads(int64), writes(float64), writes(float64), writes(float64), MOVES, boolean)
)  # fmt: skip
def update_mmp(
    rows: Rows,
    instances: Instances,
    labels: Labels,
    order: Array,
    base: Array,
    scores: Array,
    held: Array,
    moves: Moves,
    touched_only: bool,
) -> int:
    """Learn from each instance (x, Y) in this order, with E = {(r, s): r in Y, s not in Y, seen, s_s >= s_r}.

        W[:, r] += x / |E|,  W[:, s] -= x / |E|    for each pair of E

    With `touched_only`, classes without an edge from any feature of x are excluded from E. If E would be empty without
    them, the first of them represents all. `base` holds 0 for classes that have occurred and -inf for the others. It is
    changed, like the rows; `scores` and `held` are space.

    Returns
    -------
    int
        Number of instances done: all of them, or those before the first one without room in the arena.
    """
    for done in range(order.size):
        i = order[done]
        truth = labels.indices[labels.indptr[i] : labels.indptr[i + 1]]
        for p in range(truth.size):
            base[np.uint32(truth[p])] = 0.0
        score(rows, instances, i, base, scores)
        low = hold_true(scores, truth, held)
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        features, values = instances.indices[lo:hi], instances.data[lo:hi]
        stand_in = -1
        if touched_only and low <= 0:
            stand_in = hide_untouched(rows, features, values, scores, moves)
        n = plan_pairs(scores, truth, held, low, moves)
        if n == 0 and stand_in >= 0:
            scores[stand_in] = 0.0
            n = plan_pairs(scores, truth, held, low, moves)
        if not move_all(rows, instances, i, moves, n):
            forget(moves, n)
            return done
        forget(moves, n)
    return order.size
