"""Asking for memory ahead: it really asks, from anywhere, and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_array_equal

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import helper
from harness.sdk.kernels.instances import as_instances
from harness.sdk.kernels.prefetching import AHEAD, fetch_ahead, fetch_each, fetch_instance, fetch_row, prefetch
from harness.sdk.kernels.rows import Rows
from index_of import index_of


@helper()
def ask(array: Array, place: int) -> None:
    prefetch(array, place)


def asks(function, *given) -> int:
    """How often the machine is told to fetch, in the code of a function for such arguments."""
    fresh = njit(function.py_func)  # what comes from the cache has no code to be read
    fresh(*given)
    (code,) = fresh.inspect_llvm().values()
    return code.count("call void @llvm.prefetch")


def copies(rows: Rows) -> list[np.ndarray]:
    return [array.copy() for array in rows]


@pytest.mark.parametrize("place", [0, 3, 4, 10**9])
def test_any_place_may_be_asked_for_and_nothing_is_read(place):
    assert asks(ask, np.arange(4.0), place) >= 1


@pytest.fixture
def rows() -> Rows:
    rng = np.random.default_rng(0)
    return index_of(rng.normal(size=(60, 100)) * (rng.random((60, 100)) < 0.5))


@pytest.mark.parametrize("n", [0, 1, AHEAD, AHEAD + 1, 2 * AHEAD, 2 * AHEAD + 1, 60])
def test_rows_are_asked_for_up_to_the_end_of_the_features_and_stay_as_they_are(rows, n):
    features, before = np.arange(n, dtype=np.int32), copies(rows)
    for j in range(n):
        fetch_ahead(rows, features, j)
    fetch_each(rows.start, features)
    for array, old in zip(rows, before, strict=True):
        assert_array_equal(array, old)


def test_both_halves_of_an_edge_and_where_a_row_is_are_asked_for(rows):
    features, order = np.arange(60, dtype=np.int32), np.arange(9)
    assert asks(fetch_ahead, rows, features, 0) >= 4
    assert asks(fetch_each, rows.start, features) >= 1
    assert asks(fetch_row, rows, order, 0) >= 4
    assert asks(fetch_instance, as_instances(np.eye(9, 60)), order, 0) >= 3


@pytest.mark.parametrize("n", [0, 1, 2, 3, 9])
def test_instances_and_rows_are_asked_for_up_to_the_end_of_the_order(rows, n):
    instances, order = as_instances(np.eye(9, 60)), np.arange(n)[::-1].copy()
    before = [array.copy() for array in instances]
    for done in range(n):
        fetch_instance(instances, order, done)
        fetch_row(rows, order, done)
    for array, old in zip(instances, before, strict=True):
        assert_array_equal(array, old)
