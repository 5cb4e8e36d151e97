"""Metrics over frequent and rare classes, compared with plain loops, and properties of propensity scores."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness import Outcome
from harness_metrics.tail import psp, r1_frequent, r1_rare


@st.composite
def cases(draw):
    """Draw classes with training counts, sets of true classes, and rankings with padding."""
    n_classes = draw(st.integers(2, 7))
    counts = draw(st.lists(st.integers(0, 200), min_size=n_classes, max_size=n_classes))
    true_sets = draw(st.lists(st.sets(st.integers(0, n_classes - 1), max_size=3), min_size=1, max_size=8))
    width = draw(st.integers(1, n_classes))
    ranks = []
    for _ in true_sets:
        order = draw(st.permutations(range(n_classes)))[: draw(st.integers(0, width))]
        ranks.append([*order, *[-1] * (width - len(order))])
    return counts, true_sets, ranks


def outcome(counts, true_sets, ranks):
    dense = np.zeros((len(true_sets), len(counts)), np.int8)
    for row, true in enumerate(true_sets):
        dense[row, list(true)] = 1
    arrays = csr_array(dense), np.array(ranks, np.int32)
    return Outcome(*arrays, len(counts), np.array(counts, np.int64), max(sum(counts), 1), 1.0, 1.0, 1.0)


@given(cases())
def test_r1_over_a_subset_of_classes_matches_the_definition(case):
    counts, true_sets, ranks = case
    for metric, chosen in (
        (r1_frequent, {c for c, n in enumerate(counts) if n > 100}),
        (r1_rare, {c for c, n in enumerate(counts) if n < 20}),
    ):
        rows = [(true & chosen, ranked[0]) for true, ranked in zip(true_sets, ranks, strict=True) if true & chosen]
        expected = sum(first in true for true, first in rows) / len(rows) if rows else None
        assert metric(outcome(counts, true_sets, ranks)) == expected


def naive_psp(counts, true_sets, ranks, k):
    n = max(sum(counts), 1)
    c = max(math.log(n) - 1, 0) * 2.5**0.55
    gain = [1 + c * (count + 1.5) ** -0.55 for count in counts]
    reached = best = 0.0
    for true, ranked in zip(true_sets, ranks, strict=True):
        reached += sum(gain[class_] for class_ in ranked[:k] if class_ in true)
        best += sum(sorted((gain[class_] for class_ in true), reverse=True)[:k])
    return reached / best if best else None


@given(cases(), st.integers(1, 5))
def test_propensity_scored_precision_matches_the_definition(case, k):
    counts, true_sets, ranks = case
    expected = naive_psp(counts, true_sets, ranks, k)
    found = psp(outcome(counts, true_sets, ranks), k=k)
    assert found == (None if expected is None else pytest.approx(expected))
    assert found is None or 0 <= found <= 1 + 1e-12


def test_a_hit_on_a_rare_class_scores_higher():
    frequent_hit = outcome([1000, 1], [{0}, {1}], [[0], [0]])
    rare_hit = replace(frequent_hit, ranks=np.array([[1], [1]], np.int32))
    assert psp(rare_hit) > 0.5 > psp(frequent_hit)


def test_propensity_scored_precision_equals_r1_with_equal_counts_and_one_label():
    assert psp(outcome([50, 50], [{0}, {1}, {1}], [[0], [1], [0]])) == pytest.approx(2 / 3)


def test_one_label_per_row_equals_an_indicator_matrix_with_one_label():
    known = outcome([150, 3, 30], [{0}, {1}, {2}], [[0], [1], [0]])
    single = replace(known, truth=np.array([0, 1, 2]))
    for metric in (r1_frequent, r1_rare, psp):
        assert metric(single) == metric(known)
