"""Metrics of rankings: R_k, accuracy, the mean reciprocal rank, and macro F1 in its two definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness import Outcome
from harness_metrics.truth import best_ranks, first_ranked, true_pairs


def r1(outcome: Outcome) -> float | None:
    """R1; for a learner that decides hard, the accuracy."""
    return rk(outcome, k=1)


def r5(outcome: Outcome) -> float | None:
    """R5."""
    return rk(outcome, k=5)


def r10(outcome: Outcome) -> float | None:
    """R10."""
    return rk(outcome, k=10)


def rk(outcome: Outcome, *, k: int = 1) -> float | None:
    """The share of rows whose best-ranked true class is among the first k; None when no row has a true class.

    Rows without a true class do not count. Rankings may be shorter than k: a class that is not ranked is never a hit.
    """
    labelled, ranks = best_ranks(outcome, k)
    n_labelled = np.count_nonzero(labelled)
    return np.count_nonzero(ranks[labelled] <= k) / n_labelled if n_labelled else None


def accuracy(outcome: Outcome) -> float | None:
    """The share of rows whose first-ranked class is a true one; of classes that tie the first one is taken."""
    return rk(replace(outcome, places=None), k=1)


def error(outcome: Outcome) -> float | None:
    """The share of rows whose first-ranked class is not a true one."""
    right = accuracy(outcome)
    return None if right is None else 1.0 - right


def mrr(outcome: Outcome, *, depth: int = 1000) -> float | None:
    """The mean of 1/rank of the best-ranked true class, 0 where none is among the first `depth`."""
    labelled, ranks = best_ranks(outcome, depth)
    return float((1.0 / ranks[labelled]).mean()) if labelled.any() else None


def coverage(outcome: Outcome) -> float | None:
    """The share of the classes in the test truth that are predicted, ranked first, for at least one row."""
    _, classes = true_pairs(outcome)
    present = np.unique(classes)
    return float(np.isin(present, first_ranked(outcome)).mean()) if present.size else None


def macro_f1(outcome: Outcome) -> float | None:
    """The mean of each class's F1, over the classes that occur in the test truth."""
    counts = _class_counts(outcome)
    if counts is None:
        return None
    hits, predicted, actual = counts
    # 2 TP / (TP + FP + TP + FN); a class of the truth has actual > 0, so nothing is divided by zero.
    return float((2 * hits / (predicted + actual)).mean())


def macro_f1_lshtc(outcome: Outcome) -> float | None:
    """F1 of the macro-averaged precision and recall, as the LSHTC challenge counted, over the classes of the truth."""
    counts = _class_counts(outcome)
    if counts is None:
        return None
    hits, predicted, actual = counts
    precision = float(np.divide(hits, predicted, out=np.zeros(len(hits)), where=predicted > 0).mean())
    recall = float((hits / actual).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _class_counts(outcome: Outcome) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """For each class of the truth: rows predicted rightly, rows predicted, rows that have it; None without any.

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
