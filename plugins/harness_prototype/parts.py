"""Training where classes are many: for the time of a pass, features that most classes meet are put into a matrix.

The updates are the same to the last bit; what is spared is the reading of edges that cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.sdk.kernels.bounds import Search, space_for
from harness.sdk.kernels.frequent import Frequent, join, part
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import Rows, enlarge, known_to_most
from harness_prototype.kernels.pairs import Found, none_found

MET_SHARE = 0.25
"""A feature that is met this often, as a share of the number of classes, soon knows many of them (measured)."""


class Parts(NamedTuple):
    """An index in two parts, and what an update of it needs."""

    rows: Rows
    frequent: Frequent
    search: Search
    found: Found
    heaviest: NDArray[np.float64]
    """One number, no less than the size of any weight."""


Update = Callable[[Parts, NDArray[np.int64]], int]
"""Learns from the instances in an order and gives how many were done, as `OnlineClassifier._update` does."""


def met_often(instances: Instances, n_features: int, n_classes: int) -> NDArray[np.int64]:
    """The features that are worth a place in the matrix; none where a plain index does."""
    met = np.bincount(instances.indices, minlength=n_features)
    return known_to_most(met, MET_SHARE, n_classes)


def learn_in_parts(
    rows: Rows,
    features: NDArray[np.int64],
    instances: Instances,
    order: NDArray[np.int64],
    n_classes: int,
    update: Update,
) -> Rows:
    """The index after all instances in this order, these features being in a matrix meanwhile."""
    heaviest = np.abs(rows.weights).max(initial=0.0, keepdims=True).astype(np.float64)
    search, found = space_for(instances, n_classes, k=1), none_found(instances)
    parts = Parts(*part(rows, features, n_classes), search, found, heaviest)
    while (done := update(parts, order)) < order.size:
        parts, order = parts._replace(rows=enlarge(parts.rows)), order[done:]
    return join(parts.rows, parts.frequent)
