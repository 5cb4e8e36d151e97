"""Ranking by an index, compared with a dense product."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness.sdk import as_instances
from index_of import index_of
from internals import patch_internal, rank_all_classes, rank_by_index

seeds = st.integers(0, 2**32 - 1)


def problem(seed: int, n_classes: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, one of them empty, weights, and a base that excludes some classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.7)
    X[3] = 0
    W = rng.normal(size=(5, n_classes)) * (rng.random((5, n_classes)) < 0.6)
    base = np.where(rng.random(n_classes) < 0.3, -np.inf, rng.normal(size=n_classes))
    return X.astype(np.float32), W.astype(np.float32), base


@given(seed=seeds, k=st.integers(1, 12))
def test_the_k_best_of_the_included_classes_are_ranked(seed, k):
    X, W, base = problem(seed)
    ranked = rank_by_index(index_of(W), as_instances(X), base, k)
    scores = X.astype(float) @ W.astype(float) + base
    for x, s, row in zip(X, scores, ranked, strict=True):
        kept = row[row >= 0]
        assert kept.size == (min(k, np.isfinite(base).sum()) if x.any() else 0)
        assert np.all(row[kept.size :] == -1)
        assert_allclose(s[kept], -np.sort(-s)[: kept.size], atol=1e-12)
        assert np.unique(kept).size == kept.size


def test_ties_go_to_the_lowest_position():
    W = np.array([[0.0, 1.0, 0.0, 1.0, 0.0]])
    assert rank_by_index(index_of(W), as_instances([[2.0]]), np.zeros(5), 4).tolist() == [[1, 3, 0, 2]]


@pytest.mark.parametrize("n_classes", [3, 64, 65, 200])
def test_matrix_and_index_give_the_same_ranks(n_classes):
    X, W, base = problem(1, n_classes)
    X, instances = np.tile(X, (5, 1)), as_instances(np.tile(X, (5, 1)))
    found = rank_all_classes(index_of(W), instances, base, 5)
    assert_array_equal(found, rank_by_index(index_of(W), instances, base, 5))


def test_the_cost_model_selects_when_the_matrix_pays(monkeypatch):
    X, W, base = problem(1)
    used = []
    patch_internal(monkeypatch, "rank_dense", lambda *given, **more: used.append(given))
    rank_all_classes(index_of(W), as_instances(np.tile(X, (5, 1))), base, 2)
    assert len(used) == 1
    rank_all_classes(index_of(W), as_instances(X[3:4]), base, 2)  # one row is not worth a matrix
    assert len(used) == 1
