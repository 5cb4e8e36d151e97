"""Fixtures for tests of the support vector machines: data, a small tree, weights as a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Taxonomy
from internals import as_edges


@pytest.fixture(scope="session")
def data() -> Callable[..., tuple[csr_array, np.ndarray]]:
    """Return a function that draws sparse rows near class prototypes: all classes occur, one row is empty."""

    def make(seed: int = 0, n: int = 120, n_features: int = 20, n_classes: int = 6) -> tuple[csr_array, np.ndarray]:
        rng = np.random.default_rng(seed)
        prototypes = rng.normal(size=(n_classes, n_features))
        y = rng.permutation(np.arange(n) % n_classes)
        X = (prototypes[y] + 0.7 * rng.normal(size=(n, n_features))) * (rng.random((n, n_features)) < 0.6)
        X[n // 2] = 0
        return csr_array(X.astype(np.float32)), y

    return make


@pytest.fixture(scope="session")
def tree() -> Taxonomy:
    """Six classes, unequal depths; class 1 sits at an inner node, above class 2.

    0 root - 1 (a): 3 (class 0), 4 (class 1): 5 (class 2); 2 (b): 6 (class 3), 7: 8 (class 4); 9 (class 5)
    """
    return Taxonomy(np.array([-1, 0, 0, 1, 1, 4, 2, 2, 7, 0]), np.array([3, 4, 5, 6, 8, 9]))


@pytest.fixture(scope="session")
def weights() -> Callable[[Any], np.ndarray]:
    """Return a function that gives a learner's index as a dense matrix W[f, c]."""

    def spread(learner: Any) -> np.ndarray:
        edges = as_edges(learner.rows_)
        shape = (learner.n_features_in_, learner.classes_.size)
        return csr_array(
            (edges.weights.astype(float), edges.classes.astype(np.int64), edges.indptr), shape=shape
        ).toarray()

    return spread
