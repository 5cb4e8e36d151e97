"""Frequent and rare classes apart: R1 over each, and propensity-scored precision (Jain, Prabhu and Varma, KDD 2016)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness import Outcome
from harness_metrics.truth import compare, first_ranked, true_pairs


def r1_frequent(outcome: Outcome, *, more_than: int = 100) -> float | None:
    """R1 over the rows that have a class with more training rows than this."""
    return _r1_over(outcome, outcome.train_class_counts > more_than)


def r1_rare(outcome: Outcome, *, fewer_than: int = 20) -> float | None:
    """R1 over the rows that have a class with fewer training rows than this, none included."""
    return _r1_over(outcome, outcome.train_class_counts < fewer_than)


def _r1_over(outcome: Outcome, chosen: NDArray[np.bool_]) -> float | None:
    """The share of rows, among those with a true class that is chosen, whose first-ranked class is one of these."""
    rows, classes = true_pairs(outcome)
    kept = chosen[classes]
    rows, classes = rows[kept], classes[kept]
    if not rows.size:
        return None
    hits = rows[first_ranked(outcome)[rows] == classes]
    return len(np.unique(hits)) / len(np.unique(rows))


def psp(outcome: Outcome, *, k: int = 1, a: float = 0.55, b: float = 1.5) -> float | None:
    """Propensity-scored precision at k: what the first k classes gain, as a share of what the best k would gain.

    A true class among the first k gains 1/p, with p = 1 / (1 + c (n + b)^-a) its propensity, n its training rows,
    c = (ln N - 1) (b + 1)^a and N all training rows: the rarer the class, the more a hit gains.
    """
    rows, classes = true_pairs(outcome)
    if not rows.size:
        return None
    gain = _gains(outcome, a, b)
    ranks = outcome.ranks[:, :k]
    _, is_true = compare(outcome, ranks)
    reached = gain[ranks[is_true]].sum()
    order = np.lexsort((-gain[classes], rows))  # by row, and in it the best first
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    place = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    best = gain[classes[order]][place < k].sum()
    return float(reached / best)


def _gains(outcome: Outcome, a: float, b: float) -> NDArray[np.float64]:
    # With fewer than three training rows ln N - 1 is negative: then every class gains the same.
    c = max(np.log(max(outcome.n_train, 1)) - 1, 0.0) * (b + 1) ** a
    return np.asarray(1 + c * (outcome.train_class_counts + b) ** -a, dtype=np.float64)
