"""Ranking by an index: all classes scored, the k best kept."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, void
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import FROZEN_ROWS, Rows, freeze
from harness.sdk.kernels.scoring import score, squared_norm
from harness.sdk.kernels.signatures import INSTANCES
from harness.sdk.kernels.topk import fill_top_k


def rank_by_index(rows: Rows, instances: Instances, base: Array, k: int) -> NDArray[np.int32]:
    """The k best classes of each instance, best first, by sum_f x_f W[f, c] + base_c; -1 pads."""
    ranked = np.empty((instances.n_instances, k), np.int32)
    fill_ranks(freeze(rows), instances, base, np.empty_like(base), ranked)
    return ranked


@kernel(void(FROZEN_ROWS, INSTANCES, reads(float64), writes(float64), writes(int32, 2)), **LEAN)
def fill_ranks(rows: Rows, instances: Instances, base: Array, scores: Array, ranked: Array) -> None:
    """Rank the classes for each instance; one without a feature has no ranking, only padding."""
    for i in range(ranked.shape[0]):
        if squared_norm(instances, i) > 0:
            score(rows, instances, i, base, scores)
            fill_top_k(scores, ranked[i])
        else:
            for place in range(ranked.shape[1]):
                ranked[i, place] = -1
