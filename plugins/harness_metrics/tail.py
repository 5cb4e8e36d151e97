"""Frequent and rare classes apart: R1 over each, and propensity-scored metrics (Jain, Prabhu and Varma, KDD 2016)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness import Outcome
from harness_metrics.ranking import ideal_gain
from harness_metrics.truth import first_ranked, label_counts, true_pairs, true_ranks


def r1_frequent(outcome: Outcome, *, more_than: int = 100) -> float | None:
    """Return R1 over the rows of frequent classes.

    Formula
    -------
    R1 frequent = rows whose first class is a frequent label / rows with a frequent label

    When to use
    -----------
    To see what a learner gains where there is much training data.

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

    Formula
    -------
    R1 rare = rows whose first class is a rare label / rows with a rare label

    When to use
    -----------
    To see whether a learner finds classes with little training data.

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

    A true class gains 1/p, so rare classes gain more. Its propensity is p = 1 / (1 + c (n + b)^-a), with n its training
    rows, c = (ln N - 1) (b + 1)^a and N all training rows.

    Formula
    -------
    PSP@k = sum of 1/p over top k ∩ labels / largest possible sum, both summed over rows

    When to use
    -----------
    To see whether P@k comes from frequent classes alone.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    k : int, default=1
        Number of ranked classes to consider.
    a, b : float, default=0.55 and 1.5
        Parameters of the propensity.
    """
    return _relative_gain(outcome, _Cut(k), a, b)


def psndcg(outcome: Outcome, *, k: int = 1, a: float = 0.55, b: float = 1.5) -> float | None:
    """Return propensity-scored nDCG at k: as `psp`, but a gain counts less at a later rank.

    Formula
    -------
    PSnDCG@k = sum of 1/(p log2(rank + 1)) over top k ∩ labels / largest possible sum; each row over that of p = 1

    When to use
    -----------
    To compare with papers on extreme multi-label classification that weight rare classes by rank.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    k : int, default=1
        Number of ranked classes to consider.
    a, b : float, default=0.55 and 1.5
        Parameters of the propensity.
    """
    return _relative_gain(outcome, _Cut(k, discounted=True), a, b)


@dataclass(frozen=True)
class _Cut:
    """The first k ranks, and whether a gain is discounted by its rank."""

    k: int
    discounted: bool = False

    def weigh(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of a gain at each of these ranks; 0 beyond k."""
        return np.where(ranks <= self.k, 1 / np.log2(ranks + 1) if self.discounted else 1.0, 0.0)

    def scale(self, n_labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the divisor of a row with this many labels: the largest sum of discounts, or 1."""
        if not self.discounted:
            return np.ones(len(n_labels))
        return ideal_gain(n_labels, self.k)


def _relative_gain(outcome: Outcome, cut: _Cut, a: float, b: float) -> float | None:
    """Return the sum of weighted gains over the first k classes of all rows, relative to the largest possible sum."""
    rows, classes = true_pairs(outcome)
    if not rows.size:
        return None
    gain = _gains(outcome, a, b)
    n_labels = label_counts(outcome)
    scale = cut.scale(n_labels)
    _, ranks = true_ranks(outcome, cut.k)
    hit, place = np.nonzero(np.isfinite(ranks))
    reached = gain[outcome.ranks[hit, place]] * cut.weigh(ranks[hit, place]) / scale[hit]
    order = np.lexsort((-gain[classes], rows))  # by row, largest gain first
    first = np.cumsum(n_labels) - n_labels
    ideal_rank = np.arange(1.0, len(rows) + 1) - first[rows]
    best = gain[classes[order]] * cut.weigh(ideal_rank) / scale[rows]
    return float(reached.sum() / best.sum())


def _gains(outcome: Outcome, a: float, b: float) -> NDArray[np.float64]:
    # With fewer than three training rows ln N - 1 is negative; all classes gain the same in this case.
    c = max(np.log(max(outcome.n_train, 1)) - 1, 0.0) * (b + 1) ** a
    return np.asarray(1 + c * (outcome.train_class_counts + b) ** -a, dtype=np.float64)
