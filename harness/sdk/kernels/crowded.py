"""Features that most classes know, spread out into a matrix for a batch: their weights are read in one go, without a
class to look up for each. Scores are the same to the last bit: what is missing in a row of the index adds a 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float32, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array, frozen
from harness.sdk.kernels.compiling import LEAN, kernel, named, reads, writes
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import FROZEN_ROWS, Rows, freeze

LEAST_SHARE = 0.25
"""Of the classes, that a feature must know: four weights in a row are read in the time of one that is looked up."""
MOST_CLASSES, MOST_BYTES = 4096, 256_000_000
"""Beyond these the scores of an instance, or the matrix, are not at hand."""
LEAST_USES = 4
"""By which the matrix pays: so often a row of it is read in a batch, on average."""


class Crowded(NamedTuple):
    """The weights of some features, feature by class."""

    places: NDArray[np.int32]
    """The row of each feature in the matrix, -1 for those that are not in it; empty where there is no matrix."""
    weights: NDArray[np.float32]


CROWDED = named(Crowded, reads(int32), reads(float32, 2))


def spread_crowded(rows: Rows, instances: Instances, n_classes: int) -> Crowded:
    """The matrix for a batch that is worth one; else an empty one."""
    features = _worth_it(rows, instances, n_classes)
    places = np.empty(0, np.int32)
    weights = np.zeros((features.size, n_classes), np.float32)
    if features.size:
        places = np.full(rows.start.size, -1, np.int32)
        places[features] = np.arange(features.size, dtype=np.int32)
        spread(freeze(rows), frozen(features, np.int64), weights)
    return Crowded(frozen(places, np.int32), frozen(weights, np.float32))


def _worth_it(rows: Rows, instances: Instances, n_classes: int) -> NDArray[np.int64]:
    """The features that many classes know, where the batch has them often; else none."""
    none = np.empty(0, np.int64)
    if n_classes > MOST_CLASSES or rows.start.size > instances.indices.size:
        return none
    is_crowded = rows.length >= LEAST_SHARE * n_classes
    features = np.flatnonzero(is_crowded)
    uses = np.count_nonzero(is_crowded[instances.indices])
    fits = features.size * n_classes * 4 <= MOST_BYTES
    return features if fits and uses >= LEAST_USES * features.size else none


@kernel(void(FROZEN_ROWS, reads(int64), writes(float32, 2)), **LEAN)
def spread(rows: Rows, features: Array, weights: Array) -> None:
    """W[f, c] of these features as a plain matrix."""
    for place in range(np.uint64(features.size)):
        f = np.uint64(features[place])
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            weights[place, np.uint64(rows.classes[e])] = rows.weights[e]
