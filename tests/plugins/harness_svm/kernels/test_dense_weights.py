"""Weights in a matrix: scores are dot products, and updates are outer products."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness_svm.structured.kernels.dense_weights import move_densely, score_densely
from internals import no_moves, plan_move
from svm_definitions import instances_of, random_rows


@given(seed=st.integers(0, 2**32 - 1), n_features=st.integers(1, 11))
def test_scores_are_dot_products_for_any_number_of_features(seed, n_features):
    X, _ = random_rows(seed, 6, n_features, 4)
    W, scores = np.random.default_rng(seed).normal(size=(n_features, 4)), np.full(4, np.nan)
    for i in range(6):
        score_densely(W, instances_of(X), i, scores)
        assert_allclose(scores, X[i] @ W, rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), moving=st.sets(st.integers(0, 4)))
def test_an_update_adds_the_row_to_the_given_classes_only(seed, moving):
    X, _ = random_rows(seed, 4, 7, 5)
    rng = np.random.default_rng(seed)
    W, moves, n = rng.normal(size=(7, 5)), no_moves(5), 0
    for c in moving:
        n = plan_move(moves, n, np.uint32(c), float(rng.normal()))
    moved = W.copy()
    move_densely(moved, instances_of(X), 1, moves, n)
    assert_allclose(moved, W + np.outer(X[1], moves.changes), rtol=1e-12, atol=1e-12)
    still = [c for c in range(5) if c not in moving]
    assert_array_equal(moved[:, still], W[:, still])
