"""Updates of many classes at once equal those of a dense matrix and leave the work space clean."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from internals import append, empty_rows, forget, move_row, no_moves, plan_move


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(1, 40), full=st.booleans())
def test_an_updated_row_equals_a_dense_vector_and_drops_zero_weights(seed, n_classes, full, dense, assert_sound):
    rng = np.random.default_rng(seed)
    before = rng.integers(-2, 3, n_classes) * (full | (rng.random(n_classes) < 0.5))
    changes = rng.integers(-2, 3, n_classes)
    rows, moves, n = empty_rows(1, 1000), no_moves(n_classes), 0
    for c in np.flatnonzero(before):
        append(rows, np.uint32(0), np.uint32(c), float(before[c]))
    for c in rng.permutation(np.flatnonzero(changes)):
        n = plan_move(moves, n, np.uint32(c), float(changes[c]))
    move_row(rows, np.uint32(0), 0.5, moves, n)
    forget(moves, n)
    assert_sound(rows)
    np.testing.assert_array_equal(dense(rows, n_classes)[0], before + changes / 2)
    assert not moves.changes.any()
    assert not moves.marked.any()
