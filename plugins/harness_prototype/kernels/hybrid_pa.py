"""Passive-aggressive training with many classes: the same updates for less reading (see `hybrid_index`)."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, int64

from harness.sdk.kernels.compile import INSTANCES, LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.rows import has_room
from harness.sdk.kernels.score import squared_norm
from harness_prototype.kernels.hybrid_index import HYBRID_INDEX, SAFE, HybridIndex, find_rival, score_pair, shift_pair
from harness_prototype.kernels.passive_aggressive import PA_STEP, PAStep


@kernel(int64(HYBRID_INDEX, INSTANCES, reads(int32), reads(int64), writes(float64), PA_STEP), **LEAN)
def update_pa_hybrid(
    index: HybridIndex, instances: Instances, labels: Array, order: Array, base: Array, step: PAStep
) -> int:
    """Learn exactly like `update_pa`, with an index in two parts. Each row has one label."""
    rows, frequent, search, found, heaviest = index
    for done in range(order.size):
        i = order[done]
        y = np.uint32(labels[i])
        base[y] = 0.0
        norm2 = squared_norm(instances, i)
        if norm2 == 0:
            continue
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        features, values = instances.indices[lo:hi], instances.data[lo:hi]
        if not has_room(rows, features, 2):
            return done
        best = find_rival(rows, frequent, instances, i, y, base, search, heaviest[0], step.margin)
        if best == SAFE:
            continue
        rival = np.uint32(best)
        s_y, s_rival = score_pair(rows, frequent, features, values, base, y, rival, found)
        loss = step.margin - s_y + s_rival
        if loss > 0:
            tau = min(step.cap, loss / (step.scale * norm2 + step.ridge))
            heaviest[0] += shift_pair(rows, frequent, features, values, y, rival, found, tau)
    return order.size
