"""What a learner was set up with, in words, and the titles that tell several set-ups of one label apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from harness.params import describe_params
from harness.wording import counted

if TYPE_CHECKING:
    from harness.record import Record


@dataclass(frozen=True)
class SetUp:
    """A learner as it was set up: trials with one set-up, on the same data, differ by chance alone."""

    label: str
    learner: str
    told_params: str
    origin: str
    tuned: str
    representation: str
    """What it sees of the data."""
    packages: tuple[tuple[str, str], ...]
    """Those of an environment of its own, with their versions."""
    params: Mapping[str, Any] = field(compare=False)
    """Parameters that were set, without a random_state that follows the seed; `told_params` are these in words."""

    @property
    def words(self) -> tuple[str, ...]:
        """What can tell it from another set-up of its label, beside packages, in the order in which it is told."""
        return self.learner, self.told_params, self.origin, self.tuned, self.representation

    def without(self, name: str) -> SetUp:
        """The set-up less one of its parameters."""
        params = {key: value for key, value in self.params.items() if key != name}
        return replace(self, told_params=describe_params(params), params=params)


def set_up_of(record: Record, params: Mapping[str, Any]) -> SetUp:
    """The set-up of a trial; `params` are its parameters without what only follows the seed."""
    return SetUp(
        label=record.label,
        learner=record.learner,
        told_params=describe_params(params),
        origin=_describe_origin(record),
        tuned=_describe_tuning(record),
        representation=record.representation,
        packages=tuple(sorted(record.packages.items())),
        params=params,
    )


def _describe_origin(record: Record) -> str:
    version = f"{record.learner_distribution} {record.learner_version}"
    return f"{version}, code {record.code}" if record.code else version


def _describe_tuning(record: Record) -> str:
    """What was to be chosen; by what was tried, in records that do not say."""
    if record.to_tune:
        return record.to_tune
    names: set[str] = set()
    for candidate in record.tuning:
        names.update(candidate.params)
    if not names:
        return "not tuned"
    return f"tuned {', '.join(sorted(names))}, {counted(len(record.tuning), 'candidate')}"


def title_set_ups(set_ups: Iterable[SetUp]) -> dict[SetUp, str]:
    """A title for each: its label, and where one label stands for several set-ups, what tells them apart."""
    by_label: dict[str, list[SetUp]] = {}
    for set_up in dict.fromkeys(set_ups):
        by_label.setdefault(set_up.label, []).append(set_up)
    titles = {}
    for label, alike in by_label.items():
        telling, shared = _telling_places(alike), _shared_packages(alike)
        for set_up in alike:
            words = [set_up.words[place] for place in telling]
            # An environment has dozens of packages: only those that are not the same everywhere are named.
            words += [f"{name} {version}" for name, version in set_up.packages if (name, version) not in shared]
            titles[set_up] = f"{label} [{'; '.join(words)}]" if words else label
    return titles


def _shared_packages(set_ups: list[SetUp]) -> set[tuple[str, str]]:
    return set.intersection(*(set(set_up.packages) for set_up in set_ups))


def _telling_places(set_ups: list[SetUp]) -> list[int]:
    """Where in their words some of them differ."""
    columns = zip(*(set_up.words for set_up in set_ups), strict=True)
    return [place for place, words in enumerate(columns) if len(set(words)) > 1]
