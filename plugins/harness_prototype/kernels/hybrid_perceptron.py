"""Perceptron training with many classes: the same updates for less reading (see `hybrid_index`)."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, int64

from harness.sdk.kernels.compile import INSTANCES, LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.rows import has_room
from harness_prototype.kernels.hybrid_index import (
    HYBRID_INDEX,
    SAFE,
    HybridIndex,
    find_rival,
    knows,
    score_pair,
    shift_pair,
)


@kernel(int64(HYBRID_INDEX, INSTANCES, reads(int32), reads(int64), writes(float64)), **LEAN)
def update_perceptron_hybrid(index: HybridIndex, instances: Instances, labels: Array, order: Array, base: Array) -> int:
    """Learn exactly like `update_perceptron`, with an index in two parts."""
    rows, frequent, search, found, heaviest = index
    for done in range(order.size):
        i = order[done]
        y = np.uint32(labels[i])
        base[y] = 0.0
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        features, values = instances.indices[lo:hi], instances.data[lo:hi]
        if not has_room(rows, features, 2):
            return done
        best = find_rival(rows, frequent, instances, i, y, base, search, heaviest[0], 0.0)
        if best == SAFE:
            continue
        rival = np.uint32(best)
        s_y, s_rival = score_pair(rows, frequent, features, values, base, y, rival, found)
        if s_rival < s_y:
            continue
        if s_rival == s_y and y < rival and knows(rows, frequent, features, values, y, found):
            continue
        heaviest[0] += shift_pair(rows, frequent, features, values, y, rival, found, 1.0)
    return order.size
