"""What is asked for, before it is read: an experiment by file or name, and what is laid over it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from harness.catalog import Catalog
from harness.errors import SpecError, UnknownName
from harness.experiment.building import RawTable, read_file
from harness.experiment.learner_groups import expand_groups, without_absent

NOTHING = "nothing to run: give --learners (`harness list learners`) or an experiment file"


@dataclass(frozen=True, kw_only=True)
class Request:
    """An experiment file or a registered experiment, if any, and what is said beside it."""

    experiment: str | Mapping[str, Any] | None = None
    """A file's path, a registered name, or the content of such a file."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Keys of an experiment file, each in the place of what the file has."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameters by learner or data set, laid over the file's own `set` table."""
    tune: Mapping[str, Any] = field(default_factory=dict)
    """Parameters to tune by learner, laid over the file's own; and `representation`, a list to choose from."""
    asker: str = "command line"
    """What errors call the part that is not from a file."""


@dataclass(frozen=True)
class RawExperiment:
    """An experiment as one raw table, and what errors call it."""

    table: RawTable
    source: str


def read_request(request: Request, catalog: Catalog) -> RawExperiment:
    """The file or registered experiment, if any, with what was given laid over it."""
    raw: RawTable = {}
    source = request.asker
    if isinstance(request.experiment, Mapping):
        raw = deepcopy(dict(request.experiment))  # what is laid over it is not the caller's
    elif request.experiment is not None:
        path = experiment_path(request.experiment, catalog)
        raw = without_absent(read_file(path), catalog)
        laid_over = request.given or request.settings or request.tune
        source = f"{path} and {request.asker}" if laid_over else str(path)
    elif not request.given.get("learners"):
        raise SpecError(NOTHING)
    raw |= request.given
    if "learners" in raw:
        raw["learners"] = expand_groups(raw["learners"], catalog)
    for target, values in request.settings.items():
        _table_at(raw, source, "set", target).update(values)
    for target, values in request.tune.items():
        if target == "representation":
            _table_at(raw, source, "tune")[target] = values
        else:
            _table_at(raw, source, "tune", "params", target).update(values)
    return RawExperiment(raw, source)


def _table_at(raw: RawTable, source: str, *keys: str) -> RawTable:
    """The table that stands at this place, an empty one where there is none; SpecError where it is no table."""
    table = raw
    for key in keys:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise SpecError(f"{source}: {keys[0]}: expected tables of parameters, one a learner or data set")
    return table


def experiment_path(name: str, catalog: Catalog) -> Path:
    """The file of an experiment: the one named, or that of a registered one."""
    path = Path(name)
    if path.suffix == ".toml" or os.path.exists(path):
        return path
    try:
        entry = catalog.experiment(name)
    except UnknownName as error:
        raise UnknownName(f"{error}; a file's name ends in .toml") from None
    try:
        return resource_path(entry.spec.resource)
    except ImportError as error:
        raise SpecError(f"experiment {name!r} of {entry.origin}: {error}") from error


def resource_path(resource: str) -> Path:
    """The file that "package:folder/file" names."""
    package, _, file = resource.partition(":")
    return Path(str(resources.files(package) / file))


def published_path(name: str, catalog: Catalog) -> Path | None:
    """The file of published numbers of a registered experiment, where it has one."""
    for entry in catalog.experiments:
        if entry.spec.name == name and entry.spec.published:
            return resource_path(entry.spec.published)
    return None
