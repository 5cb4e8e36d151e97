"""What all learners here decide alike: where weights become too many, which are stored, what seeds a training."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

LARGE_BYTES = 2 * 1024**3
"""A matrix of all weights that would take more is never made."""
LARGE_PRUNE = 0.01
"""What `prune=None` stands for past that size: the threshold of DiSMEC (Babbar and Schoelkopf, WSDM 2017)."""


def is_large(n_features: int, n_classes: int) -> bool:
    """Whether a matrix of all weights would be too large to be made."""
    return 8 * n_features * n_classes > LARGE_BYTES


def threshold(prune: float | None, n_features: int, n_classes: int) -> float:
    """The size up to which weights are not stored."""
    if prune is not None:
        return float(prune)
    return LARGE_PRUNE if is_large(n_features, n_classes) else 0.0


def draw_seed(random_state: int | np.random.RandomState | None) -> int:
    """The seed of all that a training draws."""
    return int(check_random_state(random_state).randint(2**31))
