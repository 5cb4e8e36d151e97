"""Helpers of the metrics: rows with a true class, ranks of true classes, and (row, true class) pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness import Outcome

Rows = NDArray[np.int64]


def best_ranks(outcome: Outcome, k: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which rows have a true class, and the rank of the best-ranked one, infinite beyond the first k.

    If scores are known to tie, a class has the worst rank among the tied classes. Other true classes of the row do not
    count against it.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    k : int
        Number of ranked classes to consider.

    Returns
    -------
    has_truth : ndarray of bool
        Rows with a true class.
    ranks : ndarray of float
        Rank of the best-ranked true class in each of these rows.
    """
    rows = np.arange(len(outcome.ranks))
    width = k if outcome.places is None else None  # a tie may extend beyond k
    labelled, is_true = compare(outcome, outcome.ranks[:, :width])
    if is_true.shape[1] == 0:
        return labelled, np.full(len(rows), np.inf)
    first = is_true.argmax(axis=1)
    rank = first + 1.0
    if outcome.places is not None:
        worst = outcome.places[rows, first]
        rank = worst - ((is_true & (outcome.places == worst[:, np.newaxis])).sum(axis=1) - 1.0)
    return labelled, np.where(is_true[rows, first] & (rank <= k), rank, np.inf)


def true_ranks(outcome: Outcome, k: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which rows have a true class, and for each listed class its rank if it is true and among the first k.

    If scores are known to tie, wrong classes come before true ones, as in `best_ranks`.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    k : int
        Number of ranked classes to consider.

    Returns
    -------
    has_truth : ndarray of bool, shape (n_rows,)
        Rows with a true class.
    ranks : ndarray of float, shape (n_rows, n_listed)
        Rank of each listed class; infinite for a wrong class and beyond k.
    """
    places = outcome.places
    labelled, is_true = compare(outcome, outcome.ranks[:, : k if places is None else None])
    is_true &= labelled[:, np.newaxis]  # a row without a label would match the padding
    n_listed = is_true.shape[1]
    if places is None:
        ranks = np.broadcast_to(np.arange(1, n_listed + 1), is_true.shape)
    else:
        # The true classes of a tie share its last places, in their listed order.
        so_far = is_true.cumsum(axis=1)
        last_of_tie = np.clip(places, 1, max(n_listed, 1)) - 1
        ranks = places - (np.take_along_axis(so_far, last_of_tie, axis=1) - so_far)
    return labelled, np.where(is_true & (ranks <= k), ranks, np.inf)


def label_counts(outcome: Outcome) -> Rows:
    """Return the number of true classes of each row."""
    rows, _ = true_pairs(outcome)
    return np.bincount(rows, minlength=len(outcome.ranks))


def compare(outcome: Outcome, ranks: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows have a true class, and, in the shape of `ranks`, which ranked classes are true."""
    truth = outcome.truth
    if isinstance(truth, np.ndarray):
        return truth >= 0, ranks == truth[:, np.newaxis]
    # A (row, class) pair becomes one number, so no dense matrix is needed.
    rows, classes = truth.nonzero()
    labelled = np.zeros(len(ranks), dtype=np.bool_)
    labelled[rows] = True
    true_pairs = rows.astype(np.int64) * outcome.n_classes + classes
    ranked_pairs = np.arange(len(ranks), dtype=np.int64)[:, np.newaxis] * outcome.n_classes + ranks
    # A pad, -1, would be confused with the last class of the row above.
    return labelled, np.isin(ranked_pairs, true_pairs) & (ranks >= 0)


def true_pairs(outcome: Outcome) -> tuple[Rows, Rows]:
    """Return all pairs (row, true class), in the order of the rows."""
    truth = outcome.truth
    if isinstance(truth, np.ndarray):
        rows = np.flatnonzero(truth >= 0)
        return rows.astype(np.int64), truth[rows].astype(np.int64)
    rows, classes = truth.nonzero()
    order = np.argsort(rows, kind="stable")
    return rows[order].astype(np.int64), classes[order].astype(np.int64)


def first_ranked(outcome: Outcome) -> Rows:
    """Return the class ranked first in each row; -1 if nothing is ranked."""
    if outcome.ranks.shape[1] == 0:
        return np.full(len(outcome.ranks), -1, np.int64)
    return outcome.ranks[:, 0].astype(np.int64)
