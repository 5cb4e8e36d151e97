"""Metrics of rankings: R_k, precision, recall and nDCG at k, accuracy, mean reciprocal rank, and F1 over classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness import Outcome
from harness_metrics.truth import best_ranks, first_ranked, label_counts, true_pairs, true_ranks


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

    Formula
    -------
    R_k = rows with a label in the top k / rows

    When to use
    -----------
    For one label a row, and wherever one right class among k proposals is enough.

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


def p1(outcome: Outcome) -> float | None:
    """Return precision at 1; with one label a row it equals R1."""
    return precision(outcome, k=1)


def p3(outcome: Outcome) -> float | None:
    """Return precision at 3."""
    return precision(outcome, k=3)


def p5(outcome: Outcome) -> float | None:
    """Return precision at 5."""
    return precision(outcome, k=5)


def precision(outcome: Outcome, *, k: int = 1) -> float | None:
    """Return precision at k: the share of the first k classes that are true.

    Always divides by k, also where a row has fewer labels or fewer ranked classes.

    Formula
    -------
    P@k = |top k ∩ labels| / k, mean over rows

    When to use
    -----------
    For several labels a row; with one label a row use R_k, which is k times P@k.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    k : int, default=1
        Number of ranked classes to consider.
    """
    labelled, ranks = true_ranks(outcome, k)
    n_labelled = np.count_nonzero(labelled)
    return np.count_nonzero(np.isfinite(ranks)) / (k * n_labelled) if n_labelled else None


def recall(outcome: Outcome, *, k: int = 1) -> float | None:
    """Return recall at k: the share of a row's labels that are among the first k classes.

    Formula
    -------
    recall@k = |top k ∩ labels| / |labels|, mean over rows

    When to use
    -----------
    Where no label may be missed, such as candidates for a second stage.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    k : int, default=1
        Number of ranked classes to consider.
    """
    labelled, ranks = true_ranks(outcome, k)
    if not labelled.any():
        return None
    hits = np.isfinite(ranks).sum(axis=1)
    return float((hits[labelled] / label_counts(outcome)[labelled]).mean())


def ndcg(outcome: Outcome, *, k: int = 1) -> float | None:
    """Return the normalised discounted cumulative gain at k: a label counts more at an earlier rank.

    Formula
    -------
    nDCG@k = sum of 1/log2(rank + 1) over top k ∩ labels / the same for a perfect ranking, mean over rows

    When to use
    -----------
    Where the order within the first k classes matters.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    k : int, default=1
        Number of ranked classes to consider.
    """
    labelled, ranks = true_ranks(outcome, k)
    if not labelled.any():
        return None
    gain = (1 / np.log2(ranks + 1)).sum(axis=1)
    return float((gain[labelled] / ideal_gain(label_counts(outcome)[labelled], k)).mean())


def ideal_gain(n_labels: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """Return the discounted cumulative gain at k of a perfect ranking, for rows with these numbers of labels.

    Parameters
    ----------
    n_labels : ndarray of int
        Number of labels of each row. A row without labels counts as one with a label.
    k : int
        Number of ranked classes to consider.
    """
    most = max(1, min(k, int(n_labels.max(initial=1))))
    gains = np.cumsum(1 / np.log2(np.arange(2, most + 2)))
    return np.asarray(gains[np.clip(n_labels, 1, most) - 1])


def accuracy(outcome: Outcome) -> float | None:
    """Return the share of rows whose first-ranked class is a true one; if classes tie, the first one counts.

    Formula
    -------
    accuracy = rows whose first class is a label / rows

    When to use
    -----------
    For one label a row and one answer, such as a learner that only predicts.
    """
    return rk(replace(outcome, places=None), k=1)


def error(outcome: Outcome) -> float | None:
    """Return the share of rows whose first-ranked class is not a true one.

    Formula
    -------
    error = 1 - accuracy

    When to use
    -----------
    To compare with papers that report error rates.
    """
    right = accuracy(outcome)
    return None if right is None else 1.0 - right


def mrr(outcome: Outcome, *, depth: int = 1000) -> float | None:
    """Return the mean of 1/rank of the best-ranked true class, 0 if none is among the first `depth`.

    Formula
    -------
    MRR = 1 / rank of the best-ranked label, mean over rows

    When to use
    -----------
    Where users read a list from the top until the first right class.

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
    """Return the share of the classes of the test rows that are predicted for at least one row.

    Formula
    -------
    coverage = |first classes ∩ labels of all rows| / |labels of all rows|

    When to use
    -----------
    To find learners that never predict most classes.
    """
    _, classes = true_pairs(outcome)
    present = np.unique(classes)
    return float(np.isin(present, first_ranked(outcome)).mean()) if present.size else None


def macro_f1(outcome: Outcome) -> float | None:
    """Return the mean F1 of the classes that occur in the test rows.

    Formula
    -------
    macro F1 = 2 TP / (2 TP + FP + FN) of each class, mean over classes

    When to use
    -----------
    Where a rare class matters as much as a frequent one.
    """
    counts = _class_counts(outcome)
    if counts is None:
        return None
    hits, predicted, actual = counts
    # 2 TP / (TP + FP + TP + FN); each of these classes has actual > 0, so the divisor is never 0.
    return float((2 * hits / (predicted + actual)).mean())


def macro_f1_lshtc(outcome: Outcome) -> float | None:
    """Return F1 of macro precision and macro recall over the classes of the test rows, as in the LSHTC challenge.

    Formula
    -------
    macro F1 (LSHTC) = 2 P R / (P + R), with P and R the means of TP / (TP + FP) and TP / (TP + FN) over classes

    When to use
    -----------
    To compare with results of the LSHTC challenge.
    """
    counts = _class_counts(outcome)
    if counts is None:
        return None
    hits, predicted, actual = counts
    precision = float(np.divide(hits, predicted, out=np.zeros(len(hits)), where=predicted > 0).mean())
    recall = float((hits / actual).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def micro_f1(outcome: Outcome) -> float | None:
    """Return F1 over all pairs of a row and a class; the prediction is the first-ranked class alone.

    With one label a row, and a prediction for each row, it equals the accuracy.

    Formula
    -------
    micro F1 = 2 TP / (2 TP + FP + FN), with TP, FP and FN summed over classes

    When to use
    -----------
    For few labels a row; with many, one predicted class cannot reach 1, and P@k says more.
    """
    rows, classes = true_pairs(outcome)
    if not rows.size:
        return None
    predicted = first_ranked(outcome)
    hits = np.count_nonzero(predicted[rows] == classes)
    n_predicted = np.count_nonzero(predicted[np.unique(rows)] >= 0)
    return 2 * hits / (n_predicted + len(rows))


def balanced_accuracy(outcome: Outcome) -> float | None:
    """Return the mean recall of the classes that occur in the test rows.

    Formula
    -------
    balanced accuracy = TP / (TP + FN) of each class, mean over classes

    When to use
    -----------
    As accuracy where classes are of very different size.
    """
    counts = _class_counts(outcome)
    if counts is None:
        return None
    hits, _, actual = counts
    return float((hits / actual).mean())


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
