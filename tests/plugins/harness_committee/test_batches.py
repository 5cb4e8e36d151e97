"""Training in batches gives the same model as `partial_fit` on the same slices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from harness_committee.batches import Batches
from harness_prototype import PA
from messages import naming

GENERATOR = np.random.default_rng(0)
X = csr_array(GENERATOR.random((60, 9)) * (GENERATOR.random((60, 9)) < 0.5), dtype=np.float32)
y = GENERATOR.integers(0, 4, 60)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 80), st.integers(1, 3))
def test_batches_give_the_same_model_as_partial_fit_on_the_same_slices(rows, passes):
    expected = PA(random_state=0)
    for _ in range(passes):
        for start in range(0, 60, rows):
            expected.partial_fit(X[start : start + rows], y[start : start + rows], classes=np.unique(y))
    found = Batches(PA(random_state=0), rows=rows, passes=passes).fit(X, y)
    assert np.array_equal(found.rank(X, 4), expected.rank(X, 4))
    assert found.index_size_ == expected.index_size_
    assert found.classes_.tolist() == [0, 1, 2, 3]


def test_after_pass_is_called_after_each_pass_and_the_learner_can_rank_then():
    calls = []
    learner = Batches(PA(), rows=25, passes=2)
    learner.fit(X, y, after_pass=lambda number: calls.append((number, learner.rank(X[:1], 2).shape)))
    assert calls == [(1, (1, 2)), (2, (1, 2))]


def test_a_learner_without_partial_fit_raises_an_error_that_names_it():
    with pytest.raises(ValueError, match=naming("LinearSVC", "partial_fit")):
        Batches(LinearSVC()).fit(X, y)


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"passes": 0}])
def test_rows_and_passes_below_one_raise_an_error(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Batches(PA(), **wrong).fit(X, y)
