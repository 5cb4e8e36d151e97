"""Edges and rows are two forms of one index; invalid edges are rejected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from internals import Edges, append, as_edges, as_rows, check_edges, empty_rows, keep_largest, pack_rows, widen

F, C = 4, 9
drawn_edges = st.dictionaries(
    st.tuples(st.integers(0, F - 1), st.integers(0, C - 1)), st.sampled_from([1.0, -1.0, 0.5, -0.25, 2.0]), max_size=30
)


def index(edges):
    rows = empty_rows(F, 500)
    for (f, c), weight in edges.items():
        append(rows, np.uint32(f), np.uint32(c), weight)
    return rows


def listed(edges: Edges):
    return dict(
        zip(zip(edges.features.tolist(), edges.classes.tolist(), strict=True), edges.weights.tolist(), strict=True)
    )


@settings(max_examples=60)
@given(drawn=drawn_edges)
def test_rows_and_edges_convert_into_each_other(drawn, assert_sound):
    edges = as_edges(index(drawn))
    check_edges(edges, F, C)
    assert listed(edges) == drawn
    rows = as_rows(edges)
    assert_sound(rows, was_packed=True)
    for one, two in zip(as_edges(rows), edges, strict=True):
        np.testing.assert_array_equal(one, two, strict=True)


@settings(max_examples=60)
@given(drawn=drawn_edges, share=st.floats(0, 1))
def test_the_largest_weights_are_kept_and_ties_go_by_feature_then_class(drawn, share):
    edges = as_edges(index(drawn))
    kept = listed(keep_largest(edges, np.abs(edges.weights), share))
    order = sorted(drawn, key=lambda edge: (-abs(drawn[edge]), edge))
    assert set(kept) == set(order[: int(share * len(order))])


@settings(max_examples=30)
@given(drawn=drawn_edges, more=st.integers(0, 5))
def test_a_wider_index_has_empty_rows_at_the_end(drawn, more, assert_sound):
    rows = widen(index(drawn), F + more)
    assert_sound(rows)
    assert rows.start.size == F + more
    assert listed(as_edges(rows)) == drawn


SOUND = Edges(np.array([0, 2, 3]), np.array([0, 1, 1], np.uint32), np.array([1, 2, 3], np.float32))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": np.array([0, 2])}, "rows out of order"),
        ({"indptr": np.array([1, 2, 3])}, "rows out of order"),
        ({"indptr": np.array([0, 4, 3])}, "rows out of order"),
        ({"indptr": np.array([0, 2, 4])}, "edges missing"),
        ({"classes": np.array([0, 1, 2], np.uint32)}, "a class that is not there"),
        ({"classes": np.array([1, 1, 1], np.uint32)}, "a class twice in a row"),
        ({"weights": np.array([1, 0, 3], np.float32)}, "zero or no number"),
        ({"weights": np.array([1, np.nan, 3], np.float32)}, "zero or no number"),
        ({"weights": np.array([1, 2, 3], np.float64)}, "another type"),
    ],
)
def test_invalid_edges_are_rejected(change, message):
    check_edges(SOUND, 2, 2)
    with pytest.raises(ValueError, match=message):
        check_edges(SOUND._replace(**change), 2, 2)


@settings(max_examples=60)
@given(drawn=drawn_edges)
def test_packing_by_class_sorts_each_row_and_keeps_every_weight(drawn, assert_sound):
    rows = pack_rows(index(drawn), by_class=True)
    assert_sound(rows, was_packed=True)
    edges = as_edges(rows)
    assert listed(edges) == drawn
    assert list(zip(edges.features.tolist(), edges.classes.tolist(), strict=True)) == sorted(drawn)


def test_an_index_never_writes_to_read_only_edges():
    fixed = Edges(*(array.copy() for array in SOUND))
    for array in fixed:
        array.flags.writeable = False
    rows = as_rows(fixed)
    rows.weights[0] = 7
    assert fixed.weights[0] == 1
