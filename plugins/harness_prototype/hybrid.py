"""Training with many classes: during a pass, the weights of frequent features are kept in a matrix.

The updates are the same to the last bit. The matrix saves reading edges that cannot change the outcome.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier
from harness.sdk.kernels.bounds import join, part, space_for
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import Rows, enlarge, known_to_most
from harness_prototype.kernels.hybrid_index import HybridIndex, none_found

MET_SHARE = 0.25
"""Minimum frequency of a feature in the matrix, relative to the number of classes (measured): such a feature soon has
edges to many classes.
"""

Update = Callable[[HybridIndex, NDArray[np.int64]], int]
"""Learns from the instances in an order and returns the number of instances done, as `OnlineClassifier._update`
does."""


def frequent_features(instances: Instances, n_features: int, n_classes: int) -> NDArray[np.int64]:
    """Return the features to keep in the matrix; none if a plain index is as fast."""
    met = np.bincount(instances.indices, minlength=n_features)
    return known_to_most(met, MET_SHARE, n_classes)


def learn_pass(learner: OnlineClassifier, instances: Instances, order: NDArray[np.int64], update: Update) -> bool:
    """Learn one pass with frequent features in a matrix, if that is faster.

    Parameters
    ----------
    learner : OnlineClassifier
        The learner, whose index is replaced.
    instances : Instances
        The training rows.
    order : ndarray of int64
        Order in which the rows are visited.
    update : callable
        The kernel that learns from the instances.

    Returns
    -------
    bool
        Whether the pass was learned; if False, nothing has changed.
    """
    n_classes = learner.base_.size
    features = frequent_features(instances, learner.n_features_in_, n_classes)
    if not features.size:
        return False
    learner.rows_ = learn_hybrid(learner.rows_, features, instances, order, n_classes, update)
    return True


def learn_hybrid(
    rows: Rows,
    features: NDArray[np.int64],
    instances: Instances,
    order: NDArray[np.int64],
    n_classes: int,
    update: Update,
) -> Rows:
    """Return the index after a pass over the instances in this order.

    `features` are kept in a matrix during the pass.
    """
    heaviest = np.abs(rows.weights).max(initial=0.0, keepdims=True).astype(np.float64)
    search, found = space_for(instances, n_classes, k=1), none_found(instances)
    index = HybridIndex(*part(rows, features, n_classes), search, found, heaviest)
    while (done := update(index, order)) < order.size:
        index, order = index._replace(rows=enlarge(index.rows)), order[done:]
    return join(index.rows, index.frequent)
