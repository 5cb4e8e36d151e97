"""Cost of a trial: time, memory, size of the index. None if the trial did not measure it."""

from __future__ import annotations

import numpy as np

from harness import Outcome


def train(outcome: Outcome) -> float:
    """Seconds that fit took by the clock."""
    return outcome.fit_seconds


def train_cpu(outcome: Outcome) -> float:
    """Seconds of processor time that fit used."""
    return outcome.fit_cpu_seconds


def predict(outcome: Outcome) -> float | None:
    """Seconds a row of naming one class for each test row; None without test rows."""
    n_rows = len(outcome.ranks)
    if outcome.predict_seconds is None or not n_rows:
        return None
    return outcome.predict_seconds / n_rows


def rank(outcome: Outcome) -> float | None:
    """Seconds a row of ranking the test rows; None without test rows, and for points of a curve."""
    n_rows = len(outcome.ranks)
    if outcome.rank_seconds is None or not n_rows:
        return None
    return outcome.rank_seconds / n_rows


def index(outcome: Outcome) -> int | None:
    """The number of stored non-zero weights."""
    return outcome.index_size


def index_bytes(outcome: Outcome) -> int | None:
    """The bytes that the fitted index takes."""
    return outcome.index_bytes


def edges(outcome: Outcome) -> float | None:
    """Edges read per active feature for one class a row."""
    return outcome.edges_per_feature


def rank_edges(outcome: Outcome) -> float | None:
    """Edges read per active feature for the ranking."""
    return outcome.rank_edges_per_feature


def peak(outcome: Outcome) -> int | None:
    """The most bytes that the trial's process held during fit."""
    return outcome.peak_bytes


def rows_per_second(outcome: Outcome) -> float | None:
    """Training rows by the second of fit; None where fit took no time that the clock could see."""
    return outcome.n_train / outcome.fit_seconds if outcome.fit_seconds > 0 else None


def predict_one(outcome: Outcome) -> float | None:
    """The median of the seconds that naming the class of one row, alone, took."""
    return None if outcome.single_seconds is None else float(np.median(outcome.single_seconds))


def predict_one_p99(outcome: Outcome) -> float | None:
    """The 99th percentile of the seconds that naming the class of one row, alone, took: a value that was measured."""
    if outcome.single_seconds is None:
        return None
    return float(np.percentile(outcome.single_seconds, 99, method="higher"))
