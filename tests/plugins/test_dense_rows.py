"""Learners with a dense kernel learn the same from dense rows as from sparse rows in the same order.

`svm` visits rows in another order and reaches the same optimum. The reference is the sparse kernel. Results are bit-
identical if all sums are exact, as with small integers. Otherwise float32 sums are added in another order, and weights
differ in the last digits.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from harness_prototype import MMP, PA, Perceptron
from harness_svm import SVM
from harness_tree import OAA
from internals import FEWEST_ROWS, as_edges, as_matrix, patch_internal
from internals import VECTOR_BLOCK_ROWS as BLOCK_ROWS
from problems import as_indicator

seeds = st.integers(0, 2**31 - 1)
SET_UPS: list[tuple[type[Any], dict[str, Any]]] = [
    (PA, {}),
    (PA, {"variant": "PA-I", "step": "exact"}),
    (Perceptron, {}),
    (MMP, {}),
    *((OAA, {"loss": loss}) for loss in ("hinge", "absolute", "squared", "logistic")),
    (SVM, {}),
    (SVM, {"loss": "hinge", "bias": 0.0, "C": 0.3}),
]
each = pytest.mark.parametrize(("kind", "params"), SET_UPS, ids=lambda value: getattr(value, "__name__", str(value)))


@pytest.fixture(autouse=True)
def _small_problems_count(monkeypatch):
    patch_internal(monkeypatch, "LEAST_WEIGHTS", 1)


def embeddings(seed: int = 0, n: int = 2 * BLOCK_ROWS + 20, n_classes: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Return rows near the centres of their classes, with one zero row."""
    rng = np.random.default_rng(seed)
    centres, y = rng.normal(size=(n_classes, 24)), rng.permutation(np.arange(n) % n_classes)
    X = (centres[y] + rng.normal(size=(n, 24))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[3] = 0
    return X, y


def of_sparse_rows(kind: type[Any]) -> type[Any]:
    """Return the same learner with all rows treated as sparse."""
    return type(kind.__name__, (kind,), {"takes_dense": False})


def weights(learner: Any) -> np.ndarray:
    return learner.W_ if isinstance(learner, OAA) else as_matrix(learner.rows_, learner.classes_.size)


def build(kind: type[Any], params: dict[str, Any], **more: Any) -> Any:
    learner = kind(random_state=0, **params, **more)
    if "tol" in learner.get_params():
        return learner.set_params(tol=1e-6, max_sweeps=300)
    return learner if "passes" not in learner.get_params() else learner.set_params(passes=2)


def assert_close(one: Any, other: Any) -> None:
    scale, share = np.abs(weights(other)).max(), 5e-4 if isinstance(one, SVM) else 2e-5
    assert_allclose(weights(one), weights(other), atol=share * scale, rtol=0)
    assert_array_equal(np.isfinite(one.base_), np.isfinite(other.base_))


@each
def test_dense_rows_give_the_weights_of_sparse_rows(kind, params):
    X, y = embeddings()
    dense, sparse = build(kind, params).fit(X, y), build(of_sparse_rows(kind), params).fit(X, y)
    assert_close(dense, sparse)
    ranks = sparse.rank(X, 3)
    assert (dense.rank(X, 3) == ranks).mean() > 0.99
    assert_array_equal(dense.rank(X[3:4], 3), sparse.rank(X[3:4], 3))


@each
def test_every_form_of_dense_rows_gives_identical_results(kind, params):
    X, y = embeddings()
    dense, given_sparse = build(kind, params).fit(X, y), build(kind, params).fit(csr_array(X), y)
    assert_array_equal(weights(dense), weights(given_sparse))
    assert_array_equal(dense.rank(X, 5), given_sparse.rank(csr_array(X), 5))


@pytest.mark.parametrize(("value", "message"), [(np.nan, "NaN"), (np.inf, "infinity"), (1e39, "infinity")])
def test_a_non_finite_value_in_dense_rows_raises_an_error_in_rank(value, message):
    X, y = embeddings()
    learner = build(PA, {}).fit(X, y)
    wrong = X.astype(np.float64)
    wrong[-1, -1] = value
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
        learner.rank(wrong, 3)


@each
def test_a_zero_row_among_dense_rows_ranks_as_it_does_alone(kind, params):
    X, y = embeddings()
    learner = build(kind, params).fit(X, y)
    assert_array_equal(learner.rank(X, 4)[3], learner.rank(X[3:4], 4)[0])


@settings(deadline=None, max_examples=30)
@given(seed=seeds)
def test_the_perceptron_is_bit_identical_where_sums_are_exact(seed):
    rng = np.random.default_rng(seed)
    n = BLOCK_ROWS + int(rng.integers(1, 60))
    X, y = rng.integers(-2, 3, (n, 5)).astype(np.float32), rng.integers(0, 6, n)
    dense = Perceptron(passes=2, random_state=seed).fit(X, y)
    sparse = of_sparse_rows(Perceptron)(passes=2, random_state=seed).fit(X, y)
    assert_array_equal(weights(dense), weights(sparse))
    assert_array_equal(dense.rank(X, 6), sparse.rank(X, 6))


@pytest.mark.parametrize("kind", [PA, MMP, SVM])
def test_several_labels_or_none_per_row_give_the_same_weights(kind):
    X, y = embeddings()
    several = as_indicator(y).toarray() + as_indicator((y * 5 + 1) % 12).toarray() > 0
    several[::9] = False
    dense = build(kind, {}).fit(X, several.astype(int))
    assert_close(dense, build(of_sparse_rows(kind), {}).fit(X, several.astype(int)))


@pytest.mark.parametrize("kind", [PA, Perceptron, MMP, OAA])
def test_alternating_dense_and_sparse_batches_give_the_same_weights(kind):
    X, y = embeddings()
    turns, sparse = build(kind, {}), of_sparse_rows(kind)(random_state=0)
    for lo, hi in ((0, 40), (40, 47), (47, 120)):
        assert (hi - lo >= FEWEST_ROWS) == (lo != 40)
        turns.partial_fit(X[lo:hi], y[lo:hi])
        sparse.partial_fit(X[lo:hi], y[lo:hi])
    assert_close(turns, sparse)


@pytest.mark.parametrize("kind", [PA, MMP, OAA])
def test_unseen_classes_are_not_ranked(kind):
    X, y = embeddings()
    learner = build(kind, {}).partial_fit(X, y, classes=np.arange(15))
    assert learner.rank(X, 15)[:, :12].max() < 12
    assert (learner.rank(X, 15)[4, 12:] == -1).all()


def test_the_learner_can_rank_after_each_pass_and_its_index_is_valid():
    X, y = embeddings()
    seen = []
    learner = PA(passes=3, random_state=0)
    learner.fit(X, y, after_pass=lambda _: seen.append(learner.index_size_))
    assert len(seen) == 3
    assert learner.index_size_ == np.count_nonzero(as_edges(learner.rows_).weights)
    once = PA(passes=1, random_state=0).fit(X, y)
    assert once.index_size_ == seen[0]


def test_scores_of_a_ranking_match_its_order():
    X, y = embeddings()
    learner = PA(passes=2, random_state=0).fit(X, y)
    ranks = learner.rank(X, 12)
    scores = learner.scores(X, ranks)
    assert (np.diff(scores, axis=1) <= 0).all()
    expected = X[5].astype(np.float64) @ weights(learner)
    assert_allclose(scores[5], expected[ranks[5]], atol=1e-5)


def test_mmp_updates_touched_classes_for_sparse_rows_only():
    X, y = embeddings()
    learner = MMP(passes=1, touched_only=True, random_state=0).fit(X, y)
    assert_array_equal(
        weights(learner), weights(of_sparse_rows(MMP)(passes=1, touched_only=True, random_state=0).fit(X, y))
    )


@pytest.mark.parametrize("kind", [PA, OAA, SVM])
@pytest.mark.parametrize("scale", [1e-14, 1e13])
def test_extreme_values_give_the_weights_of_sparse_rows(kind, scale):
    X, y = embeddings()
    scaled = (X * scale).astype(np.float32)
    params = {"max_sweeps": 5} if kind is SVM else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense, sparse = build(kind, params).fit(scaled, y), build(of_sparse_rows(kind), params).fit(scaled, y)
    assert_array_equal(weights(dense), weights(sparse))


@pytest.mark.parametrize("kind", [PA, MMP, OAA, SVM])
def test_results_are_bit_identical_for_any_number_of_threads(kind, monkeypatch):
    X, y = embeddings(n=700, n_classes=300)  # more than one block of classes, and of rows to rank
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        learner = kind(random_state=0).set_params(**({} if kind is SVM else {"passes": 1})).fit(X, y)
        found.append((weights(learner), learner.rank(X, 5)))
    for W, ranks in found[1:]:
        assert_array_equal(W, found[0][0])
        assert_array_equal(ranks, found[0][1])
