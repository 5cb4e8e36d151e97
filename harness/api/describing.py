"""What a results folder says of how it was made: `experiment.toml`, which a smaller run must not make smaller."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.experiment.building import RawTable
from harness.experiment.schema import NAME_PATTERN
from harness.experiment.writing import to_toml
from harness.params import describe_params
from harness.record import Record, TrialNames
from harness.store import EXPERIMENT
from harness.trials.trial import Trial

Named = tuple[str, ...]


def named_after(table: RawTable, folder: Path) -> RawTable:
    """The experiment under the name of its folder, unless it has one: run again by its file, it finds the folder."""
    name = folder.resolve().name
    if "name" in table or not re.search(NAME_PATTERN, name):
        return table
    return {"name": name, **table}


def experiment_file(folder: Path, text: str, records: Iterable[Record], trials: Sequence[Trial]) -> Path:
    """Where to write down what is asked for now.

    That is `experiment.toml` where the run covers all that is in the folder. Where it does not, the grids, settings and
    tuning that the other records came from stay there, and the new text gets a file with a number.
    """
    whole = folder / EXPERIMENT
    if not whole.exists() or _covers(trials, records):
        return whole
    path, number = whole, 1
    while path.exists() and path.read_bytes() != text.encode():
        number += 1
        path = whole.with_stem(f"{whole.stem}-{number}")
    return path


def write_experiment(table: RawTable, folder: Path) -> str:
    """What was asked for, as the file that `harness run` takes."""
    return to_toml(named_after(table, folder))


def _covers(trials: Iterable[Trial], records: Iterable[Record]) -> bool:
    """Whether all that was run is among what is planned; code that was edited since makes no difference."""
    return {_names_of(record) for record in records} <= {_names_of(trial) for trial in trials}


def _names_of(trial: TrialNames) -> Named:
    return (
        trial.label,
        describe_params(trial.params),
        trial.dataset,
        describe_params(trial.dataset_params),
        trial.representation,
        str(trial.split),
        str(trial.seed),
        trial.to_tune,
    )
