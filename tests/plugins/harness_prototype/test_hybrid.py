"""Learners that keep frequent features in a matrix while they train learn the same as without it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from harness_prototype import PA, Perceptron, hybrid
from internals import as_edges, patch_internal
from problems import as_indicator, near_prototypes

LEARN_HYBRID = hybrid.learn_hybrid


def dense(edges, n_classes=12) -> np.ndarray:
    W = np.zeros((edges.indptr.size - 1, n_classes), np.float32)
    W[edges.features, edges.classes] = edges.weights
    return W


@pytest.fixture
def many(monkeypatch):
    """Lower the thresholds: 12 classes count as many, and a feature in a tenth of them goes to the matrix."""
    patch_internal(monkeypatch, "rows.CACHED_CLASSES", 10)
    patch_internal(monkeypatch, "ranking.CACHED_CLASSES", 10)
    used = []
    monkeypatch.setattr(hybrid, "learn_hybrid", lambda *given: used.append(given) or LEARN_HYBRID(*given))
    return used


@pytest.mark.parametrize("learner", [PA(passes=3, random_state=0), Perceptron(passes=3, random_state=0)])
def test_a_learner_with_many_classes_ranks_as_without_the_matrix(learner, many, monkeypatch):
    X, y = near_prototypes()
    parted = learner.fit(X, y).rank(X, 5), as_edges(learner.rows_)
    assert len(many) == 3
    monkeypatch.setattr(hybrid, "MET_SHARE", np.inf)
    patch_internal(monkeypatch, "KNOWN_SHARE_OF_MANY", np.inf)
    plain = learner.fit(X, y).rank(X, 5), as_edges(learner.rows_)
    assert len(many) == 3
    assert_array_equal(parted[0], plain[0])
    assert parted[1].weights.size == plain[1].weights.size
    assert_array_equal(dense(parted[1]), dense(plain[1]))


def test_a_batch_continues_from_the_previous_one(many, monkeypatch):
    X, y = near_prototypes(n=400)
    batched = PA().partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert len(many) == 2
    monkeypatch.setattr(hybrid, "MET_SHARE", np.inf)
    plain = PA().partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert_array_equal(dense(as_edges(batched.rows_)), dense(as_edges(plain.rows_)))


def test_rows_with_several_labels_are_learned_without_the_matrix(many):
    X, y = near_prototypes()
    Y = as_indicator(y).tolil()
    Y[0], Y[1] = 0, 0
    Y[0, [1, 2]] = 1  # rows with two labels or none, as many labels as rows
    PA(passes=1).fit(X, Y.tocsr())
    assert many == []
