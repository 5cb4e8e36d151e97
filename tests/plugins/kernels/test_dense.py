"""Ranking by a matrix equals ranking by the index, for each kernel that reads the index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness.sdk import Instances, as_instances
from internals import DENSE_BLOCK_ROWS as BLOCK_ROWS
from internals import (
    MOST_MATRIX_CLASSES,
    Rows,
    append,
    empty_rows,
    pack_rows,
    patch_internal,
    pays,
    rank_by_index,
    rank_dense,
    rank_touched,
)

F = 7
cases = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 4, 5, 20, MOST_MATRIX_CLASSES]), st.booleans())


def index(seed: int, n_classes: int, packed: bool, weights: tuple[float, ...]) -> Rows:
    rng, rows = np.random.default_rng(seed), empty_rows(F, 2000)
    for f in range(F):
        classes = rng.choice(n_classes, rng.integers(0, n_classes + 1), replace=False)
        for c, weight in zip(classes, rng.choice(weights, classes.size), strict=True):
            append(rows, np.uint32(f), np.uint32(c), weight)
    return pack_rows(rows) if packed else rows


def instances(seed: int, n: int, values: tuple[float, ...]) -> Instances:
    """Some rows without features, some with explicit zeros, many with ties."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice(values, (n, F)).astype(np.float32) * (rng.random((n, 1)) < 0.8)
    rows, columns = np.nonzero(rng.random((n, F)) < 0.7)
    return as_instances(csr_array((drawn[rows, columns], (rows, columns)), shape=(n, F)))


@settings(max_examples=80, deadline=None)
@given(case=cases, n=st.integers(0, 12), k=st.integers(1, 70))
def test_all_classes_are_ranked_as_by_the_index(case, n, k):
    rows = index(*case, weights=(1.0, -1.0, 0.3, 1e-30, -0.7))
    batch = instances(case[0], n, (0.0, 0.5, -1.0, 0.1, 1e-20))
    base = np.where(np.random.default_rng(case[0]).random(case[1]) < 0.2, -np.inf, 0.0)
    np.testing.assert_array_equal(rank_dense(rows, batch, base, k), rank_by_index(rows, batch, base, k))


@settings(max_examples=80, deadline=None)
@given(case=cases, n=st.integers(0, 12), k=st.integers(1, 70), degree=st.sampled_from([0, 1, 3]), weighed=st.booleans())
def test_touched_classes_are_ranked_as_by_the_index(case, n, k, degree, weighed):
    rows = index(*case, weights=(1.0, 0.3, 1e-30, 0.7))
    batch = instances(case[0], n, (0.5, 1.0, 0.1, 1e-20))
    factors = np.random.default_rng(case[0]).choice([0.5, 1.0, 1 / 3], F) if weighed else np.empty(0)
    by_matrix = rank_dense(rows, batch, np.zeros(case[1]), k, factors=factors, degree=degree, least=0.0)
    by_index = rank_touched(rows, batch, factors, k, n_classes=case[1], degree=degree)
    np.testing.assert_array_equal(by_matrix, by_index)


def test_a_batch_of_several_blocks_is_ranked_completely():
    rows, base = index(0, 20, True, (1.0, -0.3)), np.zeros(20)
    batch = instances(0, 2 * BLOCK_ROWS + 3, (0.5, 1.0))
    np.testing.assert_array_equal(rank_dense(rows, batch, base, 2), rank_by_index(rows, batch, base, 2))


@pytest.mark.parametrize(
    ("n_classes", "n", "most_bytes", "expected"),
    [(20, 50, 10**6, True), (MOST_MATRIX_CLASSES + 1, 50, 10**6, False), (20, 1, 10**6, False), (20, 50, 400, False)],
)
def test_a_matrix_is_made_only_for_few_classes_and_many_rows(n_classes, n, most_bytes, expected, monkeypatch):
    patch_internal(monkeypatch, "MOST_MATRIX_BYTES", most_bytes)
    assert pays(empty_rows(F, 10), instances(0, n, (1.0,)), n_classes) is expected
