"""The catalog of registered specs: learners, datasets, metrics, experiments, representations.

`Catalog` finds a spec by name, and suggests similar names for an unknown one. `find_metric` also finds members of
families of metrics, such as `r7`, `rk(k=7)` or `loss=tree_loss(costs=1)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from harness.errors import AmbiguousName, SpecError, UnknownName
from harness.host.contract import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, RepresentationSpec
from harness.syntax.expression import Params, parse
from harness.text import nearest

Spec = TypeVar("Spec", LearnerSpec, DatasetSpec, MetricSpec, ExperimentSpec, RepresentationSpec)
PluginStatus = Literal["ok", "no hooks", "broken", "conflict", "disabled"]
THINGS = ("learners", "datasets", "metrics", "experiments", "representations")
"""The fields of a catalog that hold specs."""
MOST_BROKEN = 3
"""Maximum number of broken plugins in the error for an unknown name."""


HOST_DISTRIBUTION = "manyclass-harness"
"""The distribution of this project."""


@dataclass(frozen=True)
class Origin:
    """The plugin that registered a spec, with the name and version of its distribution."""

    plugin: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class Entry(Generic[Spec]):
    """A registered spec and its origin."""

    spec: Spec
    origin: Origin


@dataclass(frozen=True)
class PluginReport:
    """The status of a plugin after discovery."""

    origin: Origin
    status: PluginStatus
    reason: str = ""
    seconds: float = 0.0
    """Time to import the plugin and call its hooks. It delays every command."""


@dataclass(frozen=True)
class Catalog:
    """All registered specs, and the status of each plugin.

    `learner`, `dataset`, `metric`, `experiment` and `representation` return the entry of a name, which may be qualified
    as `distribution:name`. They raise UnknownName if no plugin registers the name; the message lists similar names and
    broken plugins. They raise AmbiguousName if several plugins register the name: no plugin takes precedence over
    another one.
    """

    learners: tuple[Entry[LearnerSpec], ...] = ()
    datasets: tuple[Entry[DatasetSpec], ...] = ()
    metrics: tuple[Entry[MetricSpec], ...] = ()
    experiments: tuple[Entry[ExperimentSpec], ...] = ()
    representations: tuple[Entry[RepresentationSpec], ...] = ()
    plugins: tuple[PluginReport, ...] = ()

    def learner(self, name: str) -> Entry[LearnerSpec]:
        """Return the learner of a name."""
        return self._find("learner", name, self.learners)

    def dataset(self, name: str) -> Entry[DatasetSpec]:
        """Return the dataset of a name; files and addresses are resolved in `harness.experiment.references`."""
        return self._find("dataset", name, self.datasets)

    def metric(self, name: str) -> Entry[MetricSpec]:
        """Return the metric of a name; use `find_metric` for members of families such as `r7`."""
        return self._find("metric", name, self.metrics)

    def experiment(self, name: str) -> Entry[ExperimentSpec]:
        """Return the ready-made experiment of a name."""
        return self._find("experiment", name, self.experiments)

    def _find(self, what: str, name: str, entries: Sequence[Entry[Spec]]) -> Entry[Spec]:
        """Return the entry of a name. The error for an unknown name also reports plugins that are broken."""
        try:
            return find_entry(what, name, entries)
        except UnknownName as unknown:
            error = unknown
        broken = [report for report in self.plugins if report.status == "broken"]
        for report in broken[:MOST_BROKEN]:
            origin = report.origin
            error = error.adding(f"plugin {origin.plugin!r} of {origin} may register it but is broken: {report.reason}")
        raise error

    def representation(self, name: str) -> Entry[RepresentationSpec]:
        """Return the representation of a name."""
        return self._find("representation", name, self.representations)

    def unique_metrics(self) -> tuple[Entry[MetricSpec], ...]:
        """Return all metrics, after checking that their names are unique.

        Records store values by the name of the metric, and most trials compute all metrics. Two metrics with the same
        name would therefore mix their values in every run and table, even if neither is shown.

        Raises
        ------
        AmbiguousName
            If two plugins register the same name.
        """
        for entry, other in clashing_metrics(self.metrics):
            raise _ambiguous("metric", entry.spec.name, [entry, other], may_qualify=False)
        return self.metrics


def find_entry(what: str, name: str, entries: Sequence[Entry[Spec]]) -> Entry[Spec]:
    """Return the only entry of a name.

    Parameters
    ----------
    what : str
        Kind of the entries in messages, such as "learner".
    name : str
        The name, which may be qualified as `distribution:name`.
    entries : sequence of Entry of Spec
        The entries to search.

    Raises
    ------
    UnknownName
        If no entry has the name.
    AmbiguousName
        If several entries have the name.
    """
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
        near = similar_names(bare, entries)
    raise _unknown(what, name, near, entries)


def similar_names(name: str, entries: Iterable[Entry[Any]]) -> list[str]:
    """Return names that are similar to this one, best first; with short names such as `r7` for a name with a 7."""
    number = re.search(r"[1-9]\d*$", name)
    known = set()
    for entry in entries:
        known.add(entry.spec.name)
        short = getattr(entry.spec, "short", "")
        if number and short:
            known.add(re.sub(r"\{\w+\}", number[0], short))
    return nearest(name, sorted(known))


def _ambiguous(what: str, name: str, found: Sequence[Entry[Spec]], *, may_qualify: bool = True) -> AmbiguousName:
    """Return the error for a name that several plugins register, with the flag that disables one of them."""
    givers = " and ".join(f"{entry.origin.plugin!r} of {entry.origin}" for entry in found)
    ways = []
    picks = sorted({f"{entry.origin.distribution}:{name}" for entry in found})
    if may_qualify and len(picks) == len(found):  # a distribution name cannot select one of its own plugins
        ways.append(f"name one as {' or '.join(picks)}")
    ways.append(f"leave one out with {' or '.join(_flags_to_disable([entry.origin for entry in found]))}")
    return AmbiguousName(f"{what} {name!r} is registered by the plugins {givers}", next_step=", or ".join(ways))


def _flags_to_disable(origins: Sequence[Origin]) -> list[str]:
    """Return the flag that disables each plugin; for built-in plugins only if all of them are built in."""
    others = [origin for origin in origins if origin.distribution != HOST_DISTRIBUTION] or origins
    plugins = [origin.plugin for origin in origins]
    flags = []
    for origin in others:
        # Plugins of two distributions may have the same name.
        name = origin.plugin if plugins.count(origin.plugin) == 1 else origin.distribution
        flags.append(f"--disable-plugin {name}")
    return flags


# -- conflicts -------------------------------------------------------------------------------------------------------


def clashing_entries(entries: Iterable[Entry[Spec]]) -> list[tuple[Entry[Spec], Entry[Spec]]]:
    """Return all ordered pairs of entries with equal names."""
    by_name: dict[str, list[Entry[Spec]]] = {}
    for entry in entries:
        by_name.setdefault(entry.spec.name, []).append(entry)
    pairs = []
    for alike in by_name.values():
        for entry in alike:
            pairs += [(entry, other) for other in alike if other is not entry]
    return pairs


def clashing_metrics(metrics: Sequence[Entry[MetricSpec]]) -> list[tuple[Entry[MetricSpec], Entry[MetricSpec]]]:
    """Return all ordered pairs of metrics from different plugins that the same name could mean.

    Two names clash if they are equal. The short name "r{k}" of a family also clashes with a metric `r7` of another
    plugin, and with the same short name there. A plugin may register single members of its own families.

    Parameters
    ----------
    metrics : sequence of Entry of MetricSpec
        Metrics of all plugins.
    """
    pairs = clashing_entries(metrics)
    for family in metrics:
        if not family.spec.short:
            continue
        for other in metrics:
            is_alike = other.spec.short == family.spec.short or _match_short(family.spec, other.spec.name) is not None
            if is_alike and other.origin != family.origin:
                pairs += [(other, family), (family, other)]
    return pairs


def _unknown(what: str, name: str, near: Sequence[str], entries: Sequence[Entry[Spec]]) -> UnknownName:
    known = sorted({entry.spec.name for entry in entries})
    hint = ""
    if near:
        hint = f" Did you mean {' or '.join(near)}?"
    elif len(known) <= MOST_LISTED:
        hint = f" Known: {', '.join(known) or 'none'}."
    plural = f"{what.replace(' ', '')}s"
    everything = f"`harness list {plural}` lists all, `harness plugins` shows broken plugins."
    return UnknownName(f"unknown {what} {name!r}.{hint} {everything}")


MOST_LISTED = 12
"""Maximum number of names that a message lists."""


@dataclass(frozen=True)
class MetricCall:
    """A metric as a trial computes it: the function, its parameters, and the name under which the value is stored."""

    name: str
    compute: str
    params: Params = field(default_factory=dict)
    depth: int = 1
    """Number of ranks per row that the function reads."""


def call_of(spec: MetricSpec) -> MetricCall:
    """Return the call that computes a metric whose parameters are bound."""
    return MetricCall(spec.name, spec.compute, dict(spec.parameters), spec.depth)


def is_foreign(entry: Entry[Any]) -> bool:
    """Return whether another distribution than this project registers an entry."""
    return entry.origin.distribution != HOST_DISTRIBUTION


def find_metric(text: str, catalog: Catalog) -> Entry[MetricSpec]:
    """Return the metric that a text names, with its parameters bound.

    Parameters
    ----------
    text : str
        A name such as `r7`, a call such as `rk(k=7)`, or a call with a label such as `loss=tree_loss(costs=1)`.
    catalog : Catalog
        The registered metrics.

    Raises
    ------
    UnknownName
        If no metric has the name.
    SpecError
        If a parameter does not exist or has a wrong value.
    AmbiguousName
        If two plugins register the same name for a metric.
    """
    catalog.unique_metrics()
    plain = text.replace("@", "").casefold()
    if "@" in text and has_metric(plain, catalog):  # the heading of its column, such as P@5
        raise _unknown("metric", text, [plain], catalog.metrics)
    expression = parse(text)
    if expression.positional:
        raise SpecError(f"cannot read {expression.positional[0]!r} in {text!r}: expected parameter=value")
    given = expression.params
    try:
        entry = catalog.metric(expression.name)
    except UnknownName:
        found = None if given else _by_short_name(expression.name, catalog)
        if found is None:
            raise
        entry, given = found
    if expression.label is None and not entry.spec.parameters and not given:
        return entry
    bound = bind(entry.spec, given, expression.label)
    # A plugin may also register a single member of a family, such as R5. Its own spec takes precedence.
    registered = [e for e in catalog.unique_metrics() if e.spec.name == bound.name and not e.spec.parameters]
    return registered[0] if len(registered) == 1 else Entry(bound, entry.origin)


def bind(spec: MetricSpec, given: Params, label: str | None = None) -> MetricSpec:
    """Return the member of a family with these parameters, which also appear in its name and title.

    Parameters
    ----------
    spec : MetricSpec
        The family, or a metric without parameters.
    given : Params
        Parameters that the user set; the others keep their defaults.
    label : str, optional
        Name and title that the user chose, if any.

    Raises
    ------
    SpecError
        If a parameter does not exist, or is a depth below 1.
    """
    for name, value in given.items():
        _check_parameter(spec, name, value)
    values = {**spec.parameters, **given}
    if not values:
        return replace(spec, name=label or spec.name, title=label or spec.title)
    return replace(
        spec,
        name=label or _name(spec, given, values),
        title=label or _title(spec, given, values),
        depth=values[spec.depth_parameter] if spec.depth_parameter else spec.depth,
        parameters=values,
    )


def _check_parameter(spec: MetricSpec, name: str, value: Any) -> None:
    if name not in spec.parameters:
        near = nearest(name, spec.parameters, most=1)
        hint = f"Did you mean {near[0]}?" if near else f"It has: {', '.join(spec.parameters) or 'none'}."
        raise SpecError(f"metric {spec.name!r} has no parameter {name!r}. {hint}")
    is_depth = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if name == spec.depth_parameter and not is_depth:
        raise SpecError(f"metric {spec.name!r}: {name}={value!r}, expected a whole number from 1")


def has_metric(name: str, catalog: Catalog) -> bool:
    """Return whether a name or short name is that of a metric."""
    return any(entry.spec.name == name for entry in catalog.metrics) or family_of(name, catalog.metrics) is not None


def family_of(name: str, metrics: Iterable[Entry[MetricSpec]]) -> Entry[MetricSpec] | None:
    """Return the family of a short name, such as rk for r7; None if no family has it."""
    return next((entry for entry in metrics if _match_short(entry.spec, name) is not None), None)


def _by_short_name(name: str, catalog: Catalog) -> tuple[Entry[MetricSpec], Params] | None:
    """Return the family and the parameter of a short name: rk and k=7 for r7; None if no family has it."""
    entry = family_of(name, catalog.unique_metrics())
    params = entry and _match_short(entry.spec, name)
    return (entry, params) if entry and params else None


def _match_short(spec: MetricSpec, name: str) -> Params | None:
    """Return the parameter that a short name sets; None if the name is not a short name of this family."""
    before, brace, rest = spec.short.partition("{")
    if not brace:
        return None
    parameter, _, after = rest.partition("}")
    match = re.fullmatch(rf"{re.escape(before)}([1-9]\d*){re.escape(after)}", name)
    return {parameter: int(match[1])} if match else None


def _name(spec: MetricSpec, given: Params, values: Params) -> str:
    """Return the canonical name. It is the same for all spellings of a metric, such as r7 and rk(k=7)."""
    changed = {name: value for name, value in given.items() if value != spec.parameters[name]}
    in_short_name = {spec.short.partition("{")[2].partition("}")[0]}
    if spec.short and changed.keys() <= in_short_name:
        return spec.short.format(**values)
    return f"{spec.name}({_arguments(changed)})" if changed else spec.name


def _title(spec: MetricSpec, given: Params, values: Params) -> str:
    title = spec.title.format(**values)
    if given and title == spec.title and not spec.short:  # two members of a family must not look the same
        return f"{title or spec.name}({_arguments(given)})"
    return title


def _arguments(values: Params) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in sorted(values.items()))
