"""The weight-bounded perceptron, one for each class: each feature splits a weight of 1 between a class and the rest.

The index holds w - 1/2, from -1/2 to 1/2, so a missing edge means the initial even split.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64

from harness.sdk.kernels.compile import INSTANCES, LABELS, LEAN, helper, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances, Labels
from harness.sdk.kernels.moves import MOVES, Moves, forget, move_all, plan_move
from harness.sdk.kernels.rows import ROWS, Rows
from harness.sdk.kernels.score import score, squared_norm

BOUND = 0.5


@helper()
def bound_row(rows: Rows, f: Any) -> None:
    """Clip the weights of a feature to their bounds."""
    start = rows.start[f]
    for e in range(start, start + rows.length[f]):
        rows.weights[e] = min(BOUND, max(-BOUND, np.float64(rows.weights[e])))


@kernel(
    int64(ROWS, INSTANCES, LABELS, reads(int64), reads(float64), writes(float64), MOVES, writes(int64), float64),
    **LEAN,
)
def update_bounded(
    rows: Rows,
    instances: Instances,
    labels: Labels,
    order: Array,
    zeros: Array,
    scores: Array,
    moves: Moves,
    mistakes: Array,
    rate: float,
) -> int:
    """Learn from each instance x != 0 in this order: class k scores w_k x, and the rest scores (1 - w_k) x.

        w_k += min(rate x, 1 - w_k)    if k is true and does not score more than the rest
        w_k -= min(rate x, w_k)        if k is false and the rest does not score more than k

    `mistakes` counts these updates by class, `zeros` holds 0 for each class, and `scores` is space.

    Returns
    -------
    int
        Number of instances done: all of them, or those before the first one without room in the arena.
    """
    for done in range(order.size):
        i = order[done]
        if squared_norm(instances, i) == 0:
            continue
        score(rows, instances, i, zeros, scores)  # (w_k x - (1 - w_k) x) / 2
        n = 0
        for p in range(labels.indptr[i], labels.indptr[i + 1]):
            y = np.uint32(labels.indices[p])
            if scores[y] <= 0:
                n = plan_move(moves, n, y, rate)
            scores[y] = -np.inf
        for k in range(np.uint32(scores.size)):
            if scores[k] >= 0:
                n = plan_move(moves, n, k, -rate)
        moved = move_all(rows, instances, i, moves, n)
        for m in range(np.uint32(n)):
            mistakes[moves.classes[m]] += moved
        forget(moves, n)
        if not moved:
            return done
        for j in range(instances.indptr[i], instances.indptr[i + 1]):
            bound_row(rows, np.uint32(instances.indices[j]))
    return order.size
