"""Scores of ranked classes, compared with a dense product."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from harness.sdk import as_instances
from index_of import index_of
from internals import rank_by_index, score_classes


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, one of them empty, weights, and a base that excludes some classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.7)
    X[3] = 0
    W = rng.normal(size=(5, 9)) * (rng.random((5, 9)) < 0.6)
    base = np.where(rng.random(9) < 0.3, -np.inf, rng.normal(size=9))
    return X.astype(np.float32), W.astype(np.float32), base


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 12))
def test_scores_of_ranked_classes_equal_a_dense_product_and_never_increase(seed, k):
    X, W, base = problem(seed)
    rows, instances = index_of(W), as_instances(X)
    ranks = rank_by_index(rows, instances, base, k)
    scores = score_classes(rows, instances, base, ranks)
    dense = X.astype(float) @ W.astype(float) + base
    listed = ranks >= 0
    assert_allclose(scores[listed], np.take_along_axis(dense, np.maximum(ranks, 0), axis=1)[listed], atol=1e-12)
    assert (scores[~listed] == 0).all()
    falls = scores[:, :-1] >= scores[:, 1:]
    assert falls[listed[:, 1:]].all()


@given(seed=st.integers(0, 2**32 - 1), degree=st.integers(1, 5))
def test_factors_scale_scores_and_a_degree_limit_cuts_rows(seed, degree):
    X, W, _ = problem(seed)
    factors = np.linspace(0.5, 2, 5)
    ranks = np.tile(np.arange(9, dtype=np.int32), (6, 1))
    kept = np.where(np.cumsum(W != 0, axis=1) <= degree, W, 0).astype(float)
    scores = score_classes(index_of(W), as_instances(X), np.zeros(9), ranks, factors=factors, degree=degree)
    assert_allclose(scores, (X * factors) @ kept, atol=1e-12)
