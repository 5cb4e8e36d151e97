"""Prefetch instructions are emitted, are safe for any address, and change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_array_equal

from harness.sdk import Array, as_instances, helper
from index_of import index_of
from internals import AHEAD, Rows, fetch_ahead, fetch_each, fetch_instance, fetch_row, prefetch


@helper()
def prefetch_many(array: Array, place: int) -> None:
    prefetch(array, place)


def count_prefetches(function, *given) -> int:
    """Return the number of prefetch instructions in the machine code of a function for such arguments."""
    fresh = njit(function.py_func)  # functions from the cache have no inspectable code
    fresh(*given)
    (code,) = fresh.inspect_llvm().values()
    return code.count("call void @llvm.prefetch")


def copies(rows: Rows) -> list[np.ndarray]:
    return [array.copy() for array in rows]


@pytest.mark.parametrize("place", [0, 3, 4, 10**9])
def test_any_address_can_be_prefetched_without_reading_it(place):
    assert count_prefetches(prefetch_many, np.arange(4.0), place) >= 1


@pytest.fixture
def rows() -> Rows:
    rng = np.random.default_rng(0)
    return index_of(rng.normal(size=(60, 100)) * (rng.random((60, 100)) < 0.5))


@pytest.mark.parametrize("n", [0, 1, AHEAD, AHEAD + 1, 2 * AHEAD, 2 * AHEAD + 1, 60])
def test_rows_are_prefetched_up_to_the_last_feature_and_stay_unchanged(rows, n):
    features, before = np.arange(n, dtype=np.int32), copies(rows)
    for j in range(n):
        fetch_ahead(rows, features, j)
    fetch_each(rows.start, features)
    for array, old in zip(rows, before, strict=True):
        assert_array_equal(array, old)


def test_both_halves_of_an_edge_and_row_positions_are_prefetched(rows):
    features, order = np.arange(60, dtype=np.int32), np.arange(9)
    assert count_prefetches(fetch_ahead, rows, features, 0) >= 4
    assert count_prefetches(fetch_each, rows.start, features) >= 1
    assert count_prefetches(fetch_row, rows, order, 0) >= 4
    assert count_prefetches(fetch_instance, as_instances(np.eye(9, 60)), order, 0) >= 3


@pytest.mark.parametrize("n", [0, 1, 2, 3, 9])
def test_instances_and_rows_are_prefetched_up_to_the_end_of_the_order(rows, n):
    instances, order = as_instances(np.eye(9, 60)), np.arange(n)[::-1].copy()
    before = [array.copy() for array in instances]
    for done in range(n):
        fetch_instance(instances, order, done)
        fetch_row(rows, order, done)
    for array, old in zip(instances, before, strict=True):
        assert_array_equal(array, old)
