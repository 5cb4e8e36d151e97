"""R_k: the share of test rows that have a true class among the k classes ranked first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness import Outcome


def r1(outcome: Outcome) -> float | None:
    """R1; for a learner that decides hard, the accuracy."""
    return hits(outcome, 1)


def r5(outcome: Outcome) -> float | None:
    """R5."""
    return hits(outcome, 5)


def hits(outcome: Outcome, k: int) -> float | None:
    """The share of rows whose best-ranked true class is among the first k; None when no row has a true class.

    Rows without a true class do not count. Rankings may be shorter than k: a class that is not ranked is never a hit.
    """
    labelled, is_true = _compare(outcome, outcome.ranks[:, :k])
    n_labelled = np.count_nonzero(labelled)
    return np.count_nonzero(is_true[labelled].any(axis=1)) / n_labelled if n_labelled else None


def _compare(outcome: Outcome, ranks: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows have a true class, and, in the shape of `ranks`, which ranked classes are true."""
    truth = outcome.truth
    if isinstance(truth, np.ndarray):
        return truth >= 0, ranks == truth[:, np.newaxis]
    # A (row, class) pair becomes one number, so that membership is a set question and no dense matrix is needed.
    rows, classes = truth.nonzero()
    labelled = np.zeros(len(ranks), dtype=np.bool_)
    labelled[rows] = True
    true_pairs = rows.astype(np.int64) * outcome.n_classes + classes
    ranked_pairs = np.arange(len(ranks), dtype=np.int64)[:, np.newaxis] * outcome.n_classes + ranks
    # A pad, -1, would be taken for the last class of the row above.
    return labelled, np.isin(ranked_pairs, true_pairs) & (ranks >= 0)
