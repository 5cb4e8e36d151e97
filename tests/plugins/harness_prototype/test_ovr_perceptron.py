"""One-vs-rest perceptrons as classifiers: independent separators, early stopping, committees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from harness_prototype import OVRPerceptron
from messages import assert_names


def data(seed: int = 0, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 6)
    X = (rng.normal(size=(6, 20))[y] + 1.5 * rng.normal(size=(n, 20))) * (rng.random((n, 20)) < 0.7)
    return X.astype(np.float32), y


def weights(learner: OVRPerceptron) -> np.ndarray:
    """Return W[f, c] as a dense matrix."""
    rows = learner.rows_
    W = np.zeros((rows.start.size, learner.classes_.size))
    for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
        W[f, rows.classes[start : start + length]] = rows.weights[start : start + length]
    return W


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), passes=st.integers(1, 3), share=st.floats(0.2, 1))
def test_ranks_use_weight_vectors_scaled_to_unit_length(seed, passes, share):
    X, y = data(seed, n=60)
    learner = OVRPerceptron(passes=passes, random_state=0).fit(X, y).keep_largest(share)
    W = weights(learner)
    lengths = np.linalg.norm(W, axis=0)
    np.testing.assert_allclose(learner.norms_, lengths, rtol=1e-9)
    scores, ranked = X.astype(np.float64) @ (W / np.where(lengths, lengths, 1)), learner.rank(X, 6)
    known = ranked[:, 0] >= 0
    chosen = np.take_along_axis(scores[known], ranked[known].astype(np.intp), axis=1)
    np.testing.assert_allclose(chosen, -np.sort(-scores[known], axis=1), atol=1e-9)


def test_training_stops_after_a_pass_without_errors(monkeypatch):
    from harness_prototype import ovr_perceptron

    looked_at, passes, real = [], [], ovr_perceptron.learn_one_vs_rest

    def learn(rows, instances, labels, order, intercept, bias):
        looked_at.append(order.size)
        return real(rows, instances, labels, order, intercept, bias)

    monkeypatch.setattr(ovr_perceptron, "learn_one_vs_rest", learn)
    OVRPerceptron(random_state=0).fit(np.eye(4), np.arange(4), after_pass=passes.append)
    assert sum(looked_at) == 2 * 4  # one pass with errors, one without
    assert passes == list(range(1, 21))


def test_passes_after_an_error_free_pass_change_nothing():
    X, y = np.eye(5, dtype=np.float32), np.arange(5)
    few, many = (OVRPerceptron(passes=n, random_state=0).fit(X, y) for n in (3, 50))
    assert_array_equal(weights(few), weights(many))


def test_a_committee_sums_members_trained_in_different_orders():
    X, y = data()
    alone, committee = (OVRPerceptron(passes=3, members=m, random_state=0).fit(X, y) for m in (1, 10))
    W = weights(alone)
    first = W / np.linalg.norm(W, axis=0)
    others = weights(committee) - first
    lengths = np.linalg.norm(others, axis=0)
    assert np.all(lengths < 9)  # nine vectors of length 1, not all the same
    assert np.all(lengths > 5)
    np.testing.assert_array_equal(committee.norms_, 1)


def test_a_committee_is_more_accurate_than_one_member():
    X, y = data(n=2000)
    alone, committee = (OVRPerceptron(passes=3, members=m, random_state=0).fit(X[:300], y[:300]) for m in (1, 10))
    assert committee.score(X[300:], y[300:]) > alone.score(X[300:], y[300:])


def test_a_committee_can_be_saved_and_sparsified_but_has_no_partial_fit(tmp_path):
    X, y = data()
    committee = OVRPerceptron(passes=2, members=3, random_state=0).fit(X, y)
    committee.save(tmp_path / "model")
    assert_array_equal(OVRPerceptron.load(tmp_path / "model").rank(X, 6), committee.rank(X, 6))
    size = committee.index_size_
    assert committee.keep_largest(0.5).index_size_ == size // 2
    assert not hasattr(committee, "partial_fit")
    with pytest.raises(AttributeError) as error:
        committee.partial_fit(X, y)
    assert_names(str(error.value.__cause__), "members=3")


def on_one_ray(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three classes, two of which lie in the same direction from the origin."""
    rng = np.random.default_rng(3)
    y = rng.permutation(np.arange(n) % 3)
    means = np.array([[-1.0, -1.0], [-3.0, -3.0], [-2.0, 4.0]])
    return (means[y] + 0.2 * rng.normal(size=(n, 2))).astype(np.float32), y


@pytest.mark.parametrize("members", [1, 3])
def test_a_bias_equals_a_constant_feature(members):
    X, y = data(n=100)
    X[5] = 0
    biased = OVRPerceptron(passes=3, members=members, bias=2.0, random_state=0).fit(X, y)
    column = np.full((100, 1), 2.0, np.float32)
    plain = OVRPerceptron(passes=3, members=members, random_state=0).fit(np.hstack([X, column]), y)
    ranks = biased.rank(X, 6)
    assert_array_equal(ranks, plain.rank(np.hstack([X, column]), 6))
    assert_array_equal(ranks[5], np.argsort(-biased.decision_function(X[5:6])[0], kind="stable"))
    np.testing.assert_allclose(biased.scores(X, ranks), plain.scores(np.hstack([X, column]), ranks), atol=1e-5)
    np.testing.assert_allclose(biased.norms_, plain.norms_, rtol=1e-6)
    pads = np.full((100, 1), -1, np.int32)
    assert not biased.scores(X, pads).any()


def test_a_bias_separates_classes_in_the_same_direction_from_the_origin():
    X, y = on_one_ray()
    with pytest.warns(UserWarning, match=r"^OVRPerceptron has no bias, and .*% of the values in X are negative: set"):
        without = OVRPerceptron(random_state=0).fit(X, y).score(X, y)
    assert OVRPerceptron(bias=1.0, random_state=0).fit(X, y).score(X, y) > without + 0.2


def test_batches_learn_the_bias_further_and_only_the_first_one_warns(recwarn, tmp_path):
    X, y = data(n=120)
    several, whole = OVRPerceptron(bias=1.0), OVRPerceptron(bias=1.0)
    for start in range(0, 120, 40):
        several.partial_fit(X[start : start + 40], y[start : start + 40])
    whole.partial_fit(X, y)
    assert not recwarn
    assert_array_equal(several.intercept_, whole.intercept_)
    assert several.intercept_.any()
    several.save(tmp_path / "model")
    assert_array_equal(OVRPerceptron.load(tmp_path / "model").decision_function(X), whole.decision_function(X))
    without = OVRPerceptron()
    for _ in range(3):
        without.partial_fit(X, y)
    assert len(recwarn) == 1
    assert recwarn[0].filename == __file__


def test_rows_without_negative_values_need_no_bias(recwarn):
    X, y = data(n=60)
    OVRPerceptron(random_state=0).fit(np.abs(X), y)
    assert not recwarn


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("bias", -1.0, "at least 0"),
        ("members", 0, "at least 1"),
        ("members", 1.5, "integer"),
        ("passes", 0, "at least 1"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        OVRPerceptron(**{name: value}).fit(*data())
