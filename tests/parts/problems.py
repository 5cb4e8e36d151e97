"""Random problems for learners: sparse unit rows near class prototypes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array


def near_prototypes(
    seed: int = 0, n: int = 200, n_features: int = 30, n_classes: int = 12
) -> tuple[csr_array, np.ndarray]:
    """Return rows with noise in all features; each class occurs."""
    rng = np.random.default_rng(seed)
    prototypes = rng.random((n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.3)
    y = rng.permutation(np.arange(n) % n_classes)
    X = (prototypes[y] + 0.3 * rng.random((n, n_features))) * (rng.random((n, n_features)) < 0.7)
    return _of_length_one(X), y


def parts_of_prototypes(
    seed: int = 0, n: int = 200, n_features: int = 30, n_classes: int = 12
) -> tuple[csr_array, np.ndarray]:
    """Return rows with most features of their class and some others."""
    rng = np.random.default_rng(seed)
    prototypes = (0.5 + rng.random((n_classes, n_features))) * (rng.random((n_classes, n_features)) < 0.3)
    y = rng.integers(0, n_classes, n)
    noise = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.1)
    return _of_length_one(prototypes[y] * (rng.random((n, n_features)) < 0.8) + noise), y


def _of_length_one(X: np.ndarray) -> csr_array:
    X[:, 0] += 0.01
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return csr_array(X.astype(np.float32))


def as_indicator(y: np.ndarray, n_classes: int = 12) -> csr_array:
    """Return single labels as an indicator matrix."""
    return csr_array((np.ones(y.size, np.int8), (np.arange(y.size), y)), shape=(y.size, n_classes))
