"""What a trial's learner trains on and what it is asked about: the data opened, split and represented."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.contract import Labels, Taxonomy
from harness.data.arrays import open_dataset
from harness.errors import ContractError
from harness.split import Split
from harness.trials.represent import represent
from harness.trials.splitting import draw_split
from harness.trials.trial import Trial


@dataclass(frozen=True)
class TrainingPart:
    """Rows as a learner sees them, and their labels."""

    X: Any
    """A sparse matrix, or a dense array where the learner wants one."""
    y: Labels


@dataclass(frozen=True)
class Parts:
    """What the learner trains on and what it is asked about; for tuning, both are of the training rows."""

    train: TrainingPart
    test: TrainingPart
    n_classes: int
    taxonomy: Taxonomy | None

    def checksums(self) -> dict[str, int]:
        """The checksum of each thing that the learner is given."""
        given = {"the training X": self.train.X, "y": self.train.y, "the test X": self.test.X}
        return {name: checksum(value) for name, value in given.items()}

    def check_unchanged(self, before: dict[str, int]) -> None:
        """ContractError names what the learner has changed."""
        for name, now in self.checksums().items():
            if now != before[name]:
                raise ContractError(f"the learner changed {name} that it was given; it must work on a copy")


def load_parts(trial: Trial) -> Parts:
    """Open the data, split it, represent both parts."""
    data = open_dataset(Path(trial.data_folder))
    train, test = draw_split(trial.split, data.X.shape[0], trial.seed, data.splits, data.y)
    return _prepared(trial, data.X, data.y, (train, test), len(data.class_names), data.taxonomy)


def load_validation_parts(trial: Trial, split: Split) -> Parts:
    """The training rows alone, parted once more: what tuning trains on and what it judges by. No test row is in it."""
    data = open_dataset(Path(trial.data_folder))
    train, _ = draw_split(trial.split, data.X.shape[0], trial.seed, data.splits, data.y)
    X, y = data.X[train], data.y[train]
    return _prepared(trial, X, y, draw_split(split, X.shape[0], trial.seed, {}), len(data.class_names), data.taxonomy)


def _prepared(
    trial: Trial,
    X: csr_array,
    y: Labels,
    rows: tuple[np.ndarray, np.ndarray],
    n_classes: int,
    taxonomy: Taxonomy | None,
) -> Parts:
    train, test = rows
    X_train, X_test = represent(trial.representation, X[train], X[test])
    if trial.wants_dense:
        X_train, X_test = X_train.toarray(), X_test.toarray()
    return Parts(TrainingPart(X_train, y[train]), TrainingPart(X_test, y[test]), n_classes, taxonomy)


def checksum(value: Any) -> int:
    """A checksum of an array or sparse matrix: did the learner leave it alone?"""
    if issparse(value):
        value = csr_array(value)
        return zlib.crc32(value.indptr, zlib.crc32(value.indices, zlib.crc32(value.data)))
    return zlib.crc32(np.ascontiguousarray(value).data)
