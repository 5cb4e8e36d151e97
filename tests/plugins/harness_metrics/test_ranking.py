"""R_k: against a naive reference, for one label a row and for several, with padding and with k beyond the ranking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness import Outcome
from harness_metrics.plugin import harness_metrics
from harness_metrics.ranking import hits, r1, r5


def outcome(truth, ranks, n_classes):
    """An outcome of which only the ranking matters."""
    return Outcome(
        truth=truth,
        ranks=np.array(ranks, dtype=np.int32).reshape(len(ranks), -1 if len(ranks) else 0),
        n_classes=n_classes,
        train_class_counts=np.ones(n_classes, dtype=np.int64),
        n_train=n_classes,
        fit_seconds=1.0,
        fit_cpu_seconds=1.0,
        rank_seconds=1.0,
    )


def positions(*classes):
    return np.array(classes, dtype=np.intp)


def indicator(true_sets, n_classes, dtype=np.int8):
    dense = np.zeros((len(true_sets), n_classes), dtype=dtype)
    for row, true in enumerate(true_sets):
        dense[row, list(true)] = 1
    return csr_array(dense)


def naive(true_sets, ranks, k):
    """The definition, row by row: the best place of a true class, and whether it is within k."""
    found = []
    for true, ranked in zip(true_sets, ranks, strict=True):
        if true:
            places = [place for place, class_ in enumerate(ranked, start=1) if class_ in true]
            found.append(bool(places) and min(places) <= k)
    return sum(found) / len(found) if found else None


@st.composite
def rankings(draw, largest_set):
    """Classes, sets of true classes (some empty), distinct ranked classes with pads at the end, and a k."""
    n_classes = draw(st.integers(1, 8))
    width = draw(st.integers(0, n_classes + 2))
    n_rows = draw(st.integers(0, 8))
    true_sets, ranks = [], []
    for _ in range(n_rows):
        true_sets.append(draw(st.sets(st.integers(0, n_classes - 1), max_size=largest_set)))
        order = draw(st.permutations(range(n_classes)))
        kept = order[: draw(st.integers(0, min(width, n_classes)))]
        ranks.append([*kept, *[-1] * (width - len(kept))])
    return n_classes, true_sets, ranks, draw(st.integers(1, n_classes + 3))


@given(rankings(largest_set=1))
def test_one_label_a_row_agrees_with_the_definition(case):
    n_classes, true_sets, ranks, k = case
    truth = positions(*(next(iter(true), -1) for true in true_sets))
    assert hits(outcome(truth, ranks, n_classes), k) == naive(true_sets, ranks, k)


@given(rankings(largest_set=8), st.sampled_from([np.int8, np.bool_, np.float64]))
def test_several_labels_a_row_agree_with_the_definition(case, dtype):
    n_classes, true_sets, ranks, k = case
    truth = indicator(true_sets, n_classes, dtype)
    assert hits(outcome(truth, ranks, n_classes), k) == naive(true_sets, ranks, k)


@given(rankings(largest_set=8))
def test_a_larger_k_never_loses_a_hit(case):
    n_classes, true_sets, ranks, k = case
    known = outcome(indicator(true_sets, n_classes), ranks, n_classes)
    assert (hits(known, k) or 0) <= (hits(known, k + 1) or 0)


@given(rankings(largest_set=1))
def test_one_label_says_the_same_as_an_indicator_of_one_label(case):
    n_classes, true_sets, ranks, k = case
    truth = positions(*(next(iter(true), -1) for true in true_sets))
    assert hits(outcome(truth, ranks, n_classes), k) == hits(
        outcome(indicator(true_sets, n_classes), ranks, n_classes), k
    )


def test_r1_and_r5_look_at_one_rank_and_at_five():
    ranks = [[0, 1, 2, 3, 4, 5]] * 3
    known = outcome(positions(0, 4, 5), ranks, 6)
    assert r1(known) == pytest.approx(1 / 3)
    assert r5(known) == pytest.approx(2 / 3)


def test_a_pad_is_not_the_last_class_of_the_row_above():
    truth = indicator([{2}, {0}], n_classes=3)
    assert hits(outcome(truth, [[0], [-1]], 3), 1) == 0.0


def test_a_pad_does_not_hit_a_row_without_a_label():
    assert hits(outcome(positions(-1, 0), [[-1], [0]], 2), 1) == 1.0


def test_a_stored_zero_is_not_a_label():
    truth = csr_array((np.array([0, 1], dtype=np.int8), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert hits(outcome(truth, [[0]], 2), 1) == 0.0


def test_no_rows_and_no_labels_give_none():
    assert r1(outcome(positions(), [], 3)) is None
    assert r1(outcome(positions(-1), [[0]], 3)) is None
    assert r1(outcome(indicator([set()], 3), [[0]], 3)) is None


def test_the_truth_and_the_ranks_stay_as_they_were():
    truth, ranks = indicator([{0}, {1}], 2), np.array([[0], [-1]], dtype=np.int32)
    before = truth.toarray().tolist(), ranks.tolist()
    hits(outcome(truth, ranks, 2), 5)
    assert (truth.toarray().tolist(), ranks.tolist()) == before


def test_many_rows_and_classes_need_no_dense_matrix():
    n_rows, n_classes = 200_000, 1_000_000  # dense, the indicator would take 200 GB
    classes = np.arange(n_rows, dtype=np.int32)
    truth = csr_array((np.ones(n_rows, dtype=np.int8), classes, np.arange(n_rows + 1)), shape=(n_rows, n_classes))
    assert hits(outcome(truth, classes[:, np.newaxis], n_classes), 5) == 1.0


def test_the_registered_depth_is_the_k_of_the_metric():
    specs = {spec.name: spec for spec in harness_metrics()}
    assert (specs["r1"].depth, specs["r1"].title) == (1, "R1")
    assert (specs["r5"].depth, specs["r5"].title) == (5, "R5")
