"""Cost of a trial: time, memory, size of the index. None if the trial did not measure it."""

from __future__ import annotations

import numpy as np

from harness import Outcome


def train(outcome: Outcome) -> float:
    """Return the wall time of training in seconds.

    Formula
    -------
    train = wall time of fit

    When to use
    -----------
    To compare learners by the time that a user waits.
    """
    return outcome.fit_seconds


def train_cpu(outcome: Outcome) -> float:
    """Return the CPU time of training in seconds.

    Formula
    -------
    train CPU = CPU time of fit, summed over threads

    When to use
    -----------
    To compare learners that use several threads.
    """
    return outcome.fit_cpu_seconds


def predict(outcome: Outcome) -> float | None:
    """Return the seconds per row to predict one class for each test row; None without test rows.

    Formula
    -------
    per prediction = wall time of predict / test rows

    When to use
    -----------
    For files of many rows, which are predicted together.
    """
    n_rows = len(outcome.ranks)
    if outcome.predict_seconds is None or not n_rows:
        return None
    return outcome.predict_seconds / n_rows


def rank(outcome: Outcome) -> float | None:
    """Return the seconds per row to rank the classes of each test row; None without test rows, and in curves.

    Formula
    -------
    per ranking = wall time of ranking / test rows

    When to use
    -----------
    Where users need several proposals for each row.
    """
    n_rows = len(outcome.ranks)
    if outcome.rank_seconds is None or not n_rows:
        return None
    return outcome.rank_seconds / n_rows


def index(outcome: Outcome) -> int | None:
    """Return the number of stored non-zero weights.

    Formula
    -------
    |I| = weights that are not 0

    When to use
    -----------
    To compare the size of models regardless of how they are stored.
    """
    return outcome.index_size


def index_bytes(outcome: Outcome) -> int | None:
    """Return the bytes of the fitted index.

    Formula
    -------
    index bytes = bytes of the fitted index

    When to use
    -----------
    To see whether a model fits into memory.
    """
    return outcome.index_bytes


def edges(outcome: Outcome) -> float | None:
    """Return the edges read per active feature to predict one class per row.

    Formula
    -------
    e = weights read / active features of the row, while predicting

    When to use
    -----------
    To compare work per prediction regardless of the machine.
    """
    return outcome.edges_per_feature


def rank_edges(outcome: Outcome) -> float | None:
    """Return the edges read per active feature to rank classes.

    Formula
    -------
    e = weights read / active features of the row, while ranking

    When to use
    -----------
    To compare work per ranking regardless of the machine.
    """
    return outcome.rank_edges_per_feature


def peak(outcome: Outcome) -> int | None:
    """Return the peak memory of the trial's process during training, in bytes.

    Formula
    -------
    peak memory = most resident memory of the process

    When to use
    -----------
    To choose a machine for training.
    """
    return outcome.peak_bytes


def rows_per_second(outcome: Outcome) -> float | None:
    """Return the training rows per second of training; None if training was too fast to measure.

    Formula
    -------
    rows/s = training rows / wall time of fit

    When to use
    -----------
    To compare training on datasets of different size.
    """
    return outcome.n_train / outcome.fit_seconds if outcome.fit_seconds > 0 else None


def predict_one(outcome: Outcome) -> float | None:
    """Return the median time to predict the class of a single row, in seconds.

    Formula
    -------
    one prediction = median of the wall times of single rows

    When to use
    -----------
    For a service that gets one row at a time.
    """
    return None if outcome.single_seconds is None else float(np.median(outcome.single_seconds))


def predict_one_p99(outcome: Outcome) -> float | None:
    """Return the 99th percentile of the time to predict a single row, in seconds: one of the measured values.

    Formula
    -------
    one prediction, 99% = 99th percentile of the wall times of single rows

    When to use
    -----------
    For a service with a bound on the slowest answers.
    """
    if outcome.single_seconds is None:
        return None
    return float(np.percentile(outcome.single_seconds, 99, method="higher"))
