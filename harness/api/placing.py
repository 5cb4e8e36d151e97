"""Where the trials of a run go: this machine, or the workers of a cluster, and what has to travel with them."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.resuming import Work
from harness.api.session import Session
from harness.catalog import Entry
from harness.errors import HarnessError
from harness.executors.base import Executor, Workplace
from harness.experiment.resolve import Resolved, code_group, environment_of
from harness.signature import locate

if TYPE_CHECKING:
    from harness.cluster.messages import WantedEnvironment
    from harness.cluster.parcels import Parcel

MOST_CODE_BYTES = 50 * 10**6
"""Of a folder of plugins: more is data, which belongs into data sets."""
NOT_SENT = ("__pycache__", "node_modules", "venv", "build", "dist")


@contextmanager
def trial_executor(work: Work, place: Any, *, allow_differences: bool) -> Iterator[Executor]:
    """What runs the trials: the local executor, or the cluster that is named, or whose client is given."""
    if place is None:
        yield work.executor
        return
    resolved = work.resolved
    from harness.cluster.connecting import connect  # noqa: PLC0415 (only where there is a cluster)

    connection = connect(place)
    try:
        from harness.cluster.describing import CodeTarget  # noqa: PLC0415 (imports dask)
        from harness.cluster.executor import ClusterExecutor  # noqa: PLC0415 (the same)
        from harness.cluster.roster import Luggage  # noqa: PLC0415 (the same)

        targets = {}
        for name, load, entry in _code_in(resolved):
            targets[name] = CodeTarget(load, entry.origin.distribution)
        code = _code_parcels(resolved, work.session)
        luggage = Luggage(code, _environments(resolved), targets, allow_differences)
        executor = ClusterExecutor(connection, luggage, work.progress.say)
        executor.prepare(Workplace(resolved.preload, resolved.experiment.threads))
    except BaseException:
        connection.close()
        raise
    try:
        yield executor
    finally:
        executor.close()


def _code_in(resolved: Resolved) -> Iterator[tuple[str, str, Entry[Any]]]:
    """All that brings code into trials: what it is called, what is imported, and where it is from."""
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
    """By group of trials, the environment that they need, which a worker builds for itself."""
    from harness.cluster.messages import WantedEnvironment  # noqa: PLC0415 (only where there is a cluster)

    found = {}
    for learner in resolved.learners:
        for chain in learner.chains():
            environment = environment_of(chain)
            if environment is not None:
                ready = resolved.environments[environment.name]
                found[code_group(chain)] = WantedEnvironment(environment.asked, dict(ready.packages))
    return found


# -- code that is sent along -----------------------------------------------------------------------------------------


def _code_parcels(resolved: Resolved, session: Session) -> tuple[Parcel, ...]:
    """The folders of plugins, and the modules of the user's that no distribution brings."""
    from harness.cluster.parcels import code_parcel  # noqa: PLC0415 (only where there is a cluster)

    folders = [folder.resolve() for folder in session.folders]
    parcels = {folder: code_parcel(folder, _files_below(folder)) for folder in folders}
    for _, load, entry in _code_in(resolved):
        root = None if _is_installed(entry.origin.distribution) else _own_folder(load)
        if root is not None and root not in parcels:
            parcels[root] = code_parcel(root, _modules_in(root))
    return tuple(parcels.values())


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
                next_step="keep data elsewhere",
            )
        files.append(file)
    return files


def _is_installed(name: str) -> bool:
    """Whether a distribution is, which then must be on the workers too: a file of one's own is called by its name."""
    try:
        distribution(name)
        return True
    except (PackageNotFoundError, ValueError):
        return False


def _own_folder(load: str) -> Path | None:
    """The folder that a module of the user's is imported from; None where it is installed, or is Python's own."""
    package = load.partition(":")[0].partition(".")[0]
    spec = locate(package)
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    file = Path(spec.origin).resolve()
    root = file.parent.parent if spec.submodule_search_locations else file.parent
    paths = {Path(path).resolve() for path in sysconfig.get_paths().values()}
    return None if paths & {root, *root.parents} else root


def _modules_in(root: Path) -> Iterable[Path]:
    """The modules and packages of a folder, which may import each other; nothing else that lies there."""
    files = [file for file in root.iterdir() if file.suffix == ".py" and file.is_file()]
    for package in root.iterdir():
        if (package / "__init__.py").is_file():
            files += _files_below(package)
    return files
