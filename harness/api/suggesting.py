"""Learners proposed for data, from the comparisons that plugins bring: what `harness suggest` does."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from harness.api.given_data import describe_data
from harness.api.preparing import preparer
from harness.api.request import resource_path
from harness.api.session import Session, make_session
from harness.catalog import Catalog
from harness.choosing import UNLIKE, Cost, Facts, Measurement, Proposal, distance, nearest_datasets, propose
from harness.contract import LearnerSpec
from harness.data.arrays import Header
from harness.environments.environment import State, environment_for
from harness.errors import HarnessError, SpecError
from harness.experiment.dataset_ref import parse_dataset
from harness.experiment.resolve import resolve_dataset
from harness.expression import parse

TRIALS = 3
"""What the command asks for: enough to see a spread."""
SEVERAL = "several"
"""What a file of measurements says of data with more than one label a row."""
REPRESENTATIONS = ("words", "chars")
"""What texts are tried as, as they were in the comparison."""


@dataclass(frozen=True)
class Suggestions:
    """What is known of the data, which measured data is most like it, and who is worth a trial."""

    data: str
    facts: Facts
    nearest: tuple[str, ...]
    apart: float
    """How unlike the nearest of them is."""
    proposals: tuple[Proposal, ...]
    to_build: tuple[str, ...] = ()
    """Those proposed whose packages are not installed yet: `command` does that first, or `harness env build`."""

    @property
    def is_guess(self) -> bool:
        """Whether nothing that was measured is much like the data."""
        return self.apart > UNLIKE

    @property
    def command(self) -> str:
        """What tries them, with the parameters that were chosen on the data most like theirs."""
        learners = ",".join(proposal.expression for proposal in self.proposals)
        command = f'harness run --learners "{learners}" --data "{self.data}" --trials {TRIALS}'
        if self.facts.letters is None:
            return command
        return f'{command} --tune "representation=[{",".join(REPRESENTATIONS)}]"'

    @property
    def command_seconds(self) -> float:
        """What all trainings of the command are expected to take: of texts each representation, and then the better."""
        trainings = TRIALS if self.facts.letters is None else TRIALS * (len(REPRESENTATIONS) + 1)
        return trainings * sum(proposal.train_seconds for proposal in self.proposals)


def suggest(
    data: Any,
    *,
    text: str | None = None,
    label: str | None = None,
    plugins_dirs: Iterable[str | PathLike[str]] = (),
    disabled_plugins: Iterable[str] = (),
) -> Suggestions:
    """Three learners for one data set, which is one of what `harness.run` takes."""
    described = describe_data(data, text=text, label=label)
    names = [described] if isinstance(described, str) else described
    if len(names) != 1:
        raise SpecError(f"learners are suggested for one data set at a time, and {len(names)} were given")
    return suggest_for(names[0], make_session(plugins_dirs, disabled_plugins))


def suggest_for(data: str, session: Session) -> Suggestions:
    """Three learners for a data set as it is written."""
    header = preparer(session)(resolve_dataset(parse_dataset(data), session.catalog))
    able = {entry.spec.name for entry in session.catalog.learners if _can_take(entry.spec, header)}
    able -= {name for name in able if _state(name, session.catalog) == "cannot"}
    measured = [one for one in read_measured(session.catalog) if parse(one.learner).name in able]
    if not measured:
        raise HarnessError("no installed plugin brings measurements of learners that can take this data")
    facts = facts_of(header)
    proposals = tuple(propose(facts, measured))
    nearest = nearest_datasets(facts, measured)
    apart = next(distance(facts, one.facts) for one in measured if one.dataset == nearest[0])
    names = [parse(proposal.learner).name for proposal in proposals]
    to_build = tuple(name for name in names if _state(name, session.catalog) == "can be built")
    return Suggestions(data, facts, tuple(nearest), apart, proposals, to_build)


def facts_of(header: Header) -> Facts:
    """What is known of a data set before anything is trained on it."""
    return Facts(
        rows=header.rows,
        classes=header.classes,
        features_a_row=None if header.nonzeros is None else header.nonzeros / header.rows,
        letters=None if header.text_bytes is None else header.text_bytes / header.rows,
        multilabel=header.multilabel,
    )


def _can_take(spec: LearnerSpec, header: Header) -> bool:
    """Whether the learner can run on the data at all, as far as that is known beforehand."""
    if header.multilabel and "multilabel" not in spec.supports:
        return False
    if "taxonomy" in spec.needs and header.taxonomy_depth is None:
        return False
    return not ("nonnegative" in spec.needs and header.negative)


def _state(name: str, catalog: Catalog) -> State:
    """How far the learner is from running here."""
    environment = environment_for(catalog.learner(name).spec.environment)
    return "ready" if environment is None else environment.state()[0]


def read_measured(catalog: Catalog) -> list[Measurement]:
    """What was measured in every registered experiment that brings a file of it."""
    measured: list[Measurement] = []
    for entry in catalog.experiments:
        if entry.spec.measured:
            measured += read_measurements(resource_path(entry.spec.measured))
    return measured


def read_measurements(path: Path) -> list[Measurement]:
    """The measurements in a file, a line each."""
    with path.open(encoding="utf-8", newline="") as file:
        return [_measurement(row) for row in csv.DictReader(file)]


def _measurement(row: Mapping[str, str]) -> Measurement:
    facts = Facts(
        rows=int(row["rows"]),
        classes=int(row["classes"]),
        features_a_row=float(row["features_a_row"]) if row["features_a_row"] else None,
        letters=float(row["letters"]) if row["letters"] else None,
        multilabel=row.get("labels") == SEVERAL,
    )
    cost = None
    if row["r1"]:  # whoever failed has none
        cost = Cost(float(row["r1"]), float(row["train_seconds"]), float(row["answer_seconds"]))
    return Measurement(row["dataset"], facts, row["learner"], row.get("expression") or row["learner"], cost)
