"""Vector representations (centred, scaled, cut, reduced) depend on training rows alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD

from harness_representations.vectors import Frequent, Reduced, Scaled, Standard

rows = arrays(np.float32, st.tuples(st.integers(1, 6), st.just(3)), elements=st.sampled_from([-2.0, 0.0, 0.5, 3.0]))


@given(rows)
def test_standardised_training_features_have_mean_0_and_deviation_1(X):
    found = Standard().fit_transform(csr_array(X))
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-6)
    constant = X.std(axis=0) == 0
    np.testing.assert_allclose(found.std(axis=0), np.where(constant, 0, 1), atol=1e-5)


@given(rows, rows)
def test_min_max_features_stay_between_0_and_1_on_new_rows(train, test):
    scaled = Scaled().fit(train)
    assert ((scaled.transform(test) >= 0) & (scaled.transform(test) <= 1)).all()
    np.testing.assert_allclose(scaled.transform(train).min(axis=0), 0)


def test_frequent_features_occur_in_enough_training_rows():
    train = csr_array(np.array([[1, 0, 2], [3, 0, 0], [0, 1, 0]], np.float32))
    frequent = Frequent(min_df=2).fit(train)
    assert frequent.transform(train).toarray().tolist() == [[1], [3], [0]]


def test_reduced_rows_equal_scikit_learns():
    X = csr_array(np.random.default_rng(0).random((30, 8)).astype(np.float32))
    wanted = TruncatedSVD(n_components=3, random_state=0).fit(X).transform(X)
    np.testing.assert_allclose(Reduced(d=3).fit_transform(X), wanted, rtol=1e-4, atol=1e-5)
