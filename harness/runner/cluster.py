"""Choose the executor of a run: this machine, or a cluster whose workers are sent the code that they need."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.executors.base import Executor, Workplace
from harness.executors.local import paths_of
from harness.experiment.resolve import Resolved, code_group, environment_of
from harness.experiment.schema import RunOptions
from harness.host.catalog import Entry
from harness.host.discovery import Session
from harness.host.introspection import import_target, locate
from harness.records.store import RANKS
from harness.syntax.values import executor_of

if TYPE_CHECKING:
    from harness.cluster.messages import Artifact, Requirements, WantedEnvironment

MOST_CODE_BYTES = 50 * 10**6
"""Maximum size of a folder of plugins. A larger folder most likely has data, which should not be sent."""
NOT_SENT = ("__pycache__", "node_modules", "venv", "build", "dist")


@contextmanager
def trial_executor(
    executor: Executor,
    cluster: Any,
    resolved: Resolved,
    session: Session,
    options: RunOptions,
    results: Path,
    say: Callable[[str], None],
) -> Iterator[Executor]:
    """Yield the executor that runs the trials.

    Parameters
    ----------
    executor : Executor
        The local executor, which is used without a cluster.
    cluster : Place, distributed.Client or None
        The cluster. Its executor is closed when the block ends.
    resolved : Resolved
        The experiment, which decides the code and environments that workers need.
    session : Session
        Names the folders of plugins to send.
    options : RunOptions
    results : Path
        The results folder.
    say : callable
        Shows a warning.
    """
    if cluster is None:
        yield executor
        return
    requirements = _requirements(resolved, session, options)
    with import_target(executor_of(cluster))(cluster, requirements, say) as remote:
        remote.prepare(workplace_of(resolved, session, results))
        yield remote


def workplace_of(resolved: Resolved, session: Session, results: Path | None = None) -> Workplace:
    """Return the settings of the processes of a run, which cannot write to `results` or read rankings there."""
    return Workplace(
        preload=resolved.preload,
        threads=resolved.experiment.threads,
        path=paths_of(session.folders),
        interpreters=resolved.interpreters,
        read_only=paths_of([results] if results else []),
        hidden=paths_of([results / RANKS] if results else []),
    )


def _requirements(resolved: Resolved, session: Session, options: RunOptions) -> Requirements:
    """Return the code, environments and imports that the trials of a run need on other machines."""
    from harness.cluster.messages import CodeTarget, Requirements  # noqa: PLC0415 (only for a cluster)

    targets = {}
    for name, load, entry in _code_in(resolved):
        targets[name] = CodeTarget(load, entry.origin.distribution)
    return Requirements(_code_artifacts(resolved, session), _environments(resolved), targets, options.allow_differences)


def _code_in(resolved: Resolved) -> Iterator[tuple[str, str, Entry[Any]]]:
    """Yield the name, the import path and the plugin entry of everything whose code runs in trials."""
    for learner in resolved.learners:
        for chain in learner.chains():
            for each in chain:
                yield each.entry.spec.name, each.entry.spec.load, each.entry
    for metric in resolved.metrics:
        yield f"metric {metric.spec.name}", metric.spec.compute, metric
    for dataset in resolved.datasets:
        for representation in (*dataset.representations, *dataset.tried):
            for entry in representation.entries():
                yield f"representation {entry.spec.name}", entry.spec.load, entry


def _environments(resolved: Resolved) -> dict[str, WantedEnvironment]:
    """Return the environments that workers must build, by code group."""
    from harness.cluster.messages import WantedEnvironment  # noqa: PLC0415 (only for a cluster)

    found = {}
    for learner in resolved.learners:
        for chain in learner.chains():
            environment = environment_of(chain)
            if environment is not None:
                ready = resolved.environments[environment.name]
                found[code_group(chain)] = WantedEnvironment(environment.requirements, dict(ready.packages))
    return found


# -- code that is sent along -----------------------------------------------------------------------------------------


def _code_artifacts(resolved: Resolved, session: Session) -> tuple[Artifact, ...]:
    """Return the code to send: folders of plugins, and modules of the user that are not installed."""
    from harness.cluster.messages import code_artifact  # noqa: PLC0415 (only for a cluster)

    folders = [folder.resolve() for folder in session.folders]
    artifacts = {folder: code_artifact(folder, _files_below(folder)) for folder in folders}
    for _, load, entry in _code_in(resolved):
        root = None if _is_installed(entry.origin.distribution) else _own_folder(load)
        if root is not None and root not in artifacts:
            artifacts[root] = code_artifact(root, _modules_in(root))
    return tuple(artifacts.values())


def _files_below(folder: Path) -> list[Path]:
    files = []
    n_bytes = 0
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder).parts
        if not file.is_file() or any(part.startswith(".") or part in NOT_SENT for part in inside):
            continue
        n_bytes += file.stat().st_size
        if n_bytes > MOST_CODE_BYTES:
            raise HarnessError(
                f"holds more than {MOST_CODE_BYTES / 1e6:.0f} MB, which would be sent to every worker",
                culprit=f"--plugins-dir {folder}",
                next_step="Choose another data home.",
            )
        files.append(file)
    return files


def _is_installed(name: str) -> bool:
    """Return whether a distribution is installed. A plugin in a single file has the file's name instead of one."""
    try:
        distribution(name)
        return True
    except (PackageNotFoundError, ValueError):
        return False


def _own_folder(load: str) -> Path | None:
    """Return the folder that a user's module is imported from; None if it is installed or part of Python."""
    package = load.partition(":")[0].partition(".")[0]
    spec = locate(package)
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    file = Path(spec.origin).resolve()
    root = file.parent.parent if spec.submodule_search_locations else file.parent
    paths = {Path(path).resolve() for path in sysconfig.get_paths().values()}
    return None if paths & {root, *root.parents} else root


def _modules_in(root: Path) -> Iterable[Path]:
    """Return the files of the modules and packages in a folder, since they may import each other; no other files."""
    files = [file for file in root.iterdir() if file.suffix == ".py" and file.is_file()]
    for package in root.iterdir():
        if (package / "__init__.py").is_file():
            files += _files_below(package)
    return files
