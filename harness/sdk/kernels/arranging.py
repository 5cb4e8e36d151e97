"""Instances arranged for training: frequent features side by side, and the squared length of each instance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import frozen
from harness.sdk.kernels.instances import Instances


def square_lengths(instances: Instances) -> NDArray[np.float64]:
    """||x_i||^2 of each instance."""
    owners = np.repeat(np.arange(instances.n_instances), np.diff(instances.indptr))
    squares = np.square(instances.data, dtype=np.float64)
    return np.bincount(owners, weights=squares, minlength=instances.n_instances).astype(np.float64)


def by_frequency(instances: Instances, n_features: int) -> NDArray[np.int64]:
    """The features, those met most often first."""
    return np.argsort(-np.bincount(instances.indices, minlength=n_features), kind="stable")


def places_of(features: NDArray[np.int64]) -> NDArray[np.int32]:
    """The place of each feature in this order."""
    places = np.empty(features.size, np.int32)
    places[features] = np.arange(features.size, dtype=np.int32)
    return places


def renamed(instances: Instances, places: NDArray[np.int32]) -> Instances:
    """The same instances with each feature numbered by its place, so that those met often are close together."""
    return instances._replace(indices=frozen(places[instances.indices]))
