"""Metrics of rankings: R_k, accuracy, the mean reciprocal rank, and macro F1 in its two definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness import Outcome
from harness_metrics.truth import best_ranks, first_ranked, true_pairs


def r1(outcome: Outcome) -> float | None:
    """Return R1; for a learner that predicts without scores, the accuracy."""
    return rk(outcome, k=1)


def r5(outcome: Outcome) -> float | None:
    """Return R5."""
    return rk(outcome, k=5)


def r10(outcome: Outcome) -> float | None:
    """Return R10."""
    return rk(outcome, k=10)


def rk(outcome: Outcome, *, k: int = 1) -> float | None:
    """Return the share of rows with a true class among the first k.

    Rows without a true class do not count. Rankings may be shorter than k: a class that is not ranked is never a hit.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    k : int, default=1
        Number of ranked classes to consider.

    Returns
    -------
    float or None
        None if no row has a true class.
    """
    labelled, ranks = best_ranks(outcome, k)
    n_labelled = np.count_nonzero(labelled)
    return np.count_nonzero(ranks[labelled] <= k) / n_labelled if n_labelled else None


def accuracy(outcome: Outcome) -> float | None:
    """Return the share of rows whose first-ranked class is a true one; if classes tie, the first one counts."""
    return rk(replace(outcome, places=None), k=1)


def error(outcome: Outcome) -> float | None:
    """Return the share of rows whose first-ranked class is not a true one."""
    right = accuracy(outcome)
    return None if right is None else 1.0 - right


def mrr(outcome: Outcome, *, depth: int = 1000) -> float | None:
    """Return the mean of 1/rank of the best-ranked true class, 0 if none is among the first `depth`.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    depth : int, default=1000
        Number of ranked classes to consider.
    """
    labelled, ranks = best_ranks(outcome, depth)
    return float((1.0 / ranks[labelled]).mean()) if labelled.any() else None


def coverage(outcome: Outcome) -> float | None:
    """Return the share of the classes of the test rows that are predicted for at least one row."""
    _, classes = true_pairs(outcome)
    present = np.unique(classes)
    return float(np.isin(present, first_ranked(outcome)).mean()) if present.size else None


def macro_f1(outcome: Outcome) -> float | None:
    """Return the mean F1 of the classes that occur in the test rows."""
    counts = _class_counts(outcome)
    if counts is None:
        return None
    hits, predicted, actual = counts
    # 2 TP / (TP + FP + TP + FN); each of these classes has actual > 0, so the divisor is never 0.
    return float((2 * hits / (predicted + actual)).mean())


def macro_f1_lshtc(outcome: Outcome) -> float | None:
    """Return F1 of macro precision and macro recall over the classes of the test rows, as in the LSHTC challenge."""
    counts = _class_counts(outcome)
    if counts is None:
        return None
    hits, predicted, actual = counts
    precision = float(np.divide(hits, predicted, out=np.zeros(len(hits)), where=predicted > 0).mean())
    recall = float((hits / actual).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _class_counts(outcome: Outcome) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Return, for each class of the test rows, its correct, predicted and actual rows; None without classes.

    The prediction is the first-ranked class. Rows without a true class do not count.
    """
    rows, classes = true_pairs(outcome)
    if not rows.size:
        return None
    predicted = first_ranked(outcome)
    n_classes = outcome.n_classes
    actual = np.bincount(classes, minlength=n_classes)
    right = np.bincount(classes[predicted[rows] == classes], minlength=n_classes)
    counted = predicted[np.unique(rows)]
    said = np.bincount(counted[counted >= 0], minlength=n_classes)
    present = actual > 0
    return right[present], said[present], actual[present]
