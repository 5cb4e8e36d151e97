"""What the host expects of a registered experiment: a file that can be read, and names that are there."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from harness.checks.check import NotApplicable
from harness.contract import ExperimentSpec
from harness.experiment.building import build, read_file
from harness.experiment.resolve import resolve
from harness.experiment.schema import Experiment
from harness.host import discover
from harness.tables.published import read_published


def _file(resource: str) -> Path:
    package, _, file = resource.partition(":")
    return Path(str(resources.files(package) / file))


def _experiment(spec: ExperimentSpec) -> Experiment:
    path = _file(spec.resource)
    return build(read_file(path), str(path), discover())


def check_its_file_is_an_experiment(spec: ExperimentSpec) -> None:
    _experiment(spec)


def check_everything_that_it_names_is_there(spec: ExperimentSpec) -> None:
    resolve(_experiment(spec), discover())


def check_its_published_numbers_can_be_read(spec: ExperimentSpec) -> None:
    if not spec.published:
        raise NotApplicable("has no published numbers")
    read_published(_file(spec.published))
