"""One-vs-rest perceptrons as their users meet them: separators side by side, an early end, a committee."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from harness_prototype import OVRPerceptron


def data(seed: int = 0, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 6)
    X = (rng.normal(size=(6, 20))[y] + 1.5 * rng.normal(size=(n, 20))) * (rng.random((n, 20)) < 0.7)
    return X.astype(np.float32), y


def weights(learner: OVRPerceptron) -> np.ndarray:
    """W[f, c] as a plain matrix."""
    rows = learner.rows_
    W = np.zeros((rows.start.size, learner.classes_.size))
    for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
        W[f, rows.classes[start : start + length]] = rows.weights[start : start + length]
    return W


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), passes=st.integers(1, 3), share=st.floats(0.2, 1))
def test_ranks_are_those_of_vectors_scaled_to_length_one(seed, passes, share):
    X, y = data(seed, n=60)
    learner = OVRPerceptron(passes=passes, random_state=0).fit(X, y).keep_largest(share)
    W = weights(learner)
    lengths = np.linalg.norm(W, axis=0)
    np.testing.assert_allclose(learner.norms_, lengths, rtol=1e-9)
    scores, ranked = X.astype(np.float64) @ (W / np.where(lengths, lengths, 1)), learner.rank(X, 6)
    known = ranked[:, 0] >= 0
    chosen = np.take_along_axis(scores[known], ranked[known].astype(np.intp), axis=1)
    np.testing.assert_allclose(chosen, -np.sort(-scores[known], axis=1), atol=1e-9)


def test_after_a_pass_without_an_error_no_instance_is_looked_at(monkeypatch):
    from harness_prototype import ovr_perceptron

    looked_at, passes, real = [], [], ovr_perceptron.learn_one_vs_rest

    def learn(rows, instances, labels, order, n_classes):
        looked_at.append(order.size)
        return real(rows, instances, labels, order, n_classes)

    monkeypatch.setattr(ovr_perceptron, "learn_one_vs_rest", learn)
    OVRPerceptron(random_state=0).fit(np.eye(4), np.arange(4), after_pass=passes.append)
    assert sum(looked_at) == 2 * 4  # one pass with errors, one without
    assert passes == list(range(1, 21))


def test_more_passes_after_one_without_an_error_change_nothing():
    X, y = np.eye(5, dtype=np.float32), np.arange(5)
    few, many = (OVRPerceptron(passes=n, random_state=0).fit(X, y) for n in (3, 50))
    assert_array_equal(weights(few), weights(many))


def test_a_committee_adds_up_members_that_went_through_the_data_in_different_orders():
    X, y = data()
    alone, committee = (OVRPerceptron(passes=3, members=m, random_state=0).fit(X, y) for m in (1, 10))
    W = weights(alone)
    first = W / np.linalg.norm(W, axis=0)
    others = weights(committee) - first
    lengths = np.linalg.norm(others, axis=0)
    assert np.all(lengths < 9)  # nine vectors of length 1, not all the same
    assert np.all(lengths > 5)
    np.testing.assert_array_equal(committee.norms_, 1)


def test_a_committee_is_better_than_one():
    X, y = data(n=2000)
    alone, committee = (OVRPerceptron(passes=3, members=m, random_state=0).fit(X[:300], y[:300]) for m in (1, 10))
    assert committee.score(X[300:], y[300:]) > alone.score(X[300:], y[300:])


def test_a_committee_can_be_saved_and_thinned_out_but_does_not_learn_in_batches(tmp_path):
    X, y = data()
    committee = OVRPerceptron(passes=2, members=3, random_state=0).fit(X, y)
    committee.save(tmp_path / "model")
    assert_array_equal(OVRPerceptron.load(tmp_path / "model").rank(X, 6), committee.rank(X, 6))
    size = committee.index_size_
    assert committee.keep_largest(0.5).index_size_ == size // 2
    assert not hasattr(committee, "partial_fit")
    with pytest.raises(AttributeError) as error:
        committee.partial_fit(X, y)
    assert "members=3: a committee keeps only the sum of its members, so it needs fit" in str(error.value.__cause__)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [("members", 0, "at least 1"), ("members", 1.5, "integer"), ("passes", 0, "at least 1")],
)
def test_a_bad_parameter_is_named_with_its_value_and_what_is_allowed(name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        OVRPerceptron(**{name: value}).fit(*data())
