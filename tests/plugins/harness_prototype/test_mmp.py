"""MMP as a classifier: several labels, dense rows, and the option to update touched classes only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness_prototype import MMP


def data(seed: int = 0, n: int = 200, n_features: int = 30, n_classes: int = 12) -> tuple[csr_array, np.ndarray]:
    """Return sparse instances with the features of their class; each class occurs."""
    rng = np.random.default_rng(seed)
    prototypes = rng.random((n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.3)
    y = rng.permutation(np.arange(n) % n_classes)
    X = (prototypes[y] + 0.01) * (rng.random((n, n_features)) < 0.5)
    return csr_array(X.astype(np.float32)), y


def weights(learner: MMP) -> np.ndarray:
    """Return W[f, c] as a dense matrix."""
    rows = learner.rows_
    W = np.zeros((rows.start.size, learner.classes_.size))
    for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
        W[f, rows.classes[start : start + length]] = rows.weights[start : start + length]
    return W


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), passes=st.integers(1, 3), touched_only=st.booleans())
def test_ranks_equal_a_dense_product_and_weights_sum_to_zero(seed, passes, touched_only):
    X, y = data(seed, n=60)
    learner = MMP(passes=passes, touched_only=touched_only, random_state=0).fit(X, y)
    scores, ranked = X.toarray().astype(np.float64) @ weights(learner), learner.rank(X, 5)
    known = ranked[:, 0] >= 0
    chosen = np.take_along_axis(scores[known], ranked[known].astype(np.intp), axis=1)
    np.testing.assert_allclose(chosen, -np.sort(-scores[known], axis=1)[:, :5], atol=1e-9)
    np.testing.assert_allclose(weights(learner).sum(axis=1), 0, atol=1e-4)


def test_index_rows_become_dense_unless_only_touched_classes_are_updated():
    rng = np.random.default_rng(0)
    X, y = (rng.random((400, 300)) < 0.01).astype(np.float32), np.arange(400) % 100
    full, touched = (MMP(passes=1, touched_only=kind, random_state=0).fit(X, y) for kind in (False, True))
    assert touched.index_size_ < 0.9 * full.index_size_
    assert np.count_nonzero(weights(full), axis=1).max() > 90


def test_rows_without_a_label_do_not_change_the_weights():
    X, y = data()
    labels = csr_array((np.ones(200, np.int8), (np.arange(200), y)), shape=(200, 12)).toarray()
    without = np.vstack([labels, np.zeros_like(labels)])
    batch = MMP().partial_fit(np.vstack([X.toarray(), X.toarray()]), without)
    np.testing.assert_array_equal(weights(batch), weights(MMP().partial_fit(X, labels)))


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("touched_only", "yes", "True or False"),
        ("touched_only", 1, "True or False"),
        ("passes", 0, "at least 1"),
        ("passes", True, "integer"),
        ("random_state", -1, "None, an integer"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        MMP(**{name: value}).fit(*data())
