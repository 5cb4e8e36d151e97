"""Arranging instances for training renumbers the features and changes nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from harness.sdk import Instances, as_instances
from internals import by_frequency, places_of, renamed, square_lengths


def rows(seed: int) -> np.ndarray:
    """Draw sparse rows, some of them empty."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 6)) * (rng.random((9, 6)) < rng.random(6))
    X[4] = 0
    return X.astype(np.float32)


def dense(instances: Instances, n_features: int) -> np.ndarray:
    parts = (instances.data, instances.indices, instances.indptr)
    return csr_array(parts, shape=(instances.n_instances, n_features)).toarray()


seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds)
def test_squared_lengths_equal_those_in_double_precision(seed):
    X = rows(seed)
    found = square_lengths(as_instances(X))
    assert found.dtype == np.float64
    assert_allclose(found, (X.astype(np.float64) ** 2).sum(axis=1), rtol=1e-12)


def test_a_square_beyond_single_precision_is_computed():
    assert square_lengths(as_instances(np.array([[1e30]], np.float32)))[0] > 1e59


@given(seed=seeds)
def test_features_are_ordered_by_frequency_and_ties_by_number(seed):
    X = rows(seed)
    features = by_frequency(as_instances(X), 6)
    counts = np.count_nonzero(X, axis=0)
    assert features.tolist() == sorted(range(6), key=lambda f: (-counts[f], f))


def test_unused_features_are_ordered_too():
    assert by_frequency(as_instances(np.array([[0, 1, 0]])), 5).tolist() == [1, 0, 2, 3, 4]


@given(order=st.permutations(range(7)))
def test_the_position_of_a_feature_is_the_inverse_of_the_order(order):
    features = np.array(order)
    places = places_of(features)
    assert places.dtype == np.int32
    assert_array_equal(features[places], np.arange(7))
    assert_array_equal(places[features], np.arange(7))


@given(seed=seeds, order=st.permutations(range(6)))
def test_renumbered_features_keep_their_values(seed, order):
    X, features = rows(seed), np.array(order)
    moved = renamed(as_instances(X), places_of(features))
    assert_array_equal(dense(moved, 6), X[:, features])
    assert not moved.indices.flags.writeable
