"""What a trial's learner trains on and what it is asked about: the data opened, split and represented."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.contract import Dataset, Labels, Taxonomy
from harness.data.arrays import open_dataset
from harness.data.represented import Represented, open_represented
from harness.errors import ContractError
from harness.split import Split
from harness.trials.represent import Parted, represent_data
from harness.trials.splitting import draw_split, part_data
from harness.trials.trial import Trial


@dataclass(frozen=True)
class TrainingPart:
    """Rows as a learner sees them, and their labels."""

    X: Any
    """A sparse matrix; where the learner wants them, a dense array or an array of texts."""
    y: Labels


@dataclass(frozen=True)
class Parts:
    """What the learner trains on and what it is asked about; for tuning, both are of the training rows."""

    train: TrainingPart
    test: TrainingPart
    n_classes: int
    taxonomy: Taxonomy | None
    represent_seconds: float = 0.0
    represent_cpu_seconds: float = 0.0

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
    """Open the data, split it, and have both parts represented, unless that was done for all learners before."""
    data = open_dataset(Path(trial.data_folder))
    parted = part_data(trial.split, data, trial.seed)
    kept = open_represented(Path(trial.represented_folder)) if trial.represented_folder else None
    return _prepared(trial, data, parted, kept or represent_data(trial.representing, data, parted))


def load_validation_parts(trial: Trial, split: Split) -> Parts:
    """The training rows alone, parted once more: what tuning trains on and what it judges by. No test row is in it."""
    data = open_dataset(Path(trial.data_folder))
    train, _ = part_data(trial.split, data, trial.seed)
    fitted, judging = draw_split(split, len(train), trial.seed, {})
    parted = train[fitted], train[judging]
    return _prepared(trial, data, parted, represent_data(trial.representing, data, parted))


def _prepared(trial: Trial, data: Dataset, parted: Parted, seen: Represented) -> Parts:
    train, test = parted
    X_train, X_test = seen.train, seen.test
    if trial.wants_dense and trial.representing.blueprint is not None:
        X_train, X_test = X_train.toarray(), X_test.toarray()
    return Parts(
        TrainingPart(X_train, data.y[train]),
        TrainingPart(X_test, data.y[test]),
        len(data.class_names),
        data.taxonomy,
        seen.seconds,
        seen.cpu_seconds,
    )


def checksum(value: Any) -> int:
    """A checksum of an array or sparse matrix: did the learner leave it alone?"""
    if issparse(value):
        value = csr_array(value)
        return zlib.crc32(value.indptr, zlib.crc32(value.indices, zlib.crc32(value.data)))
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return zlib.crc32("\0".join(value).encode("utf-8", "surrogatepass"))
    return zlib.crc32(np.ascontiguousarray(value).data)
