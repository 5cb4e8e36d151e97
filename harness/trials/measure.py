"""What a trial measures of a fitted learner: time, index, memory, scores, and whether it left its data alone."""

from __future__ import annotations

import math
import pickle
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.contract import HasIndexBytes, HasIndexSize, Outcome
from harness.expression import parse
from harness.signature import import_target
from harness.trials.ranking import rank_positions

SINGLE_ROWS, SINGLE_SECONDS = 1000, 10.0
"""How many rows are ranked one at a time, and for how long at most, where a metric asks for it."""


@dataclass
class Clock:
    """Wall and processor seconds of one stretch, without those of the pauses in it."""

    wall: float = 0.0
    cpu: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        self.wall, self.cpu = self.wall - time.perf_counter(), self.cpu - time.process_time()
        yield
        self.wall, self.cpu = self.wall + time.perf_counter(), self.cpu + time.process_time()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside `running`: what happens here does not count, and the clock can be read meanwhile."""
        self.wall, self.cpu = self.wall + time.perf_counter(), self.cpu + time.process_time()
        try:
            yield
        finally:
            self.wall, self.cpu = self.wall - time.perf_counter(), self.cpu - time.process_time()


def checksum(value: Any) -> int:
    """A checksum of an array or sparse matrix: did the learner leave it alone?"""
    if issparse(value):
        value = csr_array(value)
        return zlib.crc32(value.indptr, zlib.crc32(value.indices, zlib.crc32(value.data)))
    return zlib.crc32(np.ascontiguousarray(value).data)


def measure_index(learner: Any) -> tuple[int | None, int | None, str]:
    """Non-zero weights and bytes of the fitted learner, and what they were read from."""
    coefficients = getattr(learner, "coef_", None)
    if isinstance(learner, HasIndexSize):
        size, source = int(learner.index_size_), "index_size_"
    elif coefficients is not None and (issparse(coefficients) or isinstance(coefficients, np.ndarray)):
        size, source = int(coefficients.nnz if issparse(coefficients) else np.count_nonzero(coefficients)), "coef_"
    else:
        return None, _bytes_of(learner), "pickle"
    return size, _bytes_of(learner), source


def _bytes_of(learner: Any) -> int | None:
    if isinstance(learner, HasIndexBytes):
        return int(learner.index_bytes_)
    try:
        return len(pickle.dumps(learner, protocol=5))
    except Exception:  # not every learner can be serialised, and none has to
        return None


def time_single_rows(learner: Any, X: Any, k: int) -> np.ndarray:
    """Wall seconds of ranking rows one at a time: rows spread over X, until there are enough or the time is up."""
    rows = np.unique(np.linspace(0, X.shape[0] - 1, num=min(SINGLE_ROWS, X.shape[0])).astype(np.int64))
    singles = [X[row : row + 1] for row in rows]  # cutting a row out is not the learner's work
    for warm in singles[:3]:
        rank_positions(learner, warm, k)
    seconds, deadline = [], time.perf_counter() + SINGLE_SECONDS
    for single in singles:
        start = time.perf_counter()
        rank_positions(learner, single, k)
        end = time.perf_counter()
        seconds.append(end - start)
        if end > deadline:
            break
    return np.array(seconds, np.float64)


def class_counts(y: Any, classes: int) -> np.ndarray:
    """Training rows of each class."""
    return np.bincount(y.indices if issparse(y) else y, minlength=classes)


def count_unseen(y: Any, counts: np.ndarray) -> int:
    """Test rows whose every class is new."""
    if issparse(y):
        return int(((y @ (counts > 0).astype(np.int64)) == 0).sum())
    return int((counts[y] == 0).sum())


def count_empty(X: Any) -> int:
    """Rows without a feature."""
    return int((np.diff(X.indptr) == 0).sum()) if issparse(X) else int((~X.any(axis=1)).sum())


def compute_scores(metrics: dict[str, str], outcome: Outcome) -> tuple[dict[str, float | None], str]:
    """Every metric's value; one that fails costs its own column only."""
    scores: dict[str, float | None] = {}
    trouble = []
    for name, target in metrics.items():
        try:
            call = parse(target)  # "module:function", or with parameters "module:function(k=3)"
            value = import_target(call.name)(outcome, **call.params)
            score = None if value is None else float(value)
            if score is not None and not math.isfinite(score):
                raise ValueError(f"it gave {score}")
            scores[name] = score
        except Exception as error:
            scores[name] = None
            trouble.append(f"metric {name!r} failed: {type(error).__name__}: {error}")
    return scores, "; ".join(trouble)


def reset_peak() -> int | None:
    """Reset this process's high-water mark of resident memory, and give the level now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return read_peak()


def read_peak() -> int | None:
    """VmHWM of this process: never ru_maxrss, which a forked child inherits."""
    try:
        match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None
