"""OOZ training equals the papers' description to the last digits, for any arena size."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ooz_problems import STEPS, free_problems, tied_problems, train, train_by_the_papers


@settings(max_examples=100)
@given(problem=tied_problems(), step=st.sampled_from(STEPS))
def test_float64_weights_equal_the_dense_reference(problem, step, assert_sound):
    model, expected = train(problem, step), train_by_the_papers(problem, step)
    assert_sound(model.rows)
    np.testing.assert_allclose(model.W, expected.W, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.free, expected.free, rtol=1e-12, atol=1e-12)


@settings(max_examples=60)
@given(problem=tied_problems(most_labels=3), step=st.sampled_from(STEPS))
def test_several_labels_or_none_per_row_match_the_dense_reference(problem, step, assert_sound):
    model, expected = train(problem, step), train_by_the_papers(problem, step)
    assert_sound(model.rows)
    np.testing.assert_allclose(model.W, expected.W, rtol=1e-12, atol=1e-12)


@settings(max_examples=40)
@given(problem=free_problems, step=st.sampled_from(STEPS))
def test_float32_weights_equal_float64_weights_to_float32_precision(problem, step):
    expected = train_by_the_papers(problem, step, rounding=1e-4)
    np.testing.assert_allclose(train(problem, step, np.float32).W, expected.W, rtol=1e-5, atol=1e-6)


@settings(max_examples=40)
@given(problem=tied_problems() | free_problems, step=st.sampled_from(STEPS))
def test_an_arena_that_must_grow_gives_identical_weights(problem, step):
    tiny, ample = (train(problem, step, np.float32, n_edges=n_edges) for n_edges in (2, 10_000))
    np.testing.assert_array_equal(tiny.W, ample.W)
    np.testing.assert_array_equal(tiny.free, ample.free)


@settings(max_examples=40)
@given(problem=free_problems, degree=st.integers(1, 5), step=st.sampled_from(STEPS))
def test_rows_with_a_degree_limit_are_sorted_by_decreasing_weight(problem, degree, step):
    rows = train(problem, step._replace(degree=degree), np.float32).rows
    for start, length in zip(rows.start.tolist(), rows.length.tolist(), strict=True):
        assert np.all(np.diff(rows.weights[start : start + length]) <= 0)
