"""What the wrappers of other tools share: rows and labels as arrays, a staged form of them, a class from a ranking."""

from __future__ import annotations

import ctypes
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin

from harness.sdk.kernels.instances import Labels, canonical_rows
from harness.sdk.labels import as_labels, name_labels

MOST_SCORES = 4_000_000
"""Held at once."""


@dataclass(frozen=True)
class Staged:
    """Training rows in the form that a tool learns from."""

    classes: NDArray[Any]
    n_features: int
    rows: Any


class Peer(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A tool that learns from a form of its own: it supplies `_convert`, `_train` and `predict`."""

    classes_: NDArray[Any]
    n_features_in_: int

    @abstractmethod
    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        """The rows and their labels, by position, as the tool takes them."""

    @abstractmethod
    def _train(self, rows: Any) -> None:
        """Learn from what `_convert` gave."""

    def stage(self, X: Any, y: Any) -> Staged:
        """The training rows as the tool takes them; nothing is learned yet."""
        rows = rows_of(X)
        starts, names, classes = name_labels(y if hasattr(y, "tocsr") else np.asarray(y))
        labels = as_labels(starts, names, classes)
        return Staged(classes, rows.shape[1], self._convert(rows, labels, classes.size))

    def fit(self, X: Any, y: Any, *, staged: Staged | None = None) -> Self:
        """Learn from the rows, or from what `stage` made of them."""
        ready = self.stage(X, y) if staged is None else staged
        self.classes_, self.n_features_in_ = ready.classes, ready.n_features
        self._train(ready.rows)
        return self


class RankingPeer(Peer):
    """A tool that gives the best classes of a row."""

    @abstractmethod
    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first; -1 pads."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The best class of each row; that of position 0 where the tool ranks none."""
        best = self.rank(X, 1)[:, 0]
        return self.classes_[np.maximum(best, 0)]


class ScoringPeer(Peer):
    """A tool that scores every class, of which the host makes a ranking."""

    @abstractmethod
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Rows x classes."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of highest score of each row."""
        rows = rows_of(X)
        step = max(1, MOST_SCORES // self.classes_.size)
        best = [np.empty(0, np.int64)]
        for start in range(0, rows.shape[0], step):
            best.append(self.decision_function(rows[start : start + step]).argmax(axis=1))
        return self.classes_[np.concatenate(best)]


def rows_of(X: Any) -> csr_array:
    """Rows of 32-bit values and indices, each feature once and in order."""
    rows = canonical_rows(csr_array(X, dtype=np.float32))
    return csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr), shape=rows.shape)


def ranks_of(found: Sequence[Sequence[int]], k: int) -> NDArray[np.int32]:
    """Positions that a tool gives as a list for each row, as rows of k; -1 pads."""
    ranks = np.full((len(found), k), -1, np.int32)
    for row, positions in enumerate(found):
        ranks[row, : len(positions)] = positions[:k]
    return ranks


def seed_c(random_state: int | None) -> None:
    """Seed the chance that code in C shares, which LIBLINEAR draws from, whoever has it inside."""
    if random_state is not None:
        ctypes.CDLL(None).srand(ctypes.c_uint(random_state))


def bytes_saved(save: Callable[[str], object]) -> int:
    """The bytes of all files that a tool writes of its model, given a path that is not there yet."""
    with tempfile.TemporaryDirectory() as folder:
        save(os.path.join(folder, "model"))
        return bytes_in(folder)


def bytes_in(folder: str) -> int:
    """The bytes of all files below a folder."""
    n_bytes = 0
    for place, _, files in os.walk(folder):
        n_bytes += sum(os.path.getsize(os.path.join(place, file)) for file in files)
    return n_bytes
