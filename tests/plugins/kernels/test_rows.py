"""The index keeps its invariants under any sequence of changes and equals a dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from internals import (
    Rows,
    capacity,
    empty_rows,
    enlarge,
    freeze,
    has_room,
    pack_rows,
    patch_internal,
    remove_edge,
    shift,
)

F, C = 5, 9
CHANGES = [1.0, -1.0, 0.5, -0.5, 0.25, 3.0, 0.0, 1e-60, 1e-38]  # cancelling sums, zero, below float32 precision, tiny

shifts = st.lists(
    st.tuples(st.integers(0, F - 1), st.permutations(range(C)), st.sampled_from(CHANGES)).map(
        lambda drawn: (drawn[0], drawn[1][0], drawn[1][1], drawn[2])
    ),
    max_size=120,
)


def apply(rows: Rows, changes: list[tuple[int, int, int, float]]) -> Rows:
    for f, gainer, loser, change in changes:
        while not has_room(rows, np.array([f], np.int32), 2):
            rows = enlarge(rows)
        shift(rows, np.uint32(f), np.uint32(gainer), np.uint32(loser), change)
    return rows


def apply_densely(changes: list[tuple[int, int, int, float]], dtype: type) -> np.ndarray:
    W = np.zeros((F, C), dtype)
    for f, gainer, loser, change in changes:
        W[f, gainer] = np.float64(W[f, gainer]) + change
        W[f, loser] = np.float64(W[f, loser]) - change
    return W


@settings(max_examples=80, deadline=None)
@given(changes=shifts, dtype=st.sampled_from([np.float32, np.float64]), n_edges=st.sampled_from([0, 2, 7, 500]))
def test_updates_equal_those_of_a_dense_matrix_and_keep_the_invariants(changes, dtype, n_edges, dense, assert_sound):
    rows = apply(empty_rows(F, n_edges, dtype), changes)
    assert_sound(rows)
    np.testing.assert_array_equal(dense(rows, C), apply_densely(changes, dtype))


@settings(max_examples=50, deadline=None)
@given(changes=shifts, more=shifts)
def test_packing_keeps_every_weight_and_rows_stay_trainable(changes, more, dense, assert_sound):
    rows = apply(empty_rows(F, 2), changes)
    packed = pack_rows(rows)
    assert_sound(packed, was_packed=True)
    assert packed.classes.size == packed.heads[0] == packed.n_edges == rows.n_edges
    np.testing.assert_array_equal(dense(packed, C), dense(rows, C))
    grown = apply(packed, more)
    assert_sound(grown, was_packed=True)
    np.testing.assert_array_equal(dense(grown, C), dense(apply(rows, more), C))


@settings(max_examples=50, deadline=None)
@given(changes=shifts, data=st.data())
def test_removal_deletes_exactly_one_edge(changes, data, dense, assert_sound):
    rows = apply(empty_rows(F, 500), changes)
    filled = np.flatnonzero(rows.length)
    if not filled.size:
        return
    f = data.draw(st.sampled_from(filled.tolist()))
    offset = data.draw(st.integers(0, int(rows.length[f]) - 1))
    expected = dense(rows, C)
    expected[f, rows.classes[rows.start[f] + offset]] = 0
    remove_edge(rows, np.uint32(f), offset)
    assert_sound(rows)
    np.testing.assert_array_equal(dense(rows, C), expected)


def test_block_capacities_are_zero_two_four_eight():
    assert [capacity(level) for level in range(5)] == [0, 2, 4, 8, 16]


def test_a_freed_block_is_reused(assert_sound):
    rows = apply(empty_rows(F, 100), [(0, 0, 1, 1.0), (0, 2, 3, 1.0)])  # feature 0 moves from 2 edges to 4
    used = int(rows.heads[0])
    rows = apply(rows, [(1, 0, 1, 1.0)])
    assert rows.heads[0] == used
    assert_sound(rows)


def test_enough_space_is_reserved_for_all_intermediate_blocks():
    rows = empty_rows(1, 2 + 4 + 8)
    features = np.zeros(1, np.int32)
    assert has_room(rows, features, 8)
    assert not has_room(rows, features, 9)


def test_an_index_at_its_limit_raises_an_error(monkeypatch):
    patch_internal(monkeypatch, "rows.MOST_EDGES", 6)
    rows = enlarge(empty_rows(1, 4))
    assert rows.classes.size == 6
    with pytest.raises(MemoryError, match="at most 6 edges"):
        enlarge(rows)


def test_size_counts_edges_and_bytes():
    rows = pack_rows(apply(empty_rows(F, 100), [(0, 0, 1, 1.0), (1, 2, 3, 1.0), (1, 4, 5, 1.0)]))
    assert rows.n_edges == 6
    assert rows.n_bytes == F * (4 + 4 + 1) + 6 * 8 + rows.heads.nbytes


def test_frozen_rows_share_memory_and_are_read_only():
    rows = empty_rows(F, 10)
    frozen = freeze(rows)
    assert all(np.shares_memory(a, b) for a, b in zip(rows, frozen, strict=True))
    assert not any(array.flags.writeable for array in frozen)
    assert all(array.flags.writeable for array in rows)
