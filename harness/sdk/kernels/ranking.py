"""Ranking by an index: all classes scored, the k best kept, with what they score."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, void
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import LEAN, helper, kernel, reads, writes
from harness.sdk.kernels.crowded import CROWDED, Crowded, spread_crowded
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.prefetching import fetch_ahead
from harness.sdk.kernels.rows import FROZEN_ROWS, Rows, freeze
from harness.sdk.kernels.scoring import squared_norm
from harness.sdk.kernels.signatures import INSTANCES
from harness.sdk.kernels.topk import fill_top_k


def rank_by_index(rows: Rows, instances: Instances, base: Array, k: int) -> NDArray[np.int32]:
    """The k best classes of each instance, best first, by sum_f x_f W[f, c] + base_c; -1 pads."""
    return rank_and_score(rows, instances, base, k)[0]


def rank_and_score(
    rows: Rows, instances: Instances, base: Array, k: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The same, and what these classes score; 0 beside pads."""
    shape = (instances.n_instances, k)
    ranked, listed = np.empty(shape, np.int32), np.zeros(shape)
    crowded = spread_crowded(rows, instances, base.size)
    fill_ranks(freeze(rows), crowded, instances, base, np.empty_like(base), ranked, listed)
    return ranked, listed


@helper()
def score_all(rows: Rows, crowded: Crowded, instances: Instances, i: int, base: Array, scores: Array) -> None:
    """s_c = base_c + sum_f x_f W[f, c], in the order of the features, so that equal input gives equal bits."""
    for c in range(np.uint64(scores.size)):
        scores[c] = base[c]
    for j in range(instances.indptr[i], instances.indptr[i + 1]):
        f = np.uint32(instances.indices[j])
        x = np.float64(instances.data[j])
        if crowded.places.size and crowded.places[f] >= 0:
            place = np.uint64(crowded.places[f])
            for c in range(np.uint64(scores.size)):
                scores[c] += x * crowded.weights[place, c]
        else:
            fetch_ahead(rows, instances.indices, j)
            start = rows.start[f]
            for e in range(start, start + rows.length[f]):
                scores[rows.classes[e]] += x * rows.weights[e]


@kernel(
    void(FROZEN_ROWS, CROWDED, INSTANCES, reads(float64), writes(float64), writes(int32, 2), writes(float64, 2)),
    **LEAN,
)
def fill_ranks(
    rows: Rows, crowded: Crowded, instances: Instances, base: Array, scores: Array, ranked: Array, listed: Array
) -> None:
    """Rank the classes for each instance; one without a feature has no ranking, only padding."""
    for i in range(ranked.shape[0]):
        if squared_norm(instances, i) > 0:
            score_all(rows, crowded, instances, i, base, scores)
            fill_top_k(scores, ranked[i])
            for place in range(ranked.shape[1]):
                if ranked[i, place] >= 0:
                    listed[i, place] = scores[np.uint32(ranked[i, place])]
        else:
            for place in range(ranked.shape[1]):
                ranked[i, place] = -1
