"""Index rows under updates: edges gain weight or appear, light edges are dropped, and sorting is stable."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_index.kernels.edge_updates import drop_below, gain, restore_order, settle, weaken
from internals import Rows, append, empty_rows

edges = st.lists(st.tuples(st.integers(0, 40), st.sampled_from([0.5, 0.25, 1.0, 0.125, 3.0])), max_size=20).map(
    lambda drawn: list(dict(drawn).items())
)
F = np.uint32(1)


def row_of(drawn: list[tuple[int, float]]) -> Rows:
    rows = empty_rows(3, 500)
    for c, weight in drawn:
        append(rows, F, np.uint32(c), weight)
    return rows


def content(rows: Rows) -> list[tuple[int, float]]:
    start, end = int(rows.start[1]), int(rows.start[1]) + int(rows.length[1])
    return list(zip(rows.classes[start:end].tolist(), rows.weights[start:end].tolist(), strict=True))


@settings(max_examples=60)
@given(drawn=edges, least=st.sampled_from([0.0, 0.2, 0.25, 5.0]))
def test_light_edges_are_dropped_and_the_others_keep_their_order(drawn, least, assert_sound):
    rows = row_of(drawn)
    drop_below(rows, F, least)
    assert_sound(rows)
    assert content(rows) == [(c, w) for c, w in drawn if w >= least]


@settings(max_examples=60)
@given(drawn=edges)
def test_rows_are_sorted_by_decreasing_weight_and_ties_keep_their_order(drawn):
    rows = row_of(drawn)
    restore_order(rows.classes, rows.weights, rows.start[1], rows.length[1])
    assert content(rows) == sorted(drawn, key=lambda edge: -edge[1])


@settings(max_examples=60)
@given(drawn=edges, c=st.integers(0, 40), least=st.sampled_from([0.0, 0.6]))
def test_an_edge_gains_or_appears_unless_below_the_minimum_weight(drawn, c, least, assert_sound):
    rows, known = row_of(drawn), dict(drawn)
    gain(rows, F, np.uint32(c), 0.5, least)
    assert_sound(rows)
    expected = {**known, c: known.get(c, 0.0) + 0.5} if c in known or least <= 0.5 else known
    assert content(rows) == list(expected.items())


@settings(max_examples=30)
@given(drawn=edges, ordered=st.booleans(), most=st.sampled_from([1, 4, 100]))
def test_weakening_and_settling_keep_edges_above_the_minimum_weight(drawn, ordered, most, assert_sound):
    rows = row_of(drawn)
    weaken(rows, F, 0.5)
    settle(rows, F, 0.125, ordered, most)
    assert_sound(rows)
    kept = [(c, w / 2) for c, w in drawn if w / 2 >= 0.125]
    assert content(rows) == (sorted(kept, key=lambda edge: -edge[1])[:most] if ordered else kept)
