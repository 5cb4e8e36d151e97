"""Dense rows: when they are used, without a copy; conversion of weights; ranks and scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from internals import (
    COUNTED_VALUES,
    FEWEST_ROWS,
    LEAST_WEIGHTS,
    RANKED_ROWS,
    as_matrix,
    as_rows,
    check_edges,
    dense_rows,
    matrix_edges,
    patch_internal,
    pays_as_dense,
    rank_vectors,
    row_blocks,
    score_vectors,
)
from internals import VECTOR_BLOCK_ROWS as BLOCK_ROWS

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_rows_are_dense_if_numerous_with_few_zeros_and_enough_weights(kind):
    full, thin = np.ones((FEWEST_ROWS, 64), np.float32), np.zeros((FEWEST_ROWS, 64), np.float32)
    thin[:, :15] = 1
    enough = LEAST_WEIGHTS // 64
    assert pays_as_dense(kind(full), enough)
    assert not pays_as_dense(kind(full), enough - 1)
    assert not pays_as_dense(kind(full), 10**8)
    assert not pays_as_dense(kind(full[1:]), enough)
    assert not pays_as_dense(kind(thin), enough)
    thin[:, 15] = 1
    assert pays_as_dense(kind(thin), enough)
    for scale, within in ((1e11, True), (1e13, False), (1e-11, True), (-1e13, False), (1e-13, False)):
        assert pays_as_dense(kind(full * np.float32(scale)), enough) == within


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_zeros_are_counted_in_all_blocks(kind):
    X = np.zeros((4 * COUNTED_VALUES // 64, 64), np.float32)
    X[-len(X) // 4 :] = 1  # a quarter, in the last block alone
    assert pays_as_dense(kind(X), 64)
    X[-1, 0] = 0
    assert not pays_as_dense(kind(X), 64)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_with_a_non_finite_value_are_not_treated_as_dense(value):
    X = np.ones((FEWEST_ROWS, 64), np.float32)
    X[-1, -1] = value
    assert not pays_as_dense(X, 64)


def test_a_row_whose_scores_are_all_zero_is_ranked_unless_it_is_empty():
    X, matrix = np.array([[1, -1], [0, 0]], np.float32), np.ones((2, 3), np.float32)
    assert rank_vectors(matrix, X, np.zeros(3), 2).tolist() == [[0, 1], [-1, -1]]


def test_rows_without_zeros_are_not_copied_and_are_read_only():
    X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    sparse = csr_array(X)
    for given_rows, memory in ((X, X), (sparse, sparse.data)):
        rows = dense_rows(given_rows)
        assert_array_equal(rows, X)
        assert np.shares_memory(rows, memory)
        assert not rows.flags.writeable
    assert X.flags.writeable


def test_sparse_rows_with_explicit_zeros_or_unsorted_columns_become_dense_correctly():
    gaps = csr_array(np.array([[1, 0], [0, 2]], np.float32))
    turned = csr_array((np.array([2, 1], np.float32), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert_array_equal(dense_rows(gaps), [[1, 0], [0, 2]])
    assert_array_equal(dense_rows(turned), [[1, 2]])


@given(seeds, st.integers(1, 9), st.integers(1, 9))
def test_an_index_converted_to_a_matrix_and_back_is_the_same(seed, n_features, n_classes):
    rng = np.random.default_rng(seed)
    W = rng.integers(-1, 2, (n_features, n_classes)).astype(np.float32)
    edges = matrix_edges(W)
    check_edges(edges, n_features, n_classes)
    assert_array_equal(as_matrix(as_rows(edges), n_classes), W)


def test_blocks_contain_all_rows_in_order_and_their_products():
    rng = np.random.default_rng(0)
    X, order = rng.integers(-3, 4, (150, 5)).astype(np.float32), rng.permutation(150)
    found = list(row_blocks(X, order))
    assert [block.numbers.size for block in found] == [BLOCK_ROWS, BLOCK_ROWS, 150 - 2 * BLOCK_ROWS]
    assert_array_equal(np.concatenate([block.numbers for block in found]), order)
    for block in found:
        assert_array_equal(block.values, X[block.numbers])
        assert_array_equal(block.products, X[block.numbers] @ X[block.numbers].T)


def problem(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return small integers, whose sums are exact, so many scores tie."""
    rng = np.random.default_rng(seed)
    matrix, X = rng.integers(-2, 3, (6, 20)).astype(np.float32), rng.integers(-2, 3, (n, 6)).astype(np.float32)
    base = np.where(rng.random(20) < 0.2, -np.inf, rng.integers(-1, 2, 20).astype(float))
    return matrix, X, base


@settings(deadline=None)
@given(seeds, st.integers(1, 25), st.booleans())
def test_ranks_sort_all_scores_with_ties_by_class_and_zero_rows_rank_nothing(seed, k, empty_too):
    matrix, X, base = problem(seed, RANKED_ROWS + 3)
    X[1] = 0
    scores = X.astype(np.float64) @ matrix + base
    order = np.argsort(-scores, axis=1, kind="stable")
    kept = np.take_along_axis(scores, order, axis=1) > -np.inf
    expected = np.full((X.shape[0], k), -1)
    width = min(k, 20)
    expected[:, :width] = np.where(kept, order, -1)[:, :width]
    if not empty_too:
        expected[~X.any(axis=1)] = -1
    found = rank_vectors(matrix, X, base, k, empty_too=empty_too)
    assert found.dtype == np.int32
    assert_array_equal(found, expected)


@given(seeds)
def test_scores_match_the_ranked_classes_and_padding_scores_zero(seed):
    matrix, X, base = problem(seed, RANKED_ROWS + 3)
    ranks = rank_vectors(matrix, X, base, 22)
    scores = X.astype(np.float64) @ matrix + base
    expected = np.where(ranks >= 0, np.take_along_axis(scores, np.maximum(ranks, 0), axis=1), 0.0)
    assert_array_equal(score_vectors(matrix, X, base, ranks), expected)


def test_products_use_one_blas_thread(monkeypatch):
    calls = []

    class Watched:
        def __enter__(self):
            calls.append(True)

        def __exit__(self, *_):
            pass

    patch_internal(monkeypatch, "one_blas_thread", Watched)
    matrix, X, base = problem(0, 20)
    score_vectors(matrix, X, base, rank_vectors(matrix, X, base, 3))
    assert calls == [True, True]
