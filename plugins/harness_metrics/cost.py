"""Cost of a trial: time, memory, size of the index. None if the trial did not measure it."""

from __future__ import annotations

import numpy as np

from harness import Outcome


def train(outcome: Outcome) -> float:
    """Return the wall time of training in seconds."""
    return outcome.fit_seconds


def train_cpu(outcome: Outcome) -> float:
    """Return the CPU time of training in seconds."""
    return outcome.fit_cpu_seconds


def predict(outcome: Outcome) -> float | None:
    """Return the seconds per row to predict one class for each test row; None without test rows."""
    n_rows = len(outcome.ranks)
    if outcome.predict_seconds is None or not n_rows:
        return None
    return outcome.predict_seconds / n_rows


def rank(outcome: Outcome) -> float | None:
    """Return the seconds per row to rank the classes of each test row; None without test rows, and in curves."""
    n_rows = len(outcome.ranks)
    if outcome.rank_seconds is None or not n_rows:
        return None
    return outcome.rank_seconds / n_rows


def index(outcome: Outcome) -> int | None:
    """Return the number of stored non-zero weights."""
    return outcome.index_size


def index_bytes(outcome: Outcome) -> int | None:
    """Return the bytes of the fitted index."""
    return outcome.index_bytes


def edges(outcome: Outcome) -> float | None:
    """Return the edges read per active feature to predict one class per row."""
    return outcome.edges_per_feature


def rank_edges(outcome: Outcome) -> float | None:
    """Return the edges read per active feature to rank classes."""
    return outcome.rank_edges_per_feature


def peak(outcome: Outcome) -> int | None:
    """Return the peak memory of the trial's process during training, in bytes."""
    return outcome.peak_bytes


def rows_per_second(outcome: Outcome) -> float | None:
    """Return the training rows per second of training; None if training was too fast to measure."""
    return outcome.n_train / outcome.fit_seconds if outcome.fit_seconds > 0 else None


def predict_one(outcome: Outcome) -> float | None:
    """Return the median time to predict the class of a single row, in seconds."""
    return None if outcome.single_seconds is None else float(np.median(outcome.single_seconds))


def predict_one_p99(outcome: Outcome) -> float | None:
    """Return the 99th percentile of the time to predict a single row, in seconds: one of the measured values."""
    if outcome.single_seconds is None:
        return None
    return float(np.percentile(outcome.single_seconds, 99, method="higher"))
