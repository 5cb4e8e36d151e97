"""What a machine can decide alone, held against the definitions, and what is not known has no value."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Outcome
from harness_metrics.confidence import aurc, automatic, ece


def outcome_of(gaps, right, confidence=None):
    """Rows of class 0, of which those that are right are said to be 0 and the others 1."""
    n = len(gaps)
    ranks = np.where(np.asarray(right), 0, 1).astype(np.int32).reshape(n, 1)
    scores = np.column_stack([np.asarray(gaps, float) + 1, np.ones(n)]).astype(np.float32)
    return Outcome(
        truth=np.zeros(n, np.int64),
        ranks=ranks,
        n_classes=2,
        train_class_counts=np.array([1, 1]),
        n_train=2,
        fit_seconds=0.0,
        fit_cpu_seconds=0.0,
        rank_seconds=0.0,
        scores=scores,
        confidence=confidence,
    )


rows = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]), st.booleans()), min_size=1, max_size=30)


def test_the_surest_rows_that_are_right_often_enough_are_automatic():
    outcome = outcome_of([5, 4, 3, 2, 1], [True, True, True, False, True])
    assert automatic(outcome, accuracy=1.0) == pytest.approx(3 / 5)
    assert automatic(outcome, accuracy=0.8) == 1.0  # 4 of 5 are right
    assert automatic(outcome, accuracy=0.81) == pytest.approx(3 / 5)


def test_where_the_surest_row_is_wrong_more_rows_may_still_reach_the_accuracy():
    outcome = outcome_of([4, 3, 2, 1], [False, True, True, True])
    assert automatic(outcome, accuracy=0.75) == 1.0
    assert automatic(outcome, accuracy=0.9) == 0.0


@given(rows, st.sampled_from([0.5, 0.75, 0.95, 1.0]))
def test_automatic_is_the_best_that_any_threshold_can_do(pairs, accuracy):
    gaps, right = np.array([g for g, _ in pairs]), np.array([r for _, r in pairs])
    best = 0.0
    for threshold in gaps:
        taken = gaps >= threshold
        if right[taken].mean() >= accuracy:
            best = max(best, taken.mean())
    assert automatic(outcome_of(gaps, right), accuracy=accuracy) == pytest.approx(best)


@given(rows)
def test_the_area_is_the_mean_error_over_all_orders_of_equally_sure_rows(pairs):
    gaps, right = np.array([g for g, _ in pairs]), np.array([r for _, r in pairs])
    risks = []
    for taken in range(1, len(gaps) + 1):
        border = np.sort(gaps)[::-1][taken - 1]
        surer = gaps > border
        drawn = (taken - surer.sum()) * (~right[gaps == border]).mean()  # expected of as many drawn among the equal
        risks.append(((~right[surer]).sum() + drawn) / taken)
    assert aurc(outcome_of(gaps, right)) == pytest.approx(np.mean(risks))


def test_a_row_that_ranks_nothing_is_the_least_sure():
    outcome = outcome_of([1, 1, 1], [True, True, True])
    ranks = outcome.ranks.copy()
    ranks[0] = -1
    assert automatic(replace(outcome, ranks=ranks), accuracy=1.0) == pytest.approx(2 / 3)


def test_rows_without_a_true_class_do_not_count():
    outcome = replace(outcome_of([3, 2, 1], [True, False, True]), truth=np.array([0, -1, 0]))
    assert automatic(outcome, accuracy=1.0) == 1.0
    assert aurc(outcome) == 0.0
    assert aurc(replace(outcome, truth=np.array([-1, -1, -1]))) is None


def test_without_scores_or_confidence_there_is_no_value():
    outcome = replace(outcome_of([1.0], [True]), scores=None)
    assert automatic(outcome) is None
    assert aurc(outcome) is None
    assert ece(outcome) is None


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=30), st.integers(1, 8))
def test_the_calibration_error_is_the_mean_over_bins(pairs, bins):
    confidence = np.array([c for c, _ in pairs], np.float32)
    right = np.array([r for _, r in pairs])
    expected = 0.0
    for number in range(bins):
        inside = (confidence.astype(float) * bins >= number) & (confidence.astype(float) * bins < number + 1)
        if number == bins - 1:
            inside |= confidence == 1
        if inside.any():
            expected += inside.mean() * abs(confidence[inside].astype(float).mean() - right[inside].mean())
    assert ece(outcome_of(np.ones(len(right)), right, confidence), bins=bins) == pytest.approx(expected, abs=1e-9)
