"""Ranking with an index: score all classes and keep the k best.

For a batch, features with edges to most classes are stored in a matrix. Their weights are then read without looking up
classes. Scores are equal to the last bit: a missing edge adds 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float32, float64, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness.sdk.kernels.rows import FROZEN_ROWS, Rows, freeze
from harness.sdk.kernels.score import fetch_ahead, fill_top_k, squared_norm

LEAST_SHARE = 0.25
"""Least share of classes for the matrix: four adjacent weights are read in the time of one lookup."""
MOST_CLASSES, MOST_BYTES = 4096, 256_000_000
"""Limits above which the scores of an instance, or the matrix, do not fit into the caches."""
LEAST_USES = 4
"""Mean reads of a row of the matrix in a batch from which on it pays."""


class Crowded(NamedTuple):
    """The weights of some features, feature by class."""

    places: NDArray[np.int32]
    """The row of each feature in the matrix, -1 for other features; empty without a matrix."""
    weights: NDArray[np.float32]


CROWDED = named(Crowded, reads(int32), reads(float32, 2))


def spread_crowded(rows: Rows, instances: Instances, n_classes: int) -> Crowded:
    """Return the matrix for a batch; empty if it does not pay."""
    features = _worth_it(rows, instances, n_classes)
    places = np.empty(0, np.int32)
    weights = np.zeros((features.size, n_classes), np.float32)
    if features.size:
        places = np.full(rows.start.size, -1, np.int32)
        places[features] = np.arange(features.size, dtype=np.int32)
        spread_weights(freeze(rows), frozen(features, np.int64), weights)
    return Crowded(frozen(places, np.int32), frozen(weights, np.float32))


def _worth_it(rows: Rows, instances: Instances, n_classes: int) -> NDArray[np.int64]:
    """Return the features for the matrix: edges to many classes, and frequent in the batch."""
    none = np.empty(0, np.int64)
    if n_classes > MOST_CLASSES or rows.start.size > instances.indices.size:
        return none
    is_crowded = rows.length >= LEAST_SHARE * n_classes
    features = np.flatnonzero(is_crowded)
    uses = np.count_nonzero(is_crowded[instances.indices])
    fits = features.size * n_classes * 4 <= MOST_BYTES
    return features if fits and uses >= LEAST_USES * features.size else none


@kernel(void(FROZEN_ROWS, reads(int64), writes(float32, 2)), **LEAN)
def spread_weights(rows: Rows, features: Array, weights: Array) -> None:
    """Return W[f, c] of these features as a matrix."""
    for place in range(np.uint64(features.size)):
        f = np.uint64(features[place])
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            weights[place, np.uint64(rows.classes[e])] = rows.weights[e]


def rank_by_index(rows: Rows, instances: Instances, base: Array, k: int) -> NDArray[np.int32]:
    """Return the k best classes of each instance, by sum_f x_f W[f, c] + base_c.

    Parameters
    ----------
    rows : Rows
        The index, W.
    instances : Instances
        Rows to rank.
    base : ndarray of float64, shape (n_classes,)
        Score of each class without any feature; -inf for classes that are never ranked.
    k : int
        Number of classes for each instance.

    Returns
    -------
    ndarray of int32, shape (n_instances, k)
        Classes, best first, the lowest id first on ties; -1 pads.
    """
    return rank_and_score(rows, instances, base, k)[0]


def rank_and_score(
    rows: Rows, instances: Instances, base: Array, k: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the k best classes of each instance and their scores.

    Parameters
    ----------
    rows : Rows
        The index, W.
    instances : Instances
        Rows to rank.
    base : ndarray of float64, shape (n_classes,)
        Score of each class without any feature; -inf for classes that are never ranked.
    k : int
        Number of classes for each instance.

    Returns
    -------
    ranks : ndarray of int32, shape (n_instances, k)
        Classes, best first; -1 pads.
    scores : ndarray of float64, shape (n_instances, k)
        Their scores; 0 beside pads.
    """
    shape = (instances.n_instances, k)
    ranked, listed = np.empty(shape, np.int32), np.zeros(shape)
    crowded = spread_crowded(rows, instances, base.size)
    fill_ranks(freeze(rows), crowded, instances, base, np.empty_like(base), ranked, listed)
    return ranked, listed


@helper()
def score_all(rows: Rows, crowded: Crowded, instances: Instances, i: int, base: Array, scores: Array) -> None:
    """s_c = base_c + sum_f x_f W[f, c], in the order of the features: equal input gives equal bits."""
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
