"""The scores of some classes of each instance: what the ranking found, said again in numbers, to the last bit."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.prefetching import fetch_ahead
from harness.sdk.kernels.rows import FROZEN_ROWS, MOST_EDGES, Rows, freeze
from harness.sdk.kernels.signatures import INSTANCES


def score_classes(
    rows: Rows,
    instances: Instances,
    base: Array,
    ranks: NDArray[np.int32],
    *,
    factors: Array | None = None,
    degree: int = 0,
) -> NDArray[np.float64]:
    """By sum_f factor_f x_f W[f, c] + base_c, in the shape of `ranks`; 0 beside pads.

    Without factors they are 1. With a degree only that many edges of a row count, from its front; 0 means all. Terms
    are added in the order in which ranking adds them, so that the scores of a ranking never rise along a row.
    """
    scores = np.zeros(ranks.shape)
    places = np.zeros(base.size, np.int32)
    multiplied = np.empty(0) if factors is None else factors
    fill_class_scores(
        freeze(rows), instances, base, multiplied, np.ascontiguousarray(ranks), places, scores, degree or MOST_EDGES
    )
    return scores


@kernel(
    void(
        FROZEN_ROWS,
        INSTANCES,
        reads(float64),
        reads(float64),
        reads(int32, 2),
        writes(int32),
        writes(float64, 2),
        int64,
    ),
    **LEAN,
)
def fill_class_scores(
    rows: Rows,
    instances: Instances,
    base: Array,
    factors: Array,
    ranks: Array,
    places: Array,
    scores: Array,
    degree: int,
) -> None:
    """`places` holds for each class its place in the ranking of the instance, from 1; 0 where it has none."""
    for i in range(ranks.shape[0]):
        for place in range(ranks.shape[1]):
            c = ranks[i, place]
            if c >= 0:
                places[np.uint32(c)] = place + 1
                scores[i, place] = base[np.uint32(c)]
        for j in range(instances.indptr[i], instances.indptr[i + 1]):
            f = np.uint32(instances.indices[j])
            x = np.float64(instances.data[j]) * (factors[f] if factors.size else 1.0)
            fetch_ahead(rows, instances.indices, j)
            start = rows.start[f]
            for e in range(start, start + min(rows.length[f], np.uint32(degree))):
                place = places[rows.classes[e]]
                if place:
                    scores[i, np.uint32(place - 1)] += x * rows.weights[e]
        for place in range(ranks.shape[1]):
            c = ranks[i, place]
            if c >= 0:
                places[np.uint32(c)] = 0
