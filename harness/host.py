"""Discovery: finds plugins by entry point or in a folder, loads each under its own guard, and gives the Catalog.

A plugin that cannot be used is reported with its distribution and a reason; it never stops the others.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

import pluggy

from harness import hooks
from harness.contract import (
    FACTS,
    KINDS,
    REPRESENTATIONS,
    Ability,
    DatasetSpec,
    ExperimentSpec,
    LearnerSpec,
    MetricSpec,
    Need,
)
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
_TARGETS = ("load", "compute", "stamp", "recognises")
_FILE = re.compile(r"[A-Za-z_][\w.]*:[\w.-]+(?:/[\w.-]+)*")
_FILES = ("resource", "published")
_CHOICES: dict[str, tuple[str, ...]] = {
    "kind": KINDS,
    "representation": REPRESENTATIONS,
    "direction": ("higher", "lower"),
    "unit": ("share", "seconds", "bytes", "count"),
}
_SETS: dict[str, tuple[str, ...]] = {"needs": get_args(Need), "supports": get_args(Ability)}
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("summary", "title", "licence", "citation", "short", "depth_parameter", "published"), (str,)),
    **dict.fromkeys(("wraps", "obtain"), (str,)),
    "files": (tuple,),
    "facts": (Mapping,),
    **dict.fromkeys(("depth", "version"), (int,)),
    **dict.fromkeys(("timed", "shown", "always", "single"), (bool,)),
    **dict.fromkeys(("preload", "opens"), (tuple, list)),
    "parameters": (Mapping, type(None)),
}

Spec = TypeVar("Spec", LearnerSpec, DatasetSpec, MetricSpec, ExperimentSpec)
Status = Literal["ok", "no hooks", "broken", "conflict", "disabled"]


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
        plugins = ", ".join(f"{e.origin.plugin} of {e.origin.distribution}" for e in found)
        picks = sorted({f"{e.origin.distribution}:{bare}" for e in found})
        way_out = f"pick one with {' or '.join(picks)}" if len(picks) == len(found) else "use --disable-plugin"
        raise AmbiguousName(f"{what} {bare!r} is given by {len(found)} plugins ({plugins}): {way_out}")
    known = sorted({e.spec.name for e in entries})
    elsewhere = [f"{e.origin.distribution}:{bare}" for e in entries if e.spec.name == bare]
    near = elsewhere or get_close_matches(bare, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known) or 'none'}"
    everything = f"`harness list {what.replace(' ', '')}s` shows all"
    raise UnknownName(f"unknown {what} {name!r}; {hint} ({everything}, `harness plugins` what is broken)")


# -- loading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    origin: Origin
    load: Callable[[], object]
    may_lack_hooks: bool = False
    """Whether it may be a module that plugins beside it use."""


def discover(folders: Iterable[Path] = (), disabled: Iterable[str] = ()) -> Catalog:
    """Load every plugin found, sorted by distribution; never raises for a broken one unless asked to be strict."""
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
            found = _collect(candidate)
        except (Exception, SystemExit) as error:
            reports.append(PluginReport(candidate.origin, "broken", _reason(error)))
            continue
        for hook, specs in found.items():
            entries[hook] += [Entry(spec, candidate.origin) for spec in specs]
        reports.append(PluginReport(candidate.origin, "ok" if any(found.values()) else "no hooks"))
    if blocked - matched:
        known = ", ".join(sorted(r.origin.plugin for r in reports))
        raise UnknownName(f"--disable-plugin {sorted(blocked - matched)[0]!r} matches no plugin; known: {known}")
    learners, datasets, metrics, experiments = (tuple(entries[hook]) for hook in SPEC_OF_HOOK)
    return _strictly(_with_conflicts(Catalog(learners, datasets, metrics, experiments, tuple(reports))))


def _from_entry_points() -> list[_Candidate]:
    candidates = [_Candidate(_origin(point), point.load) for point in entry_points(group=GROUP)]
    return sorted(candidates, key=lambda candidate: (candidate.origin.distribution, candidate.origin.plugin))


def _origin(point: EntryPoint) -> Origin:
    name, version = None, None
    with contextlib.suppress(Exception):  # what an interrupted installation leaves behind has no name to tell
        assert point.dist is not None
        name, version = point.dist.name, point.dist.version
    return Origin(point.name, name or "unknown", version or "unknown")


def _from_folders(folders: Iterable[Path]) -> list[_Candidate]:
    resolved = list(dict.fromkeys(map(Path.resolve, folders)))
    sys.path[:0] = [str(folder) for folder in resolved if str(folder) not in sys.path]
    candidates = []
    for folder in resolved:
        if not folder.is_dir():
            raise HarnessError(f"--plugins-dir {folder}: there is no such folder")
        helpers = [file for path in folder.glob("_*") for file in _sources(path)]
        for path in sorted(folder.iterdir()):
            if path.name.startswith((".", "_")) or not _sources(path):
                continue
            origin = Origin(path.stem, path.name, _content_version(folder, [*_sources(path), *helpers]))
            candidates.append(_Candidate(origin, partial(_import_from, path), may_lack_hooks=True))
    return candidates


def _sources(path: Path) -> list[Path]:
    """The files of a module or of a package; none when it is neither."""
    if path.is_dir():
        return sorted(path.rglob("*.py")) if (path / "__init__.py").is_file() else []
    return [path] if path.suffix == ".py" else []


def _content_version(folder: Path, files: Iterable[Path]) -> str:
    """The content stands in for a version, so that an edited plugin never passes for the trial done before."""
    digest = hashlib.sha256()
    for file in sorted(files):
        content = b""
        with contextlib.suppress(OSError):  # what cannot be read is for the import to report
            content = file.read_bytes()
        digest.update(f"{file.relative_to(folder)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


def _import_from(path: Path) -> object:
    module = importlib.import_module(path.stem)
    found = getattr(module, "__file__", None)
    if not found or not os.path.samefile(found, path / "__init__.py" if path.is_dir() else path):
        raise HarnessError(f"another module is called {path.stem!r} ({found or 'built in'}): rename this one")
    return module


def _collect(candidate: _Candidate) -> dict[str, list[object]]:
    """Load one plugin and ask its hooks; it has a manager of its own, so that nothing of a broken one stays behind."""
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    with contextlib.redirect_stdout(sys.stderr):  # what a plugin prints must not end up in our own output
        plugin = candidate.load()
        manager.register(plugin)
        _check_hooks(manager, plugin)
        found = {hook: _specs(manager, hook) for hook in SPEC_OF_HOOK}
    if not any(found.values()) and (not candidate.may_lack_hooks or _means_hooks(plugin)):
        raise HarnessError("registers nothing: mark at least one of its functions with @harness.hookimpl")
    return found


def _check_hooks(manager: pluggy.PluginManager, plugin: object) -> None:
    """What pluggy's own `check_pending` refuses, in words that say what to write instead."""
    for name, hook in vars(manager.hook).items():
        if not hook.has_spec() and not all(impl.optionalhook for impl in hook.get_hookimpls()):
            near = get_close_matches(name, SPEC_OF_HOOK, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            module = getattr(plugin, "__name__", type(plugin).__name__)
            raise HarnessError(f"unknown hook {name!r} in {module!r}: {hint}the hooks are {', '.join(SPEC_OF_HOOK)}")


def _means_hooks(plugin: object) -> bool:
    """Whether a function is named like a hook, so that a mark or a list's content has been forgotten."""
    return any(name.startswith("harness_") and callable(value) for name, value in vars(plugin).items())


def _specs(manager: pluggy.PluginManager, hook: str) -> list[Any]:
    specs: list[Any] = []
    for impl in getattr(manager.hook, hook).get_hookimpls():
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
    for key, value in vars(spec).items():
        expected = _expected(key, value)
        if expected:
            raise HarnessError(f"{hook}: {spec.name}.{key} is {value!r}, expected {expected}")
    if set(getattr(spec, "facts", ())) - set(FACTS):
        raise HarnessError(f"{hook}: {spec.name}.facts is {spec.facts!r}, expected numbers for {', '.join(FACTS)}")


def _expected(key: str, value: Any) -> str | None:
    """What belongs in a spec's field instead of this value; None when the value will do."""
    if key in _FILES and not (isinstance(value, str) and _FILE.fullmatch(value)):
        return None if key == "published" and value == "" else "'package:folder/file'"
    if key in _TARGETS and not (isinstance(value, str) and _TARGET.fullmatch(value)):
        return None if key in ("stamp", "recognises") and value is None else "'module:name'"
    if key in _CHOICES and value not in _CHOICES[key]:
        return f"one of {', '.join(_CHOICES[key])}"
    if key in _SETS and (not isinstance(value, set | frozenset) or value - set(_SETS[key])):
        return f"a set of {', '.join(_SETS[key])}"
    if key in _TYPES and (not isinstance(value, _TYPES[key]) or (_TYPES[key] == (int,) and isinstance(value, bool))):
        return f"a value of type {_TYPES[key][0].__name__}"
    return None


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
        raise HarnessError(f"{STRICT_VARIABLE} is set, and of the plugins {len(bad)} cannot be used:\n{lines}")
    return catalog
