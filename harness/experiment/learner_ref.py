"""Learners as an experiment sets them up: their parameters, what is set by data set, what is tuned, where they run.

The `set` table of an experiment names a learner by its label, else by its name, and `learner@dataset` for one data set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.errors import SpecError
from harness.experiment.schema import DatasetGroups, Experiment, LearnerTable
from harness.expression import parse
from harness.label import first_repeated
from harness.params import Params


@dataclass(frozen=True)
class LearnerRef:
    """A learner to run: its parameters, each value a list where several are to be tried, also by data set."""

    name: str
    label: str
    params: Params = field(default_factory=dict)
    wrapped: str | None = None
    """The learner that it is built round, as it is written, where it stands without the name of a parameter."""
    by_dataset: Mapping[str, Params] = field(default_factory=dict)
    tune: Params = field(default_factory=dict)
    """Parameters to be chosen on a validation part: for each a list of values, or a range to draw from."""
    on: frozenset[str] | None = None
    """The only data sets that it runs on, by what they go by in tables; None stands for all."""


def learner_refs(experiment: Experiment, groups: DatasetGroups) -> tuple[LearnerRef, ...]:
    """The learners of an experiment with the `set` and `tune` tables laid over them, for these data sets."""
    labels = [label_of(table) for table in experiment.learners]
    twice = first_repeated(labels)
    if twice is not None:
        raise SpecError(f"two learners are labelled {twice!r}: give one another label (label=...)")
    members = _members(groups)
    settings = _Settings(experiment.settings, labels, members)
    chosen = []
    for table, label in zip(experiment.learners, labels, strict=True):
        params, by_dataset = settings.lay_over(table, label)
        _check_known(label, "has parameters for", by_dataset, members)
        _check_known(label, "is to run on", table.on or (), members)
        ref = LearnerRef(
            name=table.name,
            label=label,
            params=params,
            wrapped=table.wrapped,
            by_dataset=_for_each(by_dataset, members),
            tune=_tuned(table.name, label, labels, experiment),
            on=_only_on(table.on, members),
        )
        chosen.append(ref)
    settings.check_all_used(chosen, experiment)
    _check_tuned(chosen, experiment)
    return tuple(chosen)


def label_of(table: LearnerTable) -> str:
    """A learner's name in tables, without its module; round another learner, with that one's."""
    return table.label or _default_label(table.name, table.wrapped)


def _default_label(name: str, wrapped: str | None) -> str:
    bare = name.rpartition(":")[2]
    if wrapped is None:
        return bare
    inside = parse(wrapped)
    return f"{bare}({_default_label(inside.name, next(iter(inside.positional), None))})"


def _members(groups: DatasetGroups) -> dict[str, list[str]]:
    """What each name of a data set or of a grid of them stands for."""
    members: dict[str, list[str]] = {}
    for group in groups.values():
        members |= {ref.label.text: [ref.label.text] for ref in group}
    members |= {name: [ref.label.text for ref in group] for name, group in groups.items()}
    return members


class _Settings:
    """The `set` table, and which of its lines have found what they are for."""

    def __init__(self, table: Mapping[str, dict[str, Any]], labels: Sequence[str], members: Params) -> None:
        self.table, self.labels, self.members = table, labels, members
        self.used: set[str] = set()

    def lay_over(self, learner: LearnerTable, label: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """A learner's parameters, and those by data set, with what is set."""
        params = dict(learner.params)
        by_dataset = {name: dict(own) for name, own in learner.datasets.items()}
        for target, values in self.table.items():
            who, where = self._parted(target)
            meant = label if who in self.labels else learner.name
            if who != meant or (where and where not in self.members):
                continue
            self.used.add(target)
            if where:
                by_dataset.setdefault(where, {}).update(values)
            else:
                params.update(values)
        return params, by_dataset

    def _parted(self, target: str) -> tuple[str, str]:
        """Learner and data set; a label may have an @ in it."""
        if target in self.labels:
            return target, ""
        who, _, where = target.partition("@")
        return who, where

    def check_all_used(self, chosen: Sequence[LearnerRef], experiment: Experiment) -> None:
        """A line that sets nothing is most likely misspelt, and what it means would silently not be set."""
        datasets = {*self.members, *(table.name for table in experiment.datasets if table.name)}
        unused = sorted(set(self.table) - self.used - datasets)
        if unused:
            known = sorted({ref.label for ref in chosen} | set(self.members))
            raise SpecError(f"set.{unused[0]} matches no learner or data set of this run ({', '.join(known)})")


def _check_known(label: str, trouble: str, named: Any, members: Params) -> None:
    unknown = sorted(set(named) - set(members))
    if unknown:
        raise SpecError(f"learner {label!r} {trouble} {unknown[0]!r}, which is not in datasets")


def _for_each(by_dataset: Mapping[str, dict[str, Any]], members: Mapping[str, list[str]]) -> dict[str, dict[str, Any]]:
    """Parameters by data set, where what is said of a grid holds for all of it, unless one of it is named."""
    spread: dict[str, dict[str, Any]] = {}
    for where in sorted(by_dataset, key=lambda name: -len(members[name])):
        for name in members[where]:
            spread.setdefault(name, {}).update(by_dataset[where])
    return spread


def _only_on(on: Sequence[str] | None, members: Mapping[str, list[str]]) -> frozenset[str] | None:
    if on is None:
        return None
    return frozenset(name for where in on for name in members[where])


def _tuned(name: str, label: str, labels: Sequence[str], experiment: Experiment) -> dict[str, Any]:
    """What is to be tuned of a learner: by label, else by name."""
    if experiment.tune is None:
        return {}
    given = experiment.tune.params
    by_name = {} if name in labels else given.get(name, {})
    return dict(given.get(label) or by_name)


def _check_tuned(chosen: Sequence[LearnerRef], experiment: Experiment) -> None:
    if experiment.tune is None:
        return
    known = {ref.name for ref in chosen} | {ref.label for ref in chosen}
    lost = sorted(set(experiment.tune.params) - known)
    if lost:
        labels = ", ".join(sorted(ref.label for ref in chosen))
        raise SpecError(f"tune.params.{lost[0]} matches no learner of this run ({labels})")
