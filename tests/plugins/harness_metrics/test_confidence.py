"""Metrics of automatic decisions, compared with their definitions; None where a value is unknown."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn import metrics as sklearn_metrics

from harness import Outcome
from harness_metrics.confidence import aurc, automatic, ece, log_loss


def outcome_of(gaps, right, confidence=None):
    """Return an outcome with rows of class 0, predicted as 0 where right and as 1 elsewhere."""
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


def test_automatic_counts_the_most_confident_rows_with_enough_accuracy():
    outcome = outcome_of([5, 4, 3, 2, 1], [True, True, True, False, True])
    assert automatic(outcome, accuracy=1.0) == pytest.approx(3 / 5)
    assert automatic(outcome, accuracy=0.8) == 1.0  # 4 of 5 are right
    assert automatic(outcome, accuracy=0.81) == pytest.approx(3 / 5)


def test_a_wrong_most_confident_row_does_not_prevent_reaching_the_accuracy():
    outcome = outcome_of([4, 3, 2, 1], [False, True, True, True])
    assert automatic(outcome, accuracy=0.75) == 1.0
    assert automatic(outcome, accuracy=0.9) == 0.0


@given(rows, st.sampled_from([0.5, 0.75, 0.95, 1.0]))
def test_automatic_is_the_maximum_over_all_thresholds(pairs, accuracy):
    gaps, right = np.array([g for g, _ in pairs]), np.array([r for _, r in pairs])
    best = 0.0
    for threshold in gaps:
        taken = gaps >= threshold
        if right[taken].mean() >= accuracy:
            best = max(best, taken.mean())
    assert automatic(outcome_of(gaps, right), accuracy=accuracy) == pytest.approx(best)


@given(rows)
def test_the_risk_coverage_area_averages_over_orders_of_tied_rows(pairs):
    gaps, right = np.array([g for g, _ in pairs]), np.array([r for _, r in pairs])
    risks = []
    for taken in range(1, len(gaps) + 1):
        border = np.sort(gaps)[::-1][taken - 1]
        surer = gaps > border
        drawn = (taken - surer.sum()) * (
            ~right[gaps == border]
        ).mean()  # the expected errors among as many of the tied rows
        risks.append(((~right[surer]).sum() + drawn) / taken)
    assert aurc(outcome_of(gaps, right)) == pytest.approx(np.mean(risks))


def test_a_row_without_ranks_has_the_lowest_confidence():
    outcome = outcome_of([1, 1, 1], [True, True, True])
    ranks = outcome.ranks.copy()
    ranks[0] = -1
    assert automatic(replace(outcome, ranks=ranks), accuracy=1.0) == pytest.approx(2 / 3)


def test_rows_without_a_true_class_are_ignored():
    outcome = replace(outcome_of([3, 2, 1], [True, False, True]), truth=np.array([0, -1, 0]))
    assert automatic(outcome, accuracy=1.0) == 1.0
    assert aurc(outcome) == 0.0
    assert aurc(replace(outcome, truth=np.array([-1, -1, -1]))) is None


def test_the_value_is_none_without_scores_or_confidence():
    outcome = replace(outcome_of([1.0], [True]), scores=None)
    assert automatic(outcome) is None
    assert aurc(outcome) is None
    assert ece(outcome) is None


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=30), st.integers(1, 8))
@example([(1.0, False), (0.875, True)], 2)  # the last bin has its upper end
def test_the_calibration_error_is_the_weighted_mean_over_bins(pairs, bins):
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


def test_the_log_loss_equals_that_of_scikit_learn_with_the_rest_shared_evenly():
    random = np.random.default_rng(0)
    for _ in range(400):
        n_rows, n_classes = random.integers(2, 20), random.integers(2, 9)
        truth = random.integers(-1, n_classes, n_rows)
        first = random.integers(0, n_classes, n_rows)
        confidence = random.choice([0.0, 0.25, 0.9, 1.0], n_rows).astype(np.float32)
        known = replace(outcome_of(np.ones(n_rows), np.ones(n_rows), confidence), truth=truth, n_classes=n_classes)
        known = replace(known, ranks=first[:, np.newaxis].astype(np.int32))
        p = np.repeat((1 - confidence[:, np.newaxis].astype(float)) / (n_classes - 1), n_classes, axis=1)
        p[np.arange(n_rows), first] = confidence
        labelled = truth >= 0
        if labelled.any():
            expected = sklearn_metrics.log_loss(truth[labelled], p[labelled], labels=range(n_classes))
            assert log_loss(known) == pytest.approx(expected)
        else:
            assert log_loss(known) is None


def test_the_log_loss_is_none_without_confidence_and_for_several_labels_a_row():
    known = outcome_of([1.0, 1.0], [True, False], np.array([0.9, 0.9], np.float32))
    assert log_loss(known) == pytest.approx(-np.log([0.9, 0.1]).mean(), rel=1e-6)
    assert log_loss(replace(known, confidence=None)) is None
    assert log_loss(replace(known, truth=csr_array(np.eye(2, dtype=np.int8)))) is None


def test_a_row_without_a_prediction_gives_every_class_the_same_probability():
    known = replace(outcome_of([1.0], [True], np.zeros(1, np.float32)), n_classes=5, ranks=np.array([[-1]], np.int32))
    assert log_loss(known) == pytest.approx(-np.log(1 / 4))
