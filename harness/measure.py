"""What a trial measures of a fitted learner: index, memory, scores, and whether it left its data alone."""

from __future__ import annotations

import math
import pickle
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.contract import HasIndexBytes, HasIndexSize, Outcome
from harness.signature import import_target


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
            value = import_target(target)(outcome)
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
