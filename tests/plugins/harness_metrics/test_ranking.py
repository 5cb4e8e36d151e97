"""R_k against a naive reference: one or several labels per row, padding, and k beyond the ranking."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_score, recall_score

from harness import Outcome
from harness_metrics.plugin import harness_metrics
from harness_metrics.ranking import (
    accuracy,
    balanced_accuracy,
    coverage,
    error,
    macro_f1,
    macro_f1_lshtc,
    micro_f1,
    mrr,
    r1,
    r5,
    rk,
)
from random_rankings import random_rankings


def outcome(truth, ranks, n_classes):
    """Return an outcome in which only the ranking matters."""
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
    """Compute R_k from the definition, row by row."""
    found = []
    for true, ranked in zip(true_sets, ranks, strict=True):
        if true:
            places = [place for place, class_ in enumerate(ranked, start=1) if class_ in true]
            found.append(bool(places) and min(places) <= k)
    return sum(found) / len(found) if found else None


@st.composite
def rankings(draw, largest_set):
    """Draw classes, sets of true classes (some empty), distinct ranked classes with padding, and k."""
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
def test_r_k_with_one_label_per_row_matches_the_definition(case):
    n_classes, true_sets, ranks, k = case
    truth = positions(*(next(iter(true), -1) for true in true_sets))
    assert rk(outcome(truth, ranks, n_classes), k=k) == naive(true_sets, ranks, k)


@given(rankings(largest_set=8), st.sampled_from([np.int8, np.bool_, np.float64]))
def test_r_k_with_several_labels_per_row_matches_the_definition(case, dtype):
    n_classes, true_sets, ranks, k = case
    truth = indicator(true_sets, n_classes, dtype)
    assert rk(outcome(truth, ranks, n_classes), k=k) == naive(true_sets, ranks, k)


@given(rankings(largest_set=8))
def test_r_k_never_decreases_with_k(case):
    n_classes, true_sets, ranks, k = case
    known = outcome(indicator(true_sets, n_classes), ranks, n_classes)
    assert (rk(known, k=k) or 0) <= (rk(known, k=k + 1) or 0)


@given(rankings(largest_set=1))
def test_one_label_per_row_equals_an_indicator_matrix_with_one_label(case):
    n_classes, true_sets, ranks, k = case
    truth = positions(*(next(iter(true), -1) for true in true_sets))
    assert rk(outcome(truth, ranks, n_classes), k=k) == rk(
        outcome(indicator(true_sets, n_classes), ranks, n_classes), k=k
    )


def test_r1_uses_one_rank_and_r5_uses_five():
    ranks = [[0, 1, 2, 3, 4, 5]] * 3
    known = outcome(positions(0, 4, 5), ranks, 6)
    assert r1(known) == pytest.approx(1 / 3)
    assert r5(known) == pytest.approx(2 / 3)


def test_padding_is_not_read_as_the_last_class():
    truth = indicator([{2}, {0}], n_classes=3)
    assert rk(outcome(truth, [[0], [-1]], 3), k=1) == 0.0


def test_padding_never_hits_a_row_without_a_label():
    assert rk(outcome(positions(-1, 0), [[-1], [0]], 2), k=1) == 1.0


def test_an_explicit_zero_is_not_a_label():
    truth = csr_array((np.array([0, 1], dtype=np.int8), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert rk(outcome(truth, [[0]], 2), k=1) == 0.0


def test_r_k_without_rows_or_labels_is_none():
    assert r1(outcome(positions(), [], 3)) is None
    assert r1(outcome(positions(-1), [[0]], 3)) is None
    assert r1(outcome(indicator([set()], 3), [[0]], 3)) is None


def test_true_labels_and_ranks_are_not_modified():
    truth, ranks = indicator([{0}, {1}], 2), np.array([[0], [-1]], dtype=np.int32)
    before = truth.toarray().tolist(), ranks.tolist()
    rk(outcome(truth, ranks, 2), k=5)
    assert (truth.toarray().tolist(), ranks.tolist()) == before


def test_many_rows_and_classes_need_no_dense_matrix():
    n_rows, n_classes = 200_000, 1_000_000  # a dense indicator would take 200 GB
    classes = np.arange(n_rows, dtype=np.int32)
    truth = csr_array((np.ones(n_rows, dtype=np.int8), classes, np.arange(n_rows + 1)), shape=(n_rows, n_classes))
    assert rk(outcome(truth, classes[:, np.newaxis], n_classes), k=5) == 1.0


# -- the other measures of a ranking ---------------------------------------------------------------------------------


@given(rankings(largest_set=8))
def test_the_reciprocal_rank_matches_the_definition(case):
    n_classes, true_sets, ranks, depth = case
    rows = [(true, ranked[:depth]) for true, ranked in zip(true_sets, ranks, strict=True) if true]
    places = [[place for place, c in enumerate(ranked, start=1) if c in true] for true, ranked in rows]
    expected = sum(1 / min(found) if found else 0 for found in places) / len(places) if places else None
    known = outcome(indicator(true_sets, n_classes), ranks, n_classes)
    assert mrr(known, depth=depth) == (None if expected is None else pytest.approx(expected))


@given(rankings(largest_set=1))
def test_error_is_one_minus_accuracy_and_accuracy_equals_r1(case):
    n_classes, true_sets, ranks, _ = case
    known = outcome(positions(*(next(iter(true), -1) for true in true_sets)), ranks, n_classes)
    assert accuracy(known) == r1(known)
    assert error(known) == (None if r1(known) is None else pytest.approx(1 - r1(known)))


predictions = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30)


@given(predictions)
def test_macro_f1_equals_scikit_learns_over_the_true_classes(pairs):
    truth, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    known = outcome(truth, [[c] for c in predicted], 6)
    expected = f1_score(truth, predicted, labels=np.unique(truth), average="macro", zero_division=0)
    assert macro_f1(known) == pytest.approx(expected)


@given(predictions)
def test_macro_f1_of_means_combines_scikit_learns_macro_precision_and_recall(pairs):
    truth, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    kept = {"labels": np.unique(truth), "average": "macro", "zero_division": 0}
    precision, recall = precision_score(truth, predicted, **kept), recall_score(truth, predicted, **kept)
    expected = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert macro_f1_lshtc(outcome(truth, [[c] for c in predicted], 6)) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true", "ignore:A single label was found")
def test_micro_f1_and_balanced_accuracy_equal_those_of_scikit_learn():
    for one in random_rankings(largest_set=1):
        true_sets, ranked = one.labelled
        truth = [true[0] for true in true_sets]
        guess = [order[0] if order else -1 for order in ranked]
        if not truth:
            assert (micro_f1(one.outcome), balanced_accuracy(one.outcome)) == (None, None)
            continue
        assert balanced_accuracy(one.outcome) == pytest.approx(balanced_accuracy_score(truth, guess))
        classes = range(one.outcome.n_classes)
        expected = f1_score(truth, guess, labels=classes, average="micro", zero_division=0)
        assert micro_f1(one.outcome) == pytest.approx(expected)


def test_micro_f1_with_several_labels_equals_that_of_scikit_learn_for_the_first_class():
    for one in random_rankings():
        true_sets, ranked = one.labelled
        truth, guess = np.zeros((2, len(true_sets), one.outcome.n_classes), int)
        for row, (true, order) in enumerate(zip(true_sets, ranked, strict=True)):
            truth[row, true] = 1
            guess[row, order[:1]] = 1
        if true_sets:
            assert micro_f1(one.outcome) == pytest.approx(f1_score(truth, guess, average="micro", zero_division=0))


@given(rankings(largest_set=8))
def test_macro_f1_with_several_labels_uses_the_first_rank_as_the_prediction(case):
    n_classes, true_sets, ranks, _ = case
    rows = [(true, ranked[0] if ranked else -1) for true, ranked in zip(true_sets, ranks, strict=True) if true]
    f1s, precisions, recalls = [], [], []
    for c in sorted(set().union(*(true for true, _ in rows))) if rows else []:
        hits = sum(c in true and guess == c for true, guess in rows)
        predicted, actual = sum(guess == c for _, guess in rows), sum(c in true for true, _ in rows)
        precisions.append(hits / predicted if predicted else 0.0)
        recalls.append(hits / actual)
        f1s.append(2 * hits / (predicted + actual))
    known = outcome(indicator(true_sets, n_classes), ranks, n_classes)
    if not f1s:
        assert macro_f1(known) is None
        assert macro_f1_lshtc(known) is None
        return
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    both = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert macro_f1(known) == pytest.approx(sum(f1s) / len(f1s))
    assert macro_f1_lshtc(known) == pytest.approx(both)


@given(rankings(largest_set=8))
def test_coverage_is_the_share_of_true_classes_ever_predicted(case):
    n_classes, true_sets, ranks, _ = case
    present = set().union(*true_sets) if true_sets else set()
    guess = {ranked[0] for ranked in ranks if ranked}
    expected = len(present & guess) / len(present) if present else None
    assert coverage(outcome(indicator(true_sets, n_classes), ranks, n_classes)) == expected


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=5, max_size=5), min_size=1, max_size=8),
    st.lists(st.sets(st.integers(0, 4), max_size=3), min_size=8, max_size=8),
    st.integers(1, 6),
)
def test_tied_scores_get_their_worst_rank_where_scores_are_known(scores, true_sets, k):
    table, true_sets = np.array(scores), true_sets[: len(scores)]
    ranks = np.argsort(-table, axis=1, kind="stable").astype(np.int32)
    listed = np.take_along_axis(table, ranks, axis=1)
    places = np.array([[(row >= s).sum() for s in line] for row, line in zip(table, listed, strict=True)], np.int32)
    known = replace(outcome(indicator(true_sets, 5), ranks, 5), places=places)
    expected = []
    for row, true in zip(scores, true_sets, strict=True):
        if true:
            others = [row[c] for c in range(5) if c not in true]
            expected.append(
                min(1 + sum(s >= row[c] for s in others) + sum(row[d] > row[c] for d in true) for c in true)
            )
    hits = sum(place <= k for place in expected) / len(expected) if expected else None
    assert rk(known, k=k) == hits
    means = sum(1 / place for place in expected) / len(expected) if expected else None
    assert mrr(known) == (None if means is None else pytest.approx(means))


def test_constant_scores_rank_all_classes_last_and_accuracy_follows_predict():
    known = replace(outcome(positions(0, 1), [[0, 1, 2]] * 2, 3), places=np.full((2, 3), 3, np.int32))
    assert (r1(known), rk(known, k=2), rk(known, k=3)) == (0.0, 0.0, 1.0)
    assert accuracy(known) == 0.5


def test_an_unranked_class_has_an_infinite_rank():
    known = outcome(positions(2, 0), [[0, 1], [0, 1]], 3)
    assert (mrr(known), rk(known, k=100)) == (0.5, 0.5)


def test_the_registered_depth_is_the_k_of_the_metric():
    specs = {spec.name: spec for spec in harness_metrics()}
    assert (specs["r1"].depth, specs["r1"].title) == (1, "R1")
    assert (specs["r5"].depth, specs["r5"].title) == (5, "R5")
