"""Passive-aggressive training where classes are many: the same updates for less reading (see `pairs`)."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, int64

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.bounds import SEARCH, Search
from harness.sdk.kernels.compiling import LEAN, kernel, reads, writes
from harness.sdk.kernels.frequent import FREQUENT, Frequent
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import ROWS, Rows, has_room
from harness.sdk.kernels.scoring import squared_norm
from harness.sdk.kernels.signatures import INSTANCES
from harness_prototype.kernels.pairs import FOUND, SAFE, Found, find_rival, score_pair, shift_pair
from harness_prototype.kernels.passive_aggressive import PA_STEP, PAStep


@kernel(
    int64(
        ROWS, FREQUENT, INSTANCES, reads(int32), reads(int64), writes(float64), SEARCH, FOUND, writes(float64), PA_STEP
    ),
    **LEAN,
)
def update_pa_parted(
    rows: Rows,
    frequent: Frequent,
    instances: Instances,
    labels: Array,
    order: Array,
    base: Array,
    search: Search,
    found: Found,
    heaviest: Array,
    step: PAStep,
) -> int:
    """What `update_pa` does, to the last bit, of an index in two parts, for one label each.

    `heaviest[0]` is no less than any weight.
    """
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
