"""One-against-all training and ranking equal a dense float64 reference, for both forms of the steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness.sdk import as_instances
from harness_tree.kernels.one_against_all import rank_oaa, update_oaa
from harness_tree.kernels.regressor import LOSSES, RegressorStep


def problem(seed: int, n_classes: int, n: int = 40, n_features: int = 6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.7)
    return X.astype(np.float32), rng.integers(0, n_classes, n).astype(np.int32)


def train(X, y, n_classes, loss, eta):
    W = np.zeros((X.shape[1] + 1, n_classes), np.float32)
    space = np.zeros(n_classes), np.empty(n_classes), np.empty(n_classes, np.int32)
    update_oaa(W, as_instances(X), y, np.arange(len(y)), RegressorStep(LOSSES.index(loss), False, eta), *space, 0)
    return W


def train_densely(X, y, n_classes, loss, eta):
    W = np.zeros((X.shape[1] + 1, n_classes))
    for x, label in zip(np.insert(X.astype(np.float64), 0, 1.0, axis=1), y, strict=True):
        c, h, A = np.where(np.arange(n_classes) == label, 1.0, -1.0), x @ W, x @ x
        g = {
            "hinge": c * (c * h < 1),
            "absolute": np.sign(c - h),
            "squared": c - h,
            "logistic": c / (1 + np.exp(c * h)),
        }[loss]
        room = np.divide(np.abs(c - h), A * np.abs(g), out=np.full(n_classes, np.inf), where=g != 0)
        W += np.outer(x, (eta if loss == "logistic" else np.minimum(eta, room)) * g)
    return W


@settings(max_examples=60, deadline=None, derandomize=True)  # at the target, rounding decides whether a step is taken
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(1, 40),
    loss=st.sampled_from(LOSSES),
    eta=st.sampled_from([0.1, 1.0]),
)
def test_weights_equal_the_dense_reference(seed, n_classes, loss, eta):
    X, y = problem(seed, n_classes)
    assert_allclose(train(X, y, n_classes, loss, eta), train_densely(X, y, n_classes, loss, eta), rtol=1e-3, atol=1e-4)


def test_updating_a_few_of_many_classes_equals_updating_all():
    X, y = problem(0, 64, n=400)
    once = train(X, y, 64, "hinge", 1.0)
    assert_allclose(once, train_densely(X, y, 64, "hinge", 1.0), rtol=1e-3, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(1, 30), k=st.integers(1, 35))
def test_ranks_follow_scores_with_ties_by_class_and_omit_unseen_classes(seed, n_classes, k):
    rng = np.random.default_rng(seed)
    X, _ = problem(seed, n_classes)
    W = rng.integers(-2, 3, (7, n_classes)).astype(np.float32)
    base = np.where(rng.random(n_classes) < 0.8, 0.0, -np.inf)
    X = np.round(X)
    total = np.insert(X, 0, 1.0, axis=1).astype(np.float64) @ W + base
    ranked = rank_oaa(W, as_instances(X), base, k)
    for row, scores in zip(ranked, total, strict=True):
        wanted = [c for c in np.lexsort((np.arange(n_classes), -scores)).tolist() if scores[c] > -np.inf]
        assert row.tolist() == (wanted + [-1] * k)[:k]


def test_a_row_without_features_is_ranked_by_the_biases():
    W = np.array([[1.0, 3.0, 2.0], [9.0, 0.0, 0.0]], np.float32)
    assert_array_equal(rank_oaa(W, as_instances(np.zeros((1, 1))), np.zeros(3), 3), [[1, 2, 0]])


@pytest.mark.parametrize("loss", LOSSES)
def test_a_single_class_converges_to_a_score_of_one(loss):
    X, _ = problem(0, 1)
    W = train(X, np.zeros(40, np.int32), 1, loss, 0.5)
    assert np.all(np.insert(X, 0, 1.0, axis=1).astype(np.float64) @ W > 0)
