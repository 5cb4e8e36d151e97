"""The perceptron as a classifier: it learns separable data, and the data's scale does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from harness_prototype import Perceptron


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_separable_data_are_learned_without_mistakes(seed):
    rng = np.random.default_rng(seed)
    U, X = rng.normal(size=(8, 4)), rng.normal(size=(300, 8)).astype(np.float32)
    S = np.sort(X @ U, axis=1)
    X = X[S[:, -1] - S[:, -2] > 1.0]
    y = np.argmax(X @ U, axis=1)
    assert Perceptron(passes=200, random_state=0).fit(X, y).score(X, y) == 1


def test_scaling_the_data_does_not_change_ranks():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 20)).astype(np.float32), rng.integers(0, 6, 200)
    one, large = (Perceptron(passes=3, random_state=0).fit(scale * X, y) for scale in (1, 2.0**20))
    assert_array_equal(large.rank(X, 6), one.rank(X, 6))
    assert_array_equal(large.rows_.weights, one.rows_.weights * 2.0**20)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [("passes", 0, "at least 1"), ("passes", 2.5, "integer"), ("random_state", "seven", "None, an integer")],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        Perceptron(**{name: value}).fit(np.eye(3), [0, 1, 2])
