"""Scores of given classes of each instance, equal to those of the ranking to the last bit."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.rows import FROZEN_ROWS, MOST_EDGES, Rows, freeze
from harness.sdk.kernels.score import fetch_ahead


def score_classes(
    rows: Rows,
    instances: Instances,
    base: Array,
    ranks: NDArray[np.int32],
    *,
    factors: Array | None = None,
    degree: int = 0,
) -> NDArray[np.float64]:
    """Return sum_f factor_f x_f W[f, c] + base_c for given classes of each instance.

    Terms are added in the order of the ranking: scores never rise along a row of ranks.

    Parameters
    ----------
    rows : Rows
        The index, W.
    instances : Instances
        Rows to score.
    base : ndarray of float64, shape (n_classes,)
        Score of each class without any feature.
    ranks : ndarray of int32, shape (n_instances, k)
        Classes of each instance; -1 pads.
    factors : ndarray of float64, shape (n_features,), or None, default=None
        Factor of each feature; None for factors of 1.
    degree : int, default=0
        Number of edges that count per feature, from the front of its row; 0 for all.

    Returns
    -------
    ndarray of float64, shape (n_instances, k)
        Scores; 0 beside pads.
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
    """`places` holds the rank of each class from 1; 0 for classes without a rank."""
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
