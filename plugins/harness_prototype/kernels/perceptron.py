"""Multi-class perceptron training: on a mistake, the true class moves towards the instance, the predicted one away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int32, int64

from harness.sdk.kernels.compile import INSTANCES, helper, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.rows import ROWS, Rows, has_room, shift
from harness.sdk.kernels.score import best_class, score


@helper()
def is_touched(rows: Rows, features: Array, values: Array, c: Any) -> bool:
    """Return whether any of the features has an edge to class c."""
    found = False
    for j in range(features.size):
        f = np.uint32(features[j])
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            found |= (rows.classes[e] == c) & (values[j] != 0)
    return found


@kernel(int64(ROWS, INSTANCES, reads(int32), reads(int64), writes(float64), writes(float64)))
def update_perceptron(rows: Rows, instances: Instances, labels: Array, order: Array, base: Array, scores: Array) -> int:
    """Learn from each instance (x, y) in this order, with c' = argmax_{c != y, seen} s_c, the lowest id on ties.

        W[:, y] += x,  W[:, c'] -= x    if c' leads y, or ties with y while no feature of x has an edge to y

    `base` holds 0 for classes that have occurred and -inf for the others. It is changed, like the rows; `scores` is
    space.

    Returns
    -------
    int
        Number of instances done: all of them, or those before the first one without room in the arena.
    """
    for done in range(order.size):
        i = order[done]
        y = np.uint32(labels[i])
        base[y] = 0.0
        score(rows, instances, i, base, scores)
        s_y = scores[y]
        scores[y] = -np.inf
        rival = np.uint32(best_class(scores))
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        features, values = instances.indices[lo:hi], instances.data[lo:hi]
        if scores[rival] < s_y:  # -inf if no other class has occurred
            continue
        if scores[rival] == s_y and y < rival and is_touched(rows, features, values, y):
            continue
        if not has_room(rows, features, 2):
            return done
        for j in range(features.size):
            shift(rows, np.uint32(features[j]), y, rival, np.float64(values[j]))
    return order.size
