"""What a trial measures of a fitted learner: its index, rows one at a time, scores, and what its data lacked."""

from __future__ import annotations

import errno
import inspect
import math
import os
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from harness.abilities import HasIndexBytes, HasIndexSize, Learner
from harness.contract import Labels, Outcome
from harness.errors import ContractError
from harness.metric import MetricCall
from harness.signature import import_target
from harness.trials.ranking import force

SINGLE_ROWS, SINGLE_SECONDS = 1000, 10.0
"""How many rows are predicted one at a time, and for how long at most, where a metric asks for it."""


def check_files_left() -> None:
    """ContractError where a learner has used up the files that its process may open: no metric could be read."""
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
    """Non-zero weights and bytes of a fitted learner, and what they were read from."""

    size: int | None
    n_bytes: int | None
    size_source: str | None
    bytes_source: str | None


def measure_index(learner: Learner) -> IndexMeasure:
    """How large a fitted learner is, by its own word or else by what can be seen of it."""
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
    except Exception:  # not every learner can be serialised, and none has to
        return None, None


def time_single_rows(learner: Learner, X: Any) -> NDArray[np.float64]:
    """Wall seconds of predicting rows one at a time: rows spread over X, until there are enough or the time is up."""
    rows = np.unique(np.linspace(0, X.shape[0] - 1, num=min(SINGLE_ROWS, X.shape[0])).astype(np.int64))
    singles = [X[row : row + 1] for row in rows]  # cutting a row out is not the learner's work
    for warm in singles[:3]:
        force(learner.predict(warm))
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
    """Edges read per active feature for the k best classes of each row; None where the learner does not tell."""
    if not hasattr(learner, "edges_touched"):
        return None
    if "k" in inspect.signature(learner.edges_touched).parameters:
        return float(learner.edges_touched(X, k))
    return float(learner.edges_touched(X))


def count_unseen(y: Labels, counts: NDArray[np.int64]) -> int:
    """Test rows whose every class is new."""
    if issparse(y):
        return int(((y @ (counts > 0).astype(np.int64)) == 0).sum())
    return int((counts[y] == 0).sum())


def count_empty(X: Any) -> int:
    """Rows without a feature, or without text."""
    if issparse(X):
        return int((np.diff(X.indptr) == 0).sum())
    if X.ndim == 1:
        return int((X == "").sum())
    return int((~X.any(axis=1)).sum())


def count_features(X: Any) -> int | None:
    """Columns; None where rows are texts."""
    return int(X.shape[1]) if X.ndim > 1 else None


@dataclass(frozen=True)
class Scores:
    """Every metric's value, and of those that failed the reason."""

    values: dict[str, float | None] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)

    def tell_troubles(self) -> str:
        """The reasons in a line; nothing where no metric failed."""
        return "; ".join(f"metric {name!r} failed: {trouble}" for name, trouble in self.troubles.items())


def compute_scores(metrics: Iterable[MetricCall], outcome: Outcome) -> Scores:
    """Every metric's value; one that fails costs its own column only."""
    scores = Scores()
    for call in metrics:
        if outcome.known_depth is not None and call.depth > outcome.known_depth:
            scores.values[call.name] = None  # one label a row is no ranking of five
            continue
        try:
            scores.values[call.name] = _compute(call, outcome)
        except Exception as error:  # a metric is a plugin's code, and may fail in any way
            scores.values[call.name] = None
            scores.troubles[call.name] = f"{type(error).__name__}: {error}"
    return scores


def _compute(call: MetricCall, outcome: Outcome) -> float | None:
    value = import_target(call.compute)(outcome, **call.params)
    if value is None:
        return None
    score = float(value)
    if not math.isfinite(score):
        raise ValueError(f"it gave {score}")
    return score
