"""Perceptron training where classes are many: the same updates for less reading (see `pairs`)."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, int64

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.bounds import SEARCH, Search
from harness.sdk.kernels.compiling import LEAN, kernel, reads, writes
from harness.sdk.kernels.frequent import FREQUENT, Frequent
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import ROWS, Rows, has_room
from harness.sdk.kernels.signatures import INSTANCES
from harness_prototype.kernels.pairs import FOUND, SAFE, Found, find_rival, knows, score_pair, shift_pair


@kernel(
    int64(ROWS, FREQUENT, INSTANCES, reads(int32), reads(int64), writes(float64), SEARCH, FOUND, writes(float64)),
    **LEAN,
)
def update_perceptron_parted(
    rows: Rows,
    frequent: Frequent,
    instances: Instances,
    labels: Array,
    order: Array,
    base: Array,
    search: Search,
    found: Found,
    heaviest: Array,
) -> int:
    """What `update_perceptron` does, to the last bit, of an index in two parts.

    `heaviest[0]` is no less than any weight.
    """
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
