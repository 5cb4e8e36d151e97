"""Discovery: finds plugins by entry point or in a folder, loads each under its own guard, and gives the Catalog.

A plugin that cannot be used is reported with its distribution and a reason; it never stops the others.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from time import perf_counter
from typing import Any

import pluggy

from harness import hooks
from harness.catalog import HOST_DISTRIBUTION, THINGS, Catalog, Entry, Origin, PluginReport, PluginStatus
from harness.contract import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, RepresentationSpec
from harness.errors import HarnessError, UnknownName
from harness.spec_fields import Fields
from harness.suggestions import nearest

GROUP = "harness"
STRICT_VARIABLE = "HARNESS_STRICT_PLUGINS"
AnySpec = LearnerSpec | DatasetSpec | MetricSpec | ExperimentSpec | RepresentationSpec
SPEC_OF_HOOK: Mapping[str, type[AnySpec]] = {
    "harness_learners": LearnerSpec,
    "harness_datasets": DatasetSpec,
    "harness_metrics": MetricSpec,
    "harness_experiments": ExperimentSpec,
    "harness_representations": RepresentationSpec,
}

# -- loading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    origin: Origin
    load: Callable[[], object]
    may_lack_hooks: bool = False
    """Whether it may be a module that plugins beside it use."""


def discover(folders: Iterable[Path] = (), disabled: Iterable[str] = ()) -> Catalog:
    """Load every plugin found, the host's own first, then by distribution; a broken one raises only where asked to."""
    blocked = set(disabled)
    entries: dict[str, list[Any]] = {hook: [] for hook in SPEC_OF_HOOK}
    reports: list[PluginReport] = []
    for candidate in [*_from_entry_points(), *_from_folders(folders)]:
        origin = candidate.origin
        if origin.plugin in blocked or origin.distribution in blocked:
            reports.append(PluginReport(origin, "disabled", "by --disable-plugin"))
            continue
        started = perf_counter()
        try:
            found = _collect(candidate)
        except (Exception, SystemExit) as error:
            reports.append(PluginReport(origin, "broken", _reason(error), perf_counter() - started))
            continue
        for hook, specs in found.items():
            entries[hook] += [Entry(spec, origin) for spec in specs]
        status: PluginStatus = "ok" if any(found.values()) else "no hooks"
        reports.append(PluginReport(origin, status, seconds=perf_counter() - started))
    _check_disabled(blocked, reports)
    catalog = Catalog(
        learners=tuple(entries["harness_learners"]),
        datasets=tuple(entries["harness_datasets"]),
        metrics=tuple(entries["harness_metrics"]),
        experiments=tuple(entries["harness_experiments"]),
        representations=tuple(entries["harness_representations"]),
        plugins=tuple(reports),
    )
    return _strictly(_with_conflicts(catalog))


def _check_disabled(blocked: set[str], reports: Iterable[PluginReport]) -> None:
    """A name to leave out that nothing has is most likely misspelt, and the plugin meant would have been loaded."""
    origins = [report.origin for report in reports]
    known = {origin.plugin for origin in origins} | {origin.distribution for origin in origins}
    for name in sorted(blocked - known):
        plugins = ", ".join(sorted(origin.plugin for origin in origins))
        raise UnknownName(f"--disable-plugin {name!r} matches no plugin; known: {plugins}")


def _from_entry_points() -> list[_Candidate]:
    candidates = [_Candidate(_origin(point), point.load) for point in entry_points(group=GROUP)]
    return sorted(candidates, key=_place)


def _place(candidate: _Candidate) -> tuple[bool, str, str]:
    """What comes with the host comes first: R1 is the first column of a table, whatever else is installed."""
    origin = candidate.origin
    return origin.distribution != HOST_DISTRIBUTION, origin.distribution, origin.plugin


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


def _collect(candidate: _Candidate) -> dict[str, list[AnySpec]]:
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
            near = nearest(name, SPEC_OF_HOOK, most=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            module = getattr(plugin, "__name__", type(plugin).__name__)
            raise HarnessError(f"unknown hook {name!r} in {module!r}: {hint}the hooks are {', '.join(SPEC_OF_HOOK)}")


def _means_hooks(plugin: object) -> bool:
    """Whether a function is named like a hook, so that a mark or a list's content has been forgotten."""
    return any(name.startswith("harness_") and callable(value) for name, value in vars(plugin).items())


def _specs(manager: pluggy.PluginManager, hook: str) -> list[AnySpec]:
    specs: list[AnySpec] = []
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


def _validate(hook: str, spec: AnySpec) -> None:
    """What a spec cannot tell of itself: that it belongs to this hook, and that its name can be typed."""
    kind = SPEC_OF_HOOK[hook]
    if type(spec) is not kind:
        raise HarnessError(f"{hook} returned {spec!r} where a {kind.__name__} belongs")
    Fields(spec).name()  # a metric bound to parameters has another name, but it is not registered by it


def _reason(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"needs the module {error.name!r}, which is not installed"
    if isinstance(error, HarnessError | pluggy.PluginValidationError):
        return str(error).replace("\n", " ")
    return f"{type(error).__name__}: {error}".replace("\n", " ")


def _with_conflicts(catalog: Catalog) -> Catalog:
    """The same catalog, in which every plugin that gives a name that another one gives too says so."""
    clashes: dict[Origin, list[str]] = {}
    for thing in THINGS:
        for entry, other in _clashing(getattr(catalog, thing)):
            text = f"{entry.spec.name!r} is also given by {other.origin.distribution}"
            clashes.setdefault(entry.origin, []).append(text)
    reports = []
    for report in catalog.plugins:
        if report.origin in clashes:
            reports.append(replace(report, status="conflict", reason="; ".join(clashes[report.origin])))
        else:
            reports.append(report)
    return replace(catalog, plugins=tuple(reports))


def _clashing(entries: Iterable[Entry[Any]]) -> list[tuple[Entry[Any], Entry[Any]]]:
    """Every pair of entries with one name, each of the two first once."""
    by_name: dict[str, list[Entry[Any]]] = {}
    for entry in entries:
        by_name.setdefault(entry.spec.name, []).append(entry)
    pairs = []
    for alike in by_name.values():
        for entry in alike:
            pairs += [(entry, other) for other in alike if other is not entry]
    return pairs


def _strictly(catalog: Catalog) -> Catalog:
    bad = [r for r in catalog.plugins if r.status in ("broken", "conflict")]
    if bad and os.environ.get(STRICT_VARIABLE, "") not in ("", "0"):
        lines = "\n".join(f"  {r.origin.plugin} ({r.origin}): {r.reason}" for r in bad)
        raise HarnessError(f"{STRICT_VARIABLE} is set, and of the plugins {len(bad)} cannot be used:\n{lines}")
    return catalog
