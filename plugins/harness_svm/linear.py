"""Base of the linear machines that are trained on all rows at once, and the limits that these learners share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from harness.sdk.index import IndexClassifier, rank_by_biases
from harness.sdk.kernels.instances import Instances, Labels, Vectors

LARGE_BYTES = 2 * 1024**3
"""Maximum size of a matrix of all weights."""
LARGE_PRUNE = 0.01
"""Value of `prune=None` above this size: the threshold of DiSMEC (Babbar and Schoelkopf, WSDM 2017)."""


class LinearMachine(IndexClassifier):
    """A classifier that is trained on all rows at once.

    A row without features is ranked by the biases. Without biases, it gets no ranking.

    Attributes
    ----------
    rows_ : Rows
        The index.
    base_ : ndarray of shape (n_classes,)
        The bias of each class; -inf for classes that are never ranked.
    """

    random_state: int | np.random.RandomState | None

    def _base_of_seen(self, labels: Labels) -> NDArray[np.float64]:
        """Return 0 for the classes of the training rows, and -inf for the others."""
        seen = np.bincount(labels.indices, minlength=self.classes_.size) > 0
        return np.where(seen, 0.0, -np.inf)

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        return self._with_biases(self._rank_by_features(instances, k))

    def _rank_vectors(self, X: Vectors, k: int) -> NDArray[np.int32]:
        return self._with_biases(super()._rank_vectors(X, k))

    def _with_biases(self, ranked: NDArray[np.int32]) -> NDArray[np.int32]:
        """Replace the ranking of instances without features by a ranking by the biases, if there are any."""
        if np.any(self.base_[np.isfinite(self.base_)] != 0):
            ranked[ranked[:, 0] < 0] = rank_by_biases(self.base_, ranked.shape[1])
        return ranked

    def _rank_by_features(self, instances: Instances, k: int) -> NDArray[np.int32]:
        """Return rankings in which instances without features rank nothing."""
        return super()._rank_instances(instances, k)

    def _n_bytes_beside(self) -> int:
        total = super()._n_bytes_beside()
        for name in self.records:
            if name != "rows_" and hasattr(self, name):  # the index is counted by itself
                total += sum(array.nbytes for array in getattr(self, name))
        return total


def is_large(n_features: int, n_classes: int) -> bool:
    """Return whether a matrix of all weights would exceed the maximum size."""
    return 8 * n_features * n_classes > LARGE_BYTES


def threshold(prune: float | None, n_features: int, n_classes: int) -> float:
    """Return the largest absolute value of weights that are not stored."""
    if prune is not None:
        return float(prune)
    return LARGE_PRUNE if is_large(n_features, n_classes) else 0.0


def draw_seed(random_state: int | np.random.RandomState | None) -> int:
    """Return the seed for all random numbers of a training."""
    return int(check_random_state(random_state).randint(2**31))
