"""Find plugins by entry point or in folders, and collect their specs in a `Catalog`.

Each plugin is loaded separately, so a broken plugin does not affect the others. It is reported with its distribution
and the reason. A `Session` holds the plugin settings of a command; worker processes use it to find the same plugins.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib.metadata import EntryPoint, entry_points
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

import pluggy

from harness.errors import HarnessError, UnknownName
from harness.host import contract
from harness.host.catalog import (
    HOST_DISTRIBUTION,
    THINGS,
    Catalog,
    Entry,
    Origin,
    PluginReport,
    PluginStatus,
    clashing_entries,
    clashing_metrics,
)
from harness.host.contract import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, RepresentationSpec
from harness.host.introspection import locate
from harness.syntax.values import Fields
from harness.text import nearest

GROUP = "harness"
DECLARATION = "HARNESS_CONTRACT"
"""Variable of a plugin module that declares the contract for which it was written."""
FIRST_CONTRACT = "1.0"
"""Contract of a plugin that declares none."""
STRICT_VARIABLE = "HARNESS_STRICT_PLUGINS"
AnySpec = LearnerSpec | DatasetSpec | MetricSpec | ExperimentSpec | RepresentationSpec
SPEC_OF_HOOK: Mapping[str, type[AnySpec]] = {
    "harness_learners": LearnerSpec,
    "harness_datasets": DatasetSpec,
    "harness_metrics": MetricSpec,
    "harness_experiments": ExperimentSpec,
    "harness_representations": RepresentationSpec,
}


@dataclass(frozen=True)
class Session:
    """Plugin settings of a command: it uses installed plugins and those in `folders`, except for `disabled` ones."""

    folders: tuple[Path, ...] = ()
    disabled: tuple[str, ...] = ()
    """Names of plugins or distributions."""

    @cached_property
    def catalog(self) -> Catalog:
        """The specs of these plugins, discovered at the first access."""
        return discover(self.folders, self.disabled)


def make_session(plugins_dirs: Iterable[str | PathLike[str]] = (), disabled: Iterable[str] = ()) -> Session:
    """Return a session with the plugins in one folder or in several, without the `disabled` ones.

    Parameters
    ----------
    plugins_dirs : iterable of str or PathLike, default=()
        One folder with further plugins, or several.
    disabled : iterable of str, default=()
        Names of plugins or distributions to leave out.
    """
    given = [plugins_dirs] if isinstance(plugins_dirs, str | PathLike) else plugins_dirs
    return Session(tuple(Path(folder) for folder in given), tuple(disabled))


def find_modules_of(session: Session) -> None:
    """Add the plugin folders to `sys.path`, as trial processes do."""
    for folder in session.folders:
        _FOLDERS.add(folder.resolve())
        place = str(folder.resolve())
        if place not in sys.path:
            sys.path.append(place)


def is_plugin_module(module: str) -> bool:
    """Return whether a module belongs to an installed plugin, or to a plugin folder that this process uses.

    Loading a model imports such modules only, unless the user trusts others.
    """
    package = module.partition(".")[0]
    if package in _installed_packages():
        return True
    return any((folder / f"{package}.py").is_file() or (folder / package).is_dir() for folder in _FOLDERS)


@cache
def _installed_packages() -> frozenset[str]:
    """Return the top-level packages of all installed plugins."""
    return frozenset(point.value.partition(":")[0].partition(".")[0] for point in entry_points(group=GROUP))


_FOLDERS: set[Path] = set()
"""Plugin folders that this process uses."""


def plugin_folders() -> tuple[Path, ...]:
    """Return the plugin folders that this process uses."""
    return tuple(sorted(_FOLDERS))


def discover(folders: Iterable[Path] = (), disabled: Iterable[str] = ()) -> Catalog:
    """Load all plugins, the built-in ones first, and return their specs.

    Parameters
    ----------
    folders : iterable of Path, default=()
        Folders with further plugins, as modules or packages.
    disabled : iterable of str, default=()
        Names of plugins or distributions to leave out.

    Raises
    ------
    UnknownName
        If no plugin or distribution has a name in `disabled`.
    HarnessError
        If a folder does not exist. Also if a plugin is broken or conflicts with another one, and HARNESS_STRICT_PLUGINS
        is set; without it, the status is in `Catalog.plugins`.
    """
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


@dataclass(frozen=True)
class _Candidate:
    """A module that may be a plugin, not yet imported."""

    origin: Origin
    module: str
    load: Callable[[], object]
    may_lack_hooks: bool = False
    """True for a module in a plugin folder, which may be a helper of the plugins there."""


def _check_disabled(blocked: set[str], reports: Iterable[PluginReport]) -> None:
    """Raise UnknownName for a disabled name that matches no plugin, since it is most likely misspelt."""
    origins = [report.origin for report in reports]
    known = {origin.plugin for origin in origins} | {origin.distribution for origin in origins}
    for name in sorted(blocked - known):
        plugins = ", ".join(sorted(origin.plugin for origin in origins))
        raise UnknownName(f"--disable-plugin {name!r} matches no plugin", next_step=f"Plugins: {plugins}.")


# -- finding plugins -------------------------------------------------------------------------------------------------


def _from_entry_points() -> list[_Candidate]:
    candidates = [_Candidate(_origin(point), point.module, point.load) for point in entry_points(group=GROUP)]
    return sorted(candidates, key=_place)


def _place(candidate: _Candidate) -> tuple[bool, str, str]:
    """Return the sort key. Built-in plugins come first, so that R1 is always the first column of a table."""
    origin = candidate.origin
    return origin.distribution != HOST_DISTRIBUTION, origin.distribution, origin.plugin


def _origin(point: EntryPoint) -> Origin:
    name, version = None, None
    with contextlib.suppress(Exception):  # an interrupted installation leaves a distribution without a name
        assert point.dist is not None
        name, version = point.dist.name, point.dist.version
    return Origin(point.name, name or "unknown", version or "unknown")


def _from_folders(folders: Iterable[Path]) -> list[_Candidate]:
    resolved = list(dict.fromkeys(map(Path.resolve, folders)))
    _FOLDERS.update(resolved)
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
            candidates.append(_Candidate(origin, path.stem, partial(_import_from, path), may_lack_hooks=True))
    return candidates


def _sources(path: Path) -> list[Path]:
    """Return the source files of a module or package; an empty list for other paths."""
    if path.is_dir():
        return sorted(path.rglob("*.py")) if (path / "__init__.py").is_file() else []
    return [path] if path.suffix == ".py" else []


def _content_version(folder: Path, files: Iterable[Path]) -> str:
    """Return a digest of the files, used as the version of a plugin without one: editing it makes trials run again."""
    digest = hashlib.sha256()
    for file in sorted(files):
        content = b""
        with contextlib.suppress(OSError):  # the import reports files that cannot be read
            content = file.read_bytes()
        digest.update(f"{file.relative_to(folder)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


def _import_from(path: Path) -> object:
    module = importlib.import_module(path.stem)
    found = getattr(module, "__file__", None)
    if not found or not os.path.samefile(found, path / "__init__.py" if path.is_dir() else path):
        raise HarnessError(f"another module is called {path.stem!r} ({found or 'built in'}). Rename this one.")
    return module


# -- loading a plugin ------------------------------------------------------------------------------------------------


def _collect(candidate: _Candidate) -> dict[str, list[AnySpec]]:
    """Load a plugin and return the specs of each hook.

    Each plugin has its own pluggy manager, so that a plugin that breaks halfway registers nothing.
    """
    manager = pluggy.PluginManager(contract.PROJECT)
    manager.add_hookspecs(contract)
    with contextlib.redirect_stdout(sys.stderr):  # text that a plugin prints must not mix with the command's output
        plugin = _load(candidate)
        manager.register(plugin)
        _check_hooks(manager, plugin)
        found = {hook: _specs(manager, hook) for hook in SPEC_OF_HOOK}
    if not any(found.values()) and (not candidate.may_lack_hooks or _means_hooks(plugin)):
        raise HarnessError("registers nothing: mark at least one of its functions with @harness.hookimpl")
    return found


def _load(candidate: _Candidate) -> object:
    """Import a plugin, unless it was written for a newer contract."""
    try:
        plugin = candidate.load()
    except Exception:  # a name that only the newer contract has is the likely cause
        _check_contract(_declared_in_source(candidate.module), candidate.origin)
        raise
    _check_contract(getattr(plugin, DECLARATION, FIRST_CONTRACT), candidate.origin)
    return plugin


def _check_contract(declared: object, origin: Origin) -> None:
    """Raise HarnessError if the declared contract has a newer major version than ours, or is not a version."""
    if not isinstance(declared, str) or not re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", declared):
        raise HarnessError(
            f"{DECLARATION} is {declared!r}, expected a version",
            culprit=f"plugin {origin.plugin!r}",
            next_step=f'Write {DECLARATION} = "{contract.CONTRACT}".',
        )
    major = int(contract.CONTRACT.partition(".")[0])
    if int(declared.partition(".")[0]) > major:
        raise HarnessError(
            f"plugin {origin.plugin!r} was written for contract {declared}, this harness has {contract.CONTRACT}",
            next_step=f"Upgrade {HOST_DISTRIBUTION}, or use a version of {origin.distribution} for contract {major}.",
        )


def _declared_in_source(module: str) -> object:
    """Return the contract that a module declares, from its source, since the module cannot be imported."""
    with contextlib.suppress(Exception):  # the error of the import describes the problem
        spec = locate(module)
        assert spec is not None
        assert spec.origin is not None
        for node in ast.parse(Path(spec.origin).read_bytes()).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(target, ast.Name) and target.id == DECLARATION for target in targets):
                    return ast.literal_eval(node.value)
    return FIRST_CONTRACT


def _check_hooks(manager: pluggy.PluginManager, plugin: object) -> None:
    """Raise HarnessError for an unknown hook. Unlike pluggy's `check_pending`, the message suggests a similar name."""
    for name, hook in vars(manager.hook).items():
        if not hook.has_spec() and not all(impl.optionalhook for impl in hook.get_hookimpls()):
            near = nearest(name, SPEC_OF_HOOK, most=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            module = getattr(plugin, "__name__", type(plugin).__name__)
            raise HarnessError(f"unknown hook {name!r} in {module!r}. {hint}The hooks are {', '.join(SPEC_OF_HOOK)}.")


def _means_hooks(plugin: object) -> bool:
    """Return whether a function is named like a hook; then its decorator is missing, or it returned no specs."""
    return any(name.startswith("harness_") and callable(value) for name, value in vars(plugin).items())


def _specs(manager: pluggy.PluginManager, hook: str) -> list[AnySpec]:
    specs: list[AnySpec] = []
    for impl in getattr(manager.hook, hook).get_hookimpls():
        returned = impl.function()
        if not isinstance(returned, Iterable) or isinstance(returned, str | bytes):
            raise HarnessError(f"{hook} returned {returned!r}, expected a list of {SPEC_OF_HOOK[hook].__name__}")
        for spec in returned:
            _validate(hook, spec)
            if any(spec.name == other.name for other in specs):
                raise HarnessError(f"{hook} returned the name {spec.name!r} twice")
            specs.append(spec)
    return specs


def _validate(hook: str, spec: AnySpec) -> None:
    """Check what a spec cannot check itself: that the hook returned the right type, and that the name is valid."""
    kind = SPEC_OF_HOOK[hook]
    if type(spec) is not kind:
        raise HarnessError(f"{hook} returned {spec!r}, expected a {kind.__name__}")
    Fields(spec).name()  # not in the spec itself: names of bound metrics, such as rk(k=7), would fail the check


def _reason(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"needs the module {error.name!r}, which is not installed"
    if isinstance(error, HarnessError | pluggy.PluginValidationError):
        return str(error).replace("\n", " ")
    return f"{type(error).__name__}: {error}".replace("\n", " ")


# -- conflicts -------------------------------------------------------------------------------------------------------


def _with_conflicts(catalog: Catalog) -> Catalog:
    """Return the catalog with the status "conflict" for plugins that register the same name."""
    clashes: dict[Origin, list[str]] = {}
    for thing in THINGS:
        find_pairs = clashing_metrics if thing == "metrics" else clashing_entries
        for entry, other in find_pairs(getattr(catalog, thing)):
            origin = other.origin
            text = f"{thing[:-1]} {entry.spec.name!r} is also registered by {origin.plugin!r} of {origin.distribution}"
            reasons = clashes.setdefault(entry.origin, [])
            if text not in reasons:
                reasons.append(text)
    reports = []
    for report in catalog.plugins:
        if report.origin in clashes:
            reports.append(replace(report, status="conflict", reason="; ".join(clashes[report.origin])))
        else:
            reports.append(report)
    return replace(catalog, plugins=tuple(reports))


def _strictly(catalog: Catalog) -> Catalog:
    bad = [r for r in catalog.plugins if r.status in ("broken", "conflict")]
    if bad and os.environ.get(STRICT_VARIABLE, "") not in ("", "0"):
        lines = "\n".join(f"  {r.origin.plugin} ({r.origin}): {r.reason}" for r in bad)
        raise HarnessError(f"{STRICT_VARIABLE} is set, and {len(bad)} plugins cannot be used:\n{lines}")
    return catalog
