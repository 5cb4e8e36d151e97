"""Discovery: finds plugins by entry point or in a folder, loads each under its own guard, and gives the Catalog.

A plugin that cannot be used is reported with its distribution and a reason; it never stops the others.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import pluggy

from harness import hooks
from harness.contract import KINDS, REPRESENTATIONS, DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec
from harness.errors import AmbiguousName, HarnessError, UnknownName

GROUP = "harness"
STRICT_VARIABLE = "HARNESS_STRICT_PLUGINS"
SPEC_OF_HOOK: dict[str, type[Any]] = {
    "harness_learners": LearnerSpec,
    "harness_datasets": DatasetSpec,
    "harness_metrics": MetricSpec,
    "harness_experiments": ExperimentSpec,
}
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.-]*")

Spec = TypeVar("Spec", LearnerSpec, DatasetSpec, MetricSpec, ExperimentSpec)
Status = Literal["ok", "broken", "conflict", "disabled"]


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
    status: Status
    reason: str = ""


@dataclass(frozen=True)
class Catalog:
    """All that the plugins brought, and what became of each of them."""

    learners: tuple[Entry[LearnerSpec], ...] = ()
    datasets: tuple[Entry[DatasetSpec], ...] = ()
    metrics: tuple[Entry[MetricSpec], ...] = ()
    experiments: tuple[Entry[ExperimentSpec], ...] = ()
    plugins: tuple[PluginReport, ...] = ()

    def learner(self, name: str) -> Entry[LearnerSpec]:
        return _find("learner", name, self.learners)

    def dataset(self, name: str) -> Entry[DatasetSpec]:
        return _find("data set", name, self.datasets)

    def metric(self, name: str) -> Entry[MetricSpec]:
        return _find("metric", name, self.metrics)

    def experiment(self, name: str) -> Entry[ExperimentSpec]:
        return _find("experiment", name, self.experiments)


def _find(what: str, name: str, entries: Sequence[Entry[Spec]]) -> Entry[Spec]:
    distribution, _, bare = name.rpartition(":")
    found = [e for e in entries if e.spec.name == bare and distribution in ("", e.origin.distribution)]
    if len(found) == 1:
        return found[0]
    if found:
        picks = " or ".join(f"{e.origin.distribution}:{bare}" for e in found)
        raise AmbiguousName(f"{what} {bare!r} is given by {len(found)} distributions: pick one with {picks}")
    known = sorted({e.spec.name for e in entries})
    near = get_close_matches(bare, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known) or 'none'}"
    raise UnknownName(f"unknown {what} {name!r}; {hint} (`harness list` shows all, `harness plugins` what is broken)")


# -- loading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    origin: Origin
    load: Callable[[], object]


def discover(folders: Iterable[Path] = (), disabled: Iterable[str] = ()) -> Catalog:
    """Load every plugin found, sorted by distribution; never raises for a broken one unless asked to be strict."""
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    blocked, matched = set(disabled), set()
    entries: dict[str, list[Entry]] = {hook: [] for hook in SPEC_OF_HOOK}  # type: ignore[type-arg]  # one list a hook
    reports: list[PluginReport] = []
    for candidate in [*_from_entry_points(), *_from_folders(folders)]:
        names = {candidate.origin.plugin, candidate.origin.distribution}
        if names & blocked:
            matched |= names & blocked
            reports.append(PluginReport(candidate.origin, "disabled", "by --disable-plugin"))
            continue
        try:
            found = _collect(manager, candidate)
        except (Exception, SystemExit) as error:
            reports.append(PluginReport(candidate.origin, "broken", _reason(error)))
            continue
        for hook, specs in found.items():
            entries[hook] += [Entry(spec, candidate.origin) for spec in specs]
        reports.append(PluginReport(candidate.origin, "ok"))
    if blocked - matched:
        known = ", ".join(sorted(r.origin.plugin for r in reports))
        raise UnknownName(f"--disable-plugin {sorted(blocked - matched)[0]!r} matches no plugin; known: {known}")
    learners, datasets, metrics, experiments = (tuple(entries[hook]) for hook in SPEC_OF_HOOK)
    return _strictly(_with_conflicts(Catalog(learners, datasets, metrics, experiments, tuple(reports))))


def _from_entry_points() -> list[_Candidate]:
    def key(point: EntryPoint) -> tuple[str, str]:
        return (point.dist.name if point.dist else "", point.name)

    candidates = []
    for point in sorted(entry_points(group=GROUP), key=key):
        name, version = (point.dist.name, point.dist.version) if point.dist else ("unknown", "0")
        candidates.append(_Candidate(Origin(point.name, name, version), point.load))
    return candidates


def _from_folders(folders: Iterable[Path]) -> list[_Candidate]:
    candidates = []
    for folder in folders:
        if not folder.is_dir():
            raise HarnessError(f"--plugins-dir {folder}: there is no such folder")
        if str(folder.resolve()) not in sys.path:
            sys.path.insert(0, str(folder.resolve()))
        for path in sorted(folder.iterdir()):
            files = [path] if path.suffix == ".py" else sorted(path.glob("**/*.py"))
            if path.name.startswith((".", "_")) or not files or not (path.suffix == ".py" or path.is_dir()):
                continue
            # The content stands in for a version, so that an edited plugin never passes for the trial done before.
            version = hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:12]
            origin = Origin(path.stem, str(path), version)
            candidates.append(_Candidate(origin, partial(importlib.import_module, path.stem)))
    return candidates


def _collect(manager: pluggy.PluginManager, candidate: _Candidate) -> dict[str, list[object]]:
    plugin = candidate.load()
    name = f"{candidate.origin.distribution}:{candidate.origin.plugin}"
    manager.register(plugin, name=name)
    try:
        manager.check_pending()
        found = {hook: _specs(manager, name, hook) for hook in SPEC_OF_HOOK}
    except BaseException:
        manager.unregister(name=name)
        raise
    if not any(found.values()):
        raise HarnessError("registers nothing: mark at least one of its functions with @harness.hookimpl")
    return found


def _specs(manager: pluggy.PluginManager, name: str, hook: str) -> list[Any]:
    specs: list[Any] = []
    for impl in getattr(manager.hook, hook).get_hookimpls():
        if impl.plugin_name != name:
            continue
        returned = impl.function()
        if not isinstance(returned, Iterable) or isinstance(returned, str | bytes):
            raise HarnessError(f"{hook} returned {returned!r} where a list of {SPEC_OF_HOOK[hook].__name__} belongs")
        for spec in returned:
            _validate(hook, spec)
            if any(spec.name == other.name for other in specs):
                raise HarnessError(f"{hook} gives the name {spec.name!r} twice")
            specs.append(spec)
    return specs


def _validate(hook: str, spec: Any) -> None:
    kind = SPEC_OF_HOOK[hook]
    if type(spec) is not kind:
        raise HarnessError(f"{hook} returned {spec!r} where a {kind.__name__} belongs")
    if not isinstance(spec.name, str) or not _NAME.fullmatch(spec.name):
        raise HarnessError(f"{hook}: the name {spec.name!r} must be lower case letters, digits, '-', '_', '.'")
    for key in ("load", "compute", "resource"):
        target = getattr(spec, key, "x:x")
        if not isinstance(target, str) or not _TARGET.fullmatch(target):
            raise HarnessError(f"{hook}: {spec.name}.{key} is {target!r}, expected 'module:name'")
    for key, allowed in (("kind", KINDS), ("representation", REPRESENTATIONS)):
        value = getattr(spec, key, allowed[0])
        if value not in allowed:
            raise HarnessError(f"{hook}: {spec.name}.{key} is {value!r}, expected one of {', '.join(allowed)}")


def _reason(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"needs the module {error.name!r}, which is not installed"
    if isinstance(error, HarnessError | pluggy.PluginValidationError):
        return str(error).replace("\n", " ")
    return f"{type(error).__name__}: {error}".replace("\n", " ")


def _with_conflicts(catalog: Catalog) -> Catalog:
    clashes: dict[Origin, list[str]] = {}
    for entries in (catalog.learners, catalog.datasets, catalog.metrics, catalog.experiments):
        for entry in entries:
            others = [e for e in entries if e.spec.name == entry.spec.name and e is not entry]
            for other in others:
                text = f"{entry.spec.name!r} is also given by {other.origin.distribution}"
                clashes.setdefault(entry.origin, []).append(text)
    reports = tuple(
        replace(r, status="conflict", reason="; ".join(clashes[r.origin])) if r.origin in clashes else r
        for r in catalog.plugins
    )
    return replace(catalog, plugins=reports)


def _strictly(catalog: Catalog) -> Catalog:
    bad = [r for r in catalog.plugins if r.status in ("broken", "conflict")]
    if bad and os.environ.get(STRICT_VARIABLE, "") not in ("", "0"):
        lines = "\n".join(f"  {r.origin.plugin} ({r.origin}): {r.reason}" for r in bad)
        raise HarnessError(f"{STRICT_VARIABLE} is set and {len(bad)} plugins cannot be used:\n{lines}")
    return catalog
