"""The best classes are ordered by score, then by id; excluded classes never appear."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from harness.sdk import as_instances
from internals import best_class, empty_rows, fill_ranks, fill_top_k, rank_by_index, shift

few_values = st.sampled_from([-np.inf, -2.0, -1.0, -0.0, 0.0, 1.0, 1.5, 1e-300])
tied_scores = hnp.arrays(np.float64, st.integers(1, 200), elements=few_values)
free_scores = hnp.arrays(np.float64, st.integers(1, 200), elements=st.floats(-1e300, 1e300))


def sort(scores: np.ndarray, k: int) -> list[int]:
    order = np.lexsort((np.arange(scores.size), -scores))
    order = order[scores[order] > -np.inf][:k]
    return [*order.tolist(), *[-1] * (k - order.size)]


@settings(max_examples=100, deadline=None)
@given(scores=tied_scores | free_scores, k=st.integers(1, 220))
def test_top_k_is_the_start_of_a_full_sort(scores, k):
    ranked = np.full(k, 7, np.int32)
    fill_top_k(scores, ranked)
    assert ranked.tolist() == sort(scores, k)


@settings(max_examples=100, deadline=None)
@given(scores=tied_scores | free_scores)
def test_the_best_class_is_the_first_with_the_highest_score(scores):
    assert best_class(scores) == np.argmax(scores)


def test_ranks_follow_the_scores_and_rows_without_features_rank_nothing():
    rows = empty_rows(3, 100)
    shift(rows, np.uint32(0), np.uint32(2), np.uint32(1), 1.0)
    shift(rows, np.uint32(1), np.uint32(0), np.uint32(2), 0.5)
    X = np.array([[1, 0, 0], [0, 0, 0], [0, -1, 0], [0, 0, 1]], np.float32)
    base = np.array([0.0, 0.0, 0.0, -np.inf])
    assert rank_by_index(rows, as_instances(X), base, 4).tolist() == [
        [2, 0, 1, -1],
        [-1, -1, -1, -1],
        [2, 1, 0, -1],
        [0, 1, 2, -1],
    ]


def test_a_call_with_other_dtypes_is_rejected_instead_of_compiled():
    assert len(fill_ranks.signatures) == 1
    assert not fill_ranks._can_compile
