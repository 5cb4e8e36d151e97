"""Scores are dot products of instances and weights plus the base."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sdk import as_instances
from internals import empty_rows, score, shift, squared_norm


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_features=st.integers(1, 12), n_classes=st.integers(2, 100))
def test_scores_equal_a_dense_product(seed, n_features, n_classes, dense):
    rng = np.random.default_rng(seed)
    rows = empty_rows(n_features, 10_000)
    for f in range(n_features):
        for _ in range(rng.integers(0, 6)):
            gainer, loser = rng.choice(n_classes, 2, replace=False).astype(np.uint32)
            shift(rows, np.uint32(f), gainer, loser, rng.normal())
    X = rng.normal(size=(4, n_features)).astype(np.float32) * (rng.random((4, n_features)) < 0.7)
    base, scores = np.where(rng.random(n_classes) < 0.2, -np.inf, 0.0), np.empty(n_classes)
    expected = X.astype(np.float64) @ dense(rows, n_classes).astype(np.float64) + base
    for i in range(4):
        score(rows, as_instances(X), i, base, scores)
        np.testing.assert_allclose(scores, expected[i], rtol=1e-12, atol=1e-12)


def test_the_norm_of_the_smallest_values_is_above_zero():
    instances = as_instances(np.array([[1e-44, 0], [3, 4], [0, 0]], np.float32))
    assert squared_norm(instances, 0) > 0
    assert squared_norm(instances, 1) == 25
    assert squared_norm(instances, 2) == 0
