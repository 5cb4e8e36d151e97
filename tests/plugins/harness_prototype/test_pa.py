"""PA as a classifier and ranker, and as a plugin that is imported only when used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from harness_prototype import PA
from messages import naming
from problems import near_prototypes as data


def weights(learner: PA) -> np.ndarray:
    """Return W[f, c] as a dense matrix."""
    rows = learner.rows_
    W = np.zeros((rows.start.size, learner.classes_.size))
    for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
        W[f, rows.classes[start : start + length]] = rows.weights[start : start + length]
    return W


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), variant=st.sampled_from(["PA", "PA-I", "PA-II"]), passes=st.integers(1, 3))
def test_ranks_equal_a_dense_product(seed, variant, passes):
    X, y = data(seed, n=60)
    learner = PA(variant=variant, passes=passes, random_state=seed).fit(X, y)
    scores = X.toarray().astype(np.float64) @ weights(learner)
    ranked = learner.rank(X, 5)
    assert ranked.dtype == np.int32
    chosen = np.take_along_axis(scores, ranked.astype(np.intp), axis=1)
    np.testing.assert_allclose(chosen, -np.sort(-scores, axis=1)[:, :5], atol=1e-9)
    assert_array_equal(learner.predict(X), learner.classes_[ranked[:, 0]])


def test_a_row_of_unknown_features_ranks_the_classes_in_order():
    X, y = data()
    wider = csr_array(np.hstack([X.toarray(), np.zeros((200, 1), np.float32)]))
    unknown = np.zeros((1, 31))
    unknown[0, 30] = 1
    assert PA().fit(wider, y).rank(unknown, 3).tolist() == [[0, 1, 2]]


def test_index_size_and_bytes_match_the_stored_weights():
    X, y = data()
    learner = PA().fit(X, y)
    assert learner.index_size_ == np.count_nonzero(weights(learner))
    assert learner.index_bytes_ == sum(array.nbytes for array in learner.rows_)
    degree = np.count_nonzero(weights(learner), axis=1)
    assert learner.edges_touched(X) == pytest.approx(degree[X.indices].mean())


@pytest.mark.parametrize("step", ["printed", "exact"])
def test_without_c_the_margin_only_scales_the_weights(step):
    X, y = data()
    one, small = (PA(step=step, margin=m, random_state=0).fit(X, y) for m in (1.0, 2.0**-4))
    assert_array_equal(weights(small), weights(one) / 16)
    assert_array_equal(small.rank(X, 5), one.rank(X, 5))


def test_c_bounds_the_step_of_pa_i_and_shrinks_that_of_pa_ii():
    X, y = data(n=50)
    plain, one, two = (weights(PA(variant=v, C=1e-3, passes=1).fit(X, y)) for v in ("PA", "PA-I", "PA-II"))
    assert np.abs(one).max() <= 50 * 1e-3 < np.abs(plain).max()
    assert np.abs(two).max() < np.abs(plain).max()


@pytest.mark.parametrize(
    ("variant", "step", "C", "tau"),
    [
        ("PA", "printed", 0.2, 1 / 4),
        ("PA", "exact", 0.2, 1 / 8),
        ("PA-I", "printed", 0.2, 0.2),
        ("PA-I", "exact", 0.2, 1 / 8),
        ("PA-I", "exact", 0.1, 0.1),
        ("PA-II", "printed", 0.25, 1 / (4 + 2)),
        ("PA-II", "exact", 0.25, 1 / (8 + 2)),
        ("PA-II", "printed", 2.0, 1 / (4 + 1 / 4)),
    ],
)
def test_a_row_with_loss_one_moves_two_prototypes_by_tau_x(variant, step, C, tau):
    learner = PA(variant=variant, step=step, C=C)
    learner.partial_fit(np.array([[2.0], [2.0]]), [0, 1])  # the first row has no other class for comparison
    np.testing.assert_allclose(weights(learner), [[-2 * tau, 2 * tau]], rtol=1e-6)


def test_a_larger_margin_gives_a_larger_loss():
    learner = PA(variant="PA", margin=3.0).partial_fit(np.array([[2.0], [2.0]]), [0, 1])
    np.testing.assert_allclose(weights(learner), [[-1.5, 1.5]])


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("C", 0, "above 0"),
        ("C", float("nan"), "above 0"),
        ("C", "1", "above 0"),
        ("C", True, "above 0"),
        ("margin", -1.0, "above 0"),
        ("margin", float("inf"), "finite"),
        ("passes", 0, "at least 1"),
        ("passes", 2.5, "integer"),
        ("passes", True, "integer"),
        ("variant", "PA-III", "PA, PA-I, PA-II"),
        ("step", "long", "printed, exact"),
        ("random_state", "seven", "None, an integer"),
        ("random_state", -1, "None, an integer"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        PA(**{name: value}).fit(*data())


def test_weights_beyond_float32_raise_an_error():
    X = np.array([[1e-42], [-1e-42]], np.float32)
    with pytest.raises(ValueError, match=naming("float32", "1")):
        PA(variant="PA").fit(X, [0, 1])
    PA(variant="PA-II").fit(X, [0, 1])


def test_weights_beyond_float32_raise_an_error_in_relocated_rows_too():
    X = np.resize(np.array([1e-42, -1e-42], np.float32), (12, 1))
    with pytest.raises(ValueError, match="outgrew float32"):
        PA(variant="PA").fit(X, np.arange(12) % 6)


@pytest.mark.parametrize("n_classes", [5, 90])
def test_rank_with_scores_equals_rank_and_scores(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 20)).astype(np.float32), rng.integers(n_classes, size=300)
    learner = PA(passes=1, random_state=0).fit(X, y)
    ranks, scores = learner.rank_scored(X, 4)
    np.testing.assert_array_equal(ranks, learner.rank(X, 4))
    np.testing.assert_array_equal(scores, learner.scores(X, ranks))
