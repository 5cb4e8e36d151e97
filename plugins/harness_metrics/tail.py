"""Frequent and rare classes apart: R1 over each, and propensity-scored precision (Jain, Prabhu and Varma, KDD 2016)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness import Outcome
from harness_metrics.truth import compare, first_ranked, true_pairs


def r1_frequent(outcome: Outcome, *, more_than: int = 100) -> float | None:
    """Return R1 over the rows of frequent classes.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    more_than : int, default=100
        A frequent class has more training rows than this.
    """
    return _r1_over(outcome, outcome.train_class_counts > more_than)


def r1_rare(outcome: Outcome, *, fewer_than: int = 20) -> float | None:
    """Return R1 over the rows of rare classes.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    fewer_than : int, default=20
        A rare class has fewer training rows than this, possibly none.
    """
    return _r1_over(outcome, outcome.train_class_counts < fewer_than)


def _r1_over(outcome: Outcome, chosen: NDArray[np.bool_]) -> float | None:
    """Return the share of rows, among those with a chosen true class, whose first-ranked class is one of these."""
    rows, classes = true_pairs(outcome)
    kept = chosen[classes]
    rows, classes = rows[kept], classes[kept]
    if not rows.size:
        return None
    hits = rows[first_ranked(outcome)[rows] == classes]
    return len(np.unique(hits)) / len(np.unique(rows))


def psp(outcome: Outcome, *, k: int = 1, a: float = 0.55, b: float = 1.5) -> float | None:
    """Return propensity-scored precision at k: the gain of the first k classes, relative to the largest possible gain.

    A true class among the first k gains 1/p, so rare classes gain more. Its propensity is p = 1 / (1 + c (n + b)^-a),
    with n its training rows, c = (ln N - 1) (b + 1)^a and N all training rows.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    k : int, default=1
        Number of ranked classes to consider.
    a, b : float, default=0.55 and 1.5
        Parameters of the propensity.
    """
    rows, classes = true_pairs(outcome)
    if not rows.size:
        return None
    gain = _gains(outcome, a, b)
    ranks = outcome.ranks[:, :k]
    _, is_true = compare(outcome, ranks)
    reached = gain[ranks[is_true]].sum()
    order = np.lexsort((-gain[classes], rows))  # by row, largest gain first
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    place = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    best = gain[classes[order]][place < k].sum()
    return float(reached / best)


def _gains(outcome: Outcome, a: float, b: float) -> NDArray[np.float64]:
    # With fewer than three training rows ln N - 1 is negative; all classes gain the same in this case.
    c = max(np.log(max(outcome.n_train, 1)) - 1, 0.0) * (b + 1) ** a
    return np.asarray(1 + c * (outcome.train_class_counts + b) ** -a, dtype=np.float64)
