"""Features known to most classes are stored in a matrix: ranks and scores stay bit-identical."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from harness.sdk import as_instances
from index_of import index_of
from internals import LEAST_SHARE, patch_internal, rank_and_score, score_classes, spread_crowded

N_FEATURES, N_CLASSES = 12, 9


def problem(seed, n_rows=40):
    """Return rows, one of them empty, and weights; most classes have half of the features, few have the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES)) * (rng.random((n_rows, N_FEATURES)) < 0.6)
    X[1] = 0
    known = rng.random((N_FEATURES, N_CLASSES)) < np.where(np.arange(N_FEATURES) % 2, 0.9, 0.1)[:, None]
    base = np.where(rng.random(N_CLASSES) < 0.2, -np.inf, rng.normal(size=N_CLASSES))
    return X.astype(np.float32), (rng.normal(size=known.shape) * known).astype(np.float32), base


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 11))
def test_ranks_and_scores_equal_those_of_an_index_without_a_matrix(seed, k):
    X, W, base = problem(seed)
    rows, instances = index_of(W), as_instances(X)
    assert spread_crowded(rows, instances, N_CLASSES).places.size
    ranks, scores = rank_and_score(rows, instances, base, k)
    with pytest.MonkeyPatch.context() as patch:
        patch_internal(patch, "crowded.LEAST_SHARE", 2.0)
        assert not spread_crowded(rows, instances, N_CLASSES).places.size
        assert_array_equal(ranks, rank_and_score(rows, instances, base, k)[0])
    assert_array_equal(scores, score_classes(rows, instances, base, ranks))


def test_the_matrix_has_the_weights_of_features_known_to_many_classes():
    X, W, _ = problem(3)
    found = spread_crowded(index_of(W), as_instances(X), N_CLASSES)
    many = (W != 0).sum(axis=1) >= LEAST_SHARE * N_CLASSES
    assert_array_equal(found.places >= 0, many)
    assert_array_equal(found.weights[found.places[many]], W[many])


@pytest.mark.parametrize("name", ["MOST_CLASSES", "MOST_BYTES"])
def test_no_matrix_is_made_if_it_would_be_too_large(monkeypatch, name):
    X, W, _ = problem(3)
    patch_internal(monkeypatch, f"crowded.{name}", 8)
    assert not spread_crowded(index_of(W), as_instances(X), N_CLASSES).places.size


def test_no_matrix_is_made_for_a_few_rows():
    X, W, _ = problem(3)
    assert not spread_crowded(index_of(W), as_instances(X[:2]), N_CLASSES).places.size
