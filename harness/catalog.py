"""What the plugins brought, by name: learners, data sets, metrics, experiments, representations; and what became of
each plugin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from harness.contract import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, RepresentationSpec
from harness.errors import AmbiguousName, UnknownName
from harness.suggestions import nearest

Spec = TypeVar("Spec", LearnerSpec, DatasetSpec, MetricSpec, ExperimentSpec, RepresentationSpec)
PluginStatus = Literal["ok", "no hooks", "broken", "conflict", "disabled"]
THINGS = ("learners", "datasets", "metrics", "experiments", "representations")
"""What a catalog lists, by the names of its fields."""
MOST_BROKEN = 3
"""As many plugins are told of with a name that is not found."""


HOST_DISTRIBUTION = "manyclass-harness"
"""What this project is installed as."""


@dataclass(frozen=True)
class Origin:
    """Where a thing comes from: the plugin's name, its distribution and that one's version."""

    plugin: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class Entry(Generic[Spec]):
    """One registered thing and its origin."""

    spec: Spec
    origin: Origin


@dataclass(frozen=True)
class PluginReport:
    """What became of one plugin."""

    origin: Origin
    status: PluginStatus
    reason: str = ""
    seconds: float = 0.0
    """What finding out took: importing it and asking its hooks, which every command waits for."""


@dataclass(frozen=True)
class Catalog:
    """All that the plugins brought, and what became of each of them."""

    learners: tuple[Entry[LearnerSpec], ...] = ()
    datasets: tuple[Entry[DatasetSpec], ...] = ()
    metrics: tuple[Entry[MetricSpec], ...] = ()
    experiments: tuple[Entry[ExperimentSpec], ...] = ()
    representations: tuple[Entry[RepresentationSpec], ...] = ()
    plugins: tuple[PluginReport, ...] = ()

    def learner(self, name: str) -> Entry[LearnerSpec]:
        return self._find("learner", name, self.learners)

    def dataset(self, name: str) -> Entry[DatasetSpec]:
        return self._find("data set", name, self.datasets)

    def metric(self, name: str) -> Entry[MetricSpec]:
        return self._find("metric", name, self.metrics)

    def experiment(self, name: str) -> Entry[ExperimentSpec]:
        return self._find("experiment", name, self.experiments)

    def _find(self, what: str, name: str, entries: Sequence[Entry[Spec]]) -> Entry[Spec]:
        """The entry of a name; where there is none, a broken plugin may be why, and its reason is told as well."""
        try:
            return find_entry(what, name, entries)
        except UnknownName as unknown:
            error = unknown
        broken = [report for report in self.plugins if report.status == "broken"]
        for report in broken[:MOST_BROKEN]:
            origin = report.origin
            error = error.adding(f"plugin {origin.plugin!r} of {origin} may bring it but is broken: {report.reason}")
        raise error

    def representation(self, name: str) -> Entry[RepresentationSpec]:
        return self._find("representation", name, self.representations)


def find_entry(what: str, name: str, entries: Sequence[Entry[Spec]]) -> Entry[Spec]:
    """The only entry of a name, which may have its distribution before a colon; else an error with the way out."""
    distribution, _, bare = name.rpartition(":")
    called = [entry for entry in entries if entry.spec.name == bare]
    found = [entry for entry in called if distribution in ("", entry.origin.distribution)]
    if len(found) == 1:
        return found[0]
    if found:
        raise _ambiguous(what, bare, found)
    if called:
        near = [f"{entry.origin.distribution}:{bare}" for entry in called]
    else:
        near = nearest(bare, sorted({entry.spec.name for entry in entries}))
    raise _unknown(what, name, near, entries)


def _ambiguous(what: str, name: str, found: Sequence[Entry[Spec]]) -> AmbiguousName:
    givers = ", ".join(f"{entry.origin.plugin} of {entry.origin.distribution}" for entry in found)
    picks = sorted({f"{entry.origin.distribution}:{name}" for entry in found})
    # Two plugins of one distribution cannot be told apart by its name.
    way_out = f"pick one with {' or '.join(picks)}" if len(picks) == len(found) else "use --disable-plugin"
    return AmbiguousName(f"{what} {name!r} is given by {len(found)} plugins ({givers})", next_step=way_out)


def _unknown(what: str, name: str, near: Sequence[str], entries: Sequence[Entry[Spec]]) -> UnknownName:
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    else:
        known = ", ".join(sorted({entry.spec.name for entry in entries}))
        hint = f"known: {known or 'none'}"
    everything = f"`harness list {what.replace(' ', '')}s` shows all"
    return UnknownName(f"unknown {what} {name!r}; {hint} ({everything}, `harness plugins` what is broken)")
