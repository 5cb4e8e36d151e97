"""Measurements of a fitted learner: the size of its index, the edges that it reads, and the times of single rows."""

from __future__ import annotations

import errno
import inspect
import os
import pickle
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from harness.errors import ContractError
from harness.host.contract import HasIndexBytes, HasIndexSize, Learner
from harness.trials.predict import force

WARM_ROWS = 3
SINGLE_ROWS, SINGLE_SECONDS = 1000, 10.0
"""Limits for predicting rows one at a time: the number of rows, and the time in seconds."""


def check_files_left() -> None:
    """Raise ContractError if the learner has reached the limit of open files: measuring it needs some."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise ContractError(
                "the learner left no file that its process may still open: close what you open"
            ) from error
        raise


@dataclass(frozen=True)
class IndexMeasure:
    """The size of a fitted learner: its non-zero weights and bytes, and the attribute that each comes from."""

    size: int | None
    n_bytes: int | None
    size_source: str | None
    bytes_source: str | None


def measure_index(learner: Learner) -> IndexMeasure:
    """Return the size of a fitted learner.

    The weights are `index_size_`, or the non-zero values of `coef_`. The bytes are `index_bytes_`, or the length of the
    learner's pickle. A size is None if the learner has neither.

    Parameters
    ----------
    learner : Learner
        A fitted learner.
    """
    size, size_source = _count_weights(learner)
    n_bytes, bytes_source = _count_bytes(learner)
    return IndexMeasure(size, n_bytes, size_source, bytes_source)


def _count_weights(learner: Learner) -> tuple[int | None, str | None]:
    if isinstance(learner, HasIndexSize):
        return int(learner.index_size_), "index_size_"
    coefficients: Any = getattr(learner, "coef_", None)
    if issparse(coefficients):
        return int(coefficients.nnz), "coef_"
    if isinstance(coefficients, np.ndarray):
        return int(np.count_nonzero(coefficients)), "coef_"
    return None, None


def _count_bytes(learner: Learner) -> tuple[int | None, str | None]:
    if isinstance(learner, HasIndexBytes):
        return int(learner.index_bytes_), "index_bytes_"
    try:
        return len(pickle.dumps(learner, protocol=5)), "pickle"
    except Exception:  # a learner need not be serialisable
        return None, None


def time_single_rows(learner: Learner, X: Any, rows: NDArray[np.int64], X_warm: Any) -> NDArray[np.float64]:
    """Return the wall seconds of predicting rows one at a time, until `SINGLE_SECONDS` have passed.

    Parameters
    ----------
    learner : Learner
        The fitted learner.
    X : array or sparse matrix
        The test rows.
    rows : array of int
        Positions in X of rows that the learner has not predicted before.
    X_warm : array or sparse matrix
        Other rows. The first few of them are predicted before the timed rows and not timed.
    """
    singles = [X[row : row + 1] for row in rows]  # slicing is not the learner's work
    for row in range(min(WARM_ROWS, X_warm.shape[0])):
        force(learner.predict(X_warm[row : row + 1]))
    seconds = []
    deadline = perf_counter() + SINGLE_SECONDS
    for single in singles:
        start = perf_counter()
        force(learner.predict(single))
        end = perf_counter()
        seconds.append(end - start)
        if end > deadline:
            break
    return np.array(seconds, np.float64)


def count_edges(learner: Any, X: Any, k: int) -> float | None:
    """Return the edges that the learner reads per active feature to find the k best classes.

    None if the learner has no method `edges_touched`.

    Parameters
    ----------
    learner : object
        A fitted learner.
    X : object
        Test rows in the form that the learner takes.
    k : int
        Number of classes to find for each row.
    """
    if not hasattr(learner, "edges_touched"):
        return None
    if "k" in inspect.signature(learner.edges_touched).parameters:
        return float(learner.edges_touched(X, k))
    return float(learner.edges_touched(X))


def count_empty(X: Any) -> int:
    """Return the number of rows without a feature, or without text."""
    if issparse(X):
        return int((np.diff(X.indptr) == 0).sum())
    if X.ndim == 1:
        return int((X == "").sum())
    return int((~X.any(axis=1)).sum())


def count_features(X: Any) -> int | None:
    """Return the number of columns; None for texts."""
    return int(X.shape[1]) if X.ndim > 1 else None
