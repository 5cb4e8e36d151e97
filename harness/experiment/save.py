"""Write an experiment as TOML: the file `experiment.toml` of a results folder, which `harness run` can read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from harness.experiment.load import RawTable
from harness.experiment.schema import NAME_PATTERN
from harness.records.record import Record, TrialNames
from harness.records.store import EXPERIMENT
from harness.syntax.expression import describe_params, write_value
from harness.trials.trial import Trial


def to_toml(raw: Mapping[str, Any]) -> str:
    """Return the experiment as TOML. Values that TOML cannot hold become comments with the flags that set them."""
    content, comments = dict(raw), ["# The experiment as it was requested. `harness run FILE` repeats it."]
    if "set" in raw:
        content["set"] = _parted(raw["set"], "--set", comments)
    if "params" in raw.get("tune", {}):
        params = _parted(raw["tune"]["params"], "--tune", comments)
        others = {key: value for key, value in raw["tune"].items() if key != "params"}
        content["tune"] = {**others, "params": params} if params else others
    for key, value in list(content.items()):
        if value == {}:
            del content[key]
        elif _written(value) is None:
            comments.append(f"# It also had {key} = {value!r}, which TOML cannot hold.")
            del content[key]
    return "\n".join(comments) + "\n" + tomli_w.dumps(content)


def _parted(table: Mapping[str, Mapping[str, Any]], flag: str, comments: list[str]) -> dict[str, dict[str, Any]]:
    """Return the values that TOML can hold, by learner or dataset; the others become comments."""
    fitting: dict[str, dict[str, Any]] = {}
    for target, values in table.items():
        for name, value in values.items():
            if _fits_toml(value):
                fitting.setdefault(target, {})[name] = value
            else:
                comments.append(f"# It also needs {flag} {target}.{name}={write_value(value)}")
    return fitting


def _fits_toml(value: Any) -> bool:
    """Return whether a value is unchanged after it was written as TOML and read again.

    None is not, since TOML has no null. A tuple becomes a list, which would be a grid.
    """
    text = _written(value)
    return text is not None and repr(tomllib.loads(text)["value"]) == repr(value)


def _written(value: Any) -> str | None:
    """Return a value as TOML; None if TOML cannot hold it."""
    try:
        return tomli_w.dumps({"value": value})
    except Exception:  # the writer raises several types
        return None


Named = tuple[str, ...]


def named_after(table: RawTable, folder: Path) -> RawTable:
    """Return the experiment with the folder's name, unless it has a name.

    A run of the saved file then finds the same results folder.
    """
    name = folder.resolve().name
    if "name" in table or not re.search(NAME_PATTERN, name):
        return table
    return {"name": name, **table}


def experiment_file(folder: Path, text: str, records: Iterable[Record], trials: Sequence[Trial]) -> Path:
    """Return the path of the file for the experiment of this run.

    The path is `experiment.toml` if the run covers all records of the folder. Otherwise `experiment.toml` is kept, and
    the path has a number: `experiment-2.toml`.
    """
    main_file = folder / EXPERIMENT
    if not main_file.exists() or _covers(trials, records):
        return main_file
    path, number = main_file, 1
    while path.exists() and path.read_bytes() != text.encode():
        number += 1
        path = main_file.with_stem(f"{main_file.stem}-{number}")
    return path


def write_experiment(table: RawTable, folder: Path) -> str:
    """Return the text of the experiment file for a results folder."""
    return to_toml(named_after(table, folder))


def _covers(trials: Iterable[Trial], records: Iterable[Record]) -> bool:
    """Return whether all records belong to planned trials. Keys are not compared, since they change with the code."""
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
