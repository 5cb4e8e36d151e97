"""Class shares add up to 1, keep the order of the scores, and begin with the confidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from internals import sharpen

scores = st.lists(st.integers(-100, 100), min_size=2, max_size=8, unique=True)


@given(scores, st.floats(0.01, 0.99))
def test_the_first_share_is_the_confidence_where_possible(row, confidence):
    shares = sharpen(np.array([row], float), np.array([confidence]))[0]
    assert shares.sum() == pytest.approx(1)
    assert shares.argmax() == np.argmax(row) or shares.max() == pytest.approx(1 / len(row))
    assert shares.max() == pytest.approx(max(confidence, 1 / len(row)), abs=1e-6)
    assert (np.diff(shares[np.argsort(row)]) >= 0).all()


def test_an_excluded_class_has_no_share_and_tied_classes_have_equal_shares():
    shares = sharpen(np.array([[2.0, 2.0, -np.inf, 1.0]]), np.array([0.9]))[0]
    assert shares[2] == 0
    assert shares[0] == shares[1] == pytest.approx(0.5)
