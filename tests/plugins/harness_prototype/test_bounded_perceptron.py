"""The weight-bounded perceptron as a classifier: mistake counts and weight bounds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from harness_prototype import BoundedPerceptron
from internals import as_edges
from messages import naming
from problems import parts_of_prototypes as data


def test_training_stops_making_mistakes_on_two_separable_classes():
    rng = np.random.default_rng(0)
    X = rng.random((300, 10)) * (rng.random((300, 10)) < 0.6)
    X[:, 0] += 0.01
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    lead = X[:, :5].sum(axis=1) - X[:, 5:].sum(axis=1)
    X, y = X[np.abs(lead) > 0.3], (lead > 0)[np.abs(lead) > 0.3]
    made = []
    learner = BoundedPerceptron(beta=0.1, passes=30, random_state=0)
    learner.fit(X, y, after_pass=lambda n: made.append(learner.mistakes_.copy()))
    assert learner.score(X, y) == 1
    assert_array_equal(made[-1], made[-2])
    assert made[-1][0] == made[-1][1] <= 10 / (4 * 2 * 0.1**2)


def test_weights_stay_within_their_bounds():
    edges = as_edges(BoundedPerceptron(beta=1.0, random_state=0).fit(*data()).rows_)
    assert np.abs(edges.weights).max() == 0.5


def test_the_mistake_count_continues_in_batches_and_is_saved(tmp_path):
    X, y = data()
    learner = BoundedPerceptron().partial_fit(X[:100], y[:100])
    first = learner.mistakes_.copy()
    learner.partial_fit(X[100:], y[100:])
    assert np.all(learner.mistakes_ >= first)
    learner.save(tmp_path / "model")
    assert_array_equal(BoundedPerceptron.load(tmp_path / "model").mistakes_, learner.mistakes_)


@pytest.mark.parametrize("value", [0, 1.5, "x", float("nan")])
def test_a_bad_rate_raises_an_error_with_its_value_and_the_allowed_values(value):
    with pytest.raises(ValueError, match=naming(f"beta={value!r}", "0", "1")):
        BoundedPerceptron(beta=value).fit(*data())
