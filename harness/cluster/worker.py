"""The code that runs on a worker: `describe_worker` describes the worker, and `run_assignment` runs one job.

A job never runs in the process of the worker. Each slot of a worker has a local executor, which starts fork servers and
supervisors there. Jobs on a cluster therefore have the same limits as local jobs.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import hashlib
import importlib
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any

from distributed import Status, Worker, get_worker

from harness.cluster.messages import (
    Artifact,
    Assignment,
    CodeTarget,
    WantedEnvironment,
    WorkerDescription,
    find_artifact,
    pack_description,
    pack_end,
    pack_reply,
    read_assignment,
)
from harness.environments import (
    MANIFEST,
    Environment,
    ReadyEnvironment,
    build_environment,
    environment_for,
    find_intact,
)
from harness.errors import HarnessError
from harness.executors.base import Job, JobEnd, Workplace
from harness.executors.local import TRIALS, LocalExecutor
from harness.files.atomic import create_file, lock
from harness.files.home import data_home, environments_root, not_writable
from harness.host.catalog import Origin
from harness.host.introspection import code_of, host_code
from harness.system.machine import describe_machine, describe_versions
from harness.text import in_a_line

POLL_SECONDS = 0.2
"""The time between two checks of a running job: is it cancelled, and has its phase changed?"""
RESOURCE = "trial"
"""The Dask resource that sets the number of slots: `dask worker --nthreads 2 --resources "trial=2"`."""
MESSAGE_LENGTH = 500
"""Longer messages to the host are cut."""
NOT_AWAITED = "the host does not wait for it any more, or the worker is leaving"
WORKING = (Status.running, Status.paused, Status.closing_gracefully)
"""The states in which a Dask worker still finishes its tasks."""


# -- running a job ---------------------------------------------------------------------------------------------------


def run_assignment(content: bytes) -> bytes:
    """Wait for a free slot and run one job there. Every attempt is a Dask task that calls this function.

    Parameters
    ----------
    content : bytes
        The assignment, packed with `messages.pack_assignment`.

    Returns
    -------
    bytes
        The reply, which the host reads with `messages.read_reply`.
    """
    worker = get_worker()
    task = _RunningTask(worker, worker.get_current_task())
    slots = slots_of(worker.id, count_slots(worker))
    slot = None
    while slot is None and task.is_wanted():
        slot = slots.take(POLL_SECONDS)
    if slot is None:
        return pack_reply("gone", message=NOT_AWAITED)
    try:  # artifacts are read and environments built only in a free slot, where no trial is measured
        return _run_in(slot, read_assignment(content), task)
    except Exception as error:  # errors of the job stay in its process: this is one of the worker
        return pack_reply("unable", message=in_a_line(f"{type(error).__name__}: {error}", MESSAGE_LENGTH))
    finally:
        slots.free.put(slot)


def count_slots(worker: Worker) -> int:
    """Return the number of slots of a worker: its resource `RESOURCE`, but at most one per thread; 1 by default."""
    offered, threads = int(worker.state.total_resources.get(RESOURCE, 1)), int(worker.state.nthreads)
    return max(1, min(offered, threads))


def _run_in(slot: Slot, assignment: Assignment, task: _RunningTask) -> bytes:
    """Run a job in a slot, if all artifacts and its environment are available; return the reply."""
    found = {artifact: find_artifact(artifact) for artifact in (*assignment.artifacts, *assignment.code)}
    lacking = [artifact.name for artifact, folder in found.items() if folder is None]
    if lacking:
        return pack_reply("lacking", lacking=lacking)
    folders = {artifact: folder for artifact, folder in found.items() if folder is not None}
    try:
        environments = prepare_environment(assignment, task.set_phase)
    except HarnessError as error:
        return pack_reply("unable", message=str(error))
    workplace = Workplace(
        preload=assignment.preload,
        threads=assignment.threads,
        path=tuple(str(folders[artifact]) for artifact in assignment.code),
        interpreters={group: str(ready.python) for group, ready in environments.items()},
        read_only=assignment.read_only,
        hidden=assignment.hidden,
    )
    started = datetime.now(UTC).isoformat(timespec="seconds")
    load = os.getloadavg()[0]
    running = slot.start(_with_local_folders(assignment.job, folders), workplace, task.set_phase)
    end = _wait_for(running, slot, task, assignment)
    if end is None:
        return pack_reply("gone", message=NOT_AWAITED)
    own = environments.get(assignment.job.group)
    return pack_end(end, started=started, load=load, packages=dict(own.packages) if own else {})


def _with_local_folders(job: Job, folders: Mapping[Artifact, Path]) -> Job:
    """Return the job with paths on this machine in place of paths on the host."""
    if not job.inputs:
        return job
    here = {artifact.source: str(folder) for artifact, folder in folders.items()}
    return replace(job, payload=job.payload.with_folders(here))


def _wait_for(running: Future[JobEnd], slot: Slot, task: _RunningTask, assignment: Assignment) -> JobEnd | None:
    """Wait for the end of the job and return it; stop the job and return None if its task is cancelled."""
    is_stopped = False
    while True:
        try:
            end = running.result(timeout=POLL_SECONDS)
        except TimeoutError:
            task.report_phase(assignment)
            if not task.is_wanted():
                is_stopped = True
                slot.stop_job()
            continue
        if not is_stopped:
            return end
        slot.stop_servers_soon()  # the host has probably ended
        return None


class _RunningTask:
    """A Dask task on this worker, with the phase of its job."""

    def __init__(self, worker: Worker, key: Any) -> None:
        self.worker, self.key = worker, key
        self.phase = self.reported = "start"  # the host assumes this phase without a report

    def is_wanted(self) -> bool:
        """Return False if the task was cancelled or the worker shuts down. If a host ends, its tasks are cancelled."""
        task = self.worker.state.tasks.get(self.key)
        return self.worker.status in WORKING and task is not None and task.state in ("executing", "long-running")

    def set_phase(self, phase: str) -> None:
        """Store the phase. Only the phase at the next poll is reported, since most phases are too short to read."""
        self.phase = phase

    def report_phase(self, assignment: Assignment) -> None:
        """Report the phase to the host, if it has changed since the last report."""
        if self.phase != self.reported:
            self.reported = self.phase
            self.worker.log_event(assignment.topic, {"attempt": assignment.attempt, "phase": self.phase})


# -- slots -----------------------------------------------------------------------------------------------------------

NANNY_VARIABLES = ("MALLOC_TRIM_THRESHOLD_",)
"""Environment variables that Dask's nanny sets for workers with much data. They would slow down trials."""
IDLE_SECONDS = 30.0
"""A slot without a job stops its servers after this time."""


class Slot:
    """Runs one job at a time with a local executor.

    The executor starts with the first job, and stops after `IDLE_SECONDS` without a job. Each slot has one thread, and
    only this thread starts fork servers. It exists as long as the worker, since Linux kills a fork server when the
    thread that started it ends.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "harness-slot")
        self._executor: LocalExecutor | None = None
        self._stop_timer: threading.Timer | None = None

    def warm_up(self) -> None:
        """Start the servers before the first job arrives."""
        self._thread.submit(self._get_executor, 1)
        self._stop_later()

    def start(self, job: Job, workplace: Workplace, on_phase: Callable[[str], None]) -> Future[JobEnd]:
        """Start a job, and return a future of its end.

        Parameters
        ----------
        job : Job
            The job, with paths on this machine.
        workplace : Workplace
            The settings for the job's process.
        on_phase : callable
            Called with the name of each phase, in the thread of the slot.
        """
        if self._stop_timer is not None:
            self._stop_timer.cancel()
        return self._thread.submit(self._run, job, workplace, on_phase)

    def stop_job(self) -> None:
        """Stop the running job, if there is one. This can be called from any thread."""
        if self._executor is not None:
            self._executor.abandon()

    def stop_servers_soon(self) -> None:
        """Stop the servers after the running job has ended; return at once."""
        with contextlib.suppress(RuntimeError):  # the worker is shutting down, and closes all slots
            self._thread.submit(self._stop_servers)

    def close(self) -> None:
        """Wait for the running job, then stop the servers."""
        self._thread.shutdown()
        self._stop_servers()

    def _run(self, job: Job, workplace: Workplace, on_phase: Callable[[str], None]) -> JobEnd:
        try:
            executor = self._get_executor(workplace.threads)
            executor.prepare(workplace, lambda: on_phase("compiling kernels"))
            ((_, end),) = executor.run([job], on_phase=lambda _, phase, __="": on_phase(phase))
            return end
        except BaseException:
            self._stop_servers()  # their state is unknown, so the next job starts new ones
            raise
        finally:
            self._stop_later()

    def _get_executor(self, threads: int) -> LocalExecutor:
        if self._executor is None:
            executor = LocalExecutor(common=TRIALS, threads=threads)
            executor.start()
            self._executor = executor
        return self._executor

    def _stop_later(self) -> None:
        """Stop the servers after `IDLE_SECONDS`, unless a job starts before."""
        if self._stop_timer is not None:
            self._stop_timer.cancel()
        self._stop_timer = threading.Timer(IDLE_SECONDS, self.stop_servers_soon)
        self._stop_timer.daemon = True
        self._stop_timer.start()

    def _stop_servers(self) -> None:
        if self._executor is not None:
            self._executor.close()
            self._executor = None


@dataclass
class Slots:
    """The slots of one worker, which all hosts that use the worker share."""

    free: LifoQueue[Slot] = field(default_factory=LifoQueue)
    """Free slots. The slot that was used last is taken first, since its servers are probably running."""
    every: list[Slot] = field(default_factory=list)
    """All slots, free or not."""

    def take(self, seconds: float) -> Slot | None:
        """Wait for a free slot and return it; None if there is none after this time. Put it back with `free.put`.

        Parameters
        ----------
        seconds : float
            The longest time to wait.
        """
        try:
            return self.free.get(timeout=seconds)
        except Empty:
            return None


_slots: dict[str, Slots] = {}
"""By the id of a Dask worker in this process, its slots."""
_slots_lock = threading.Lock()


def slots_of(worker: str, number: int) -> Slots:
    """Return the slots of a Dask worker in this process; the first call creates `number` slots.

    Parameters
    ----------
    worker : str
        An identifier of the Dask worker, unique in this process.
    number : int
        The number of slots to create.
    """
    with _slots_lock:
        if worker not in _slots:
            for name in NANNY_VARIABLES:
                os.environ.pop(name, None)
            slots = Slots(every=[Slot() for _ in range(number)])
            for slot in slots.every:
                slots.free.put(slot)
            _slots[worker] = slots
        return _slots[worker]


@atexit.register
def _close_slots() -> None:
    for slots in _slots.values():
        for slot in slots.every:
            slot.close()


# -- environments ----------------------------------------------------------------------------------------------------


def prepare_environment(assignment: Assignment, say: Callable[[str], None]) -> dict[str, ReadyEnvironment]:
    """Return the environment for the group of a job, and build it if needed.

    Parameters
    ----------
    assignment : Assignment
        The assignment with the job and the environments.
    say : callable
        Called with progress messages while the environment is built.

    Returns
    -------
    dict
        The environment by group; empty if the group needs none.

    Raises
    ------
    HarnessError
        If the environment cannot be built, or if its versions differ from the host's and this is not allowed.
    """
    group = assignment.job.group
    wanted = assignment.environments.get(group)
    if wanted is None:
        return {}
    environment = environment_for(wanted.requirements)
    assert environment is not None
    ready = _find_verified(environment)
    if ready is None:
        say("building its environment")
        with _building_lock(environment):
            ready = build_environment(environment, say, wanted.packages)
    differences = _compare_packages(wanted, ready)
    if differences and not assignment.allow_differences:
        raise HarnessError(
            f"its environment for {group} has {', '.join(differences)}",
            next_step="Remove it there with `harness env remove`, and it is built with the host's versions; "
            "or allow it with --allow-differences.",
        )
    return {group: ready}


_verified: dict[Path, int] = {}
"""Environments that this process has verified, with the modification time of their manifest; each once."""


def _find_verified(environment: Environment) -> ReadyEnvironment | None:
    """Return the environment if it is complete and intact. Its files are read only for the first job."""
    ready = environment.find()
    if ready is None:
        return None
    built = (environment.folder / MANIFEST).stat().st_mtime_ns
    if _verified.get(environment.folder) != built:
        if find_intact(environment, lambda _: None) is None:
            return None
        _verified[environment.folder] = built
    return ready


def _compare_packages(wanted: WantedEnvironment, ready: ReadyEnvironment) -> list[str]:
    """Return the packages whose version differs from the host's, each as a phrase for a message."""
    differences = []
    for package, version in wanted.packages.items():
        found = ready.packages.get(package, "absent")
        if found != version:
            differences.append(f"{package} {found} (on the host {version})")
    return differences


@contextlib.contextmanager
def _building_lock(environment: Environment) -> Iterator[None]:
    """Hold a lock while an environment is built. Workers that share a data home then do not build it at once."""
    try:
        environments_root().mkdir(parents=True, exist_ok=True)
        # On a file system without locks, several workers may build the environment, and one result is kept.
        with lock(environments_root() / f".{environment.name}.lock", required=False):
            yield
    except OSError as error:
        raise not_writable(error) from error


# -- describing a worker ---------------------------------------------------------------------------------------------

HOST_CODE = "harness's own files"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
HOME_ID = ".home"
"""The name of the file with the identifier of a data home."""


@dataclass(frozen=True)
class Reference:
    """The versions and the digests of code on the host, with which workers are compared."""

    versions: Mapping[str, str]
    code: Mapping[str, str]


async def describe_worker(
    targets: Mapping[str, CodeTarget], code: Sequence[Artifact], dask_worker: Worker | None = None
) -> bytes:
    """Return the description of this worker, and start the servers of its slots. The host calls this on the worker.

    Parameters
    ----------
    targets : mapping
        By name, the code whose digests are part of the description.
    code : sequence of Artifact
        Artifacts with code that the worker needs.
    dask_worker : distributed.Worker
        Set by Dask.

    Returns
    -------
    bytes
        The packed `WorkerDescription`. Its `problem` is the reason why the worker cannot run jobs, if there is one.
    """
    assert dask_worker is not None  # Dask sets an argument of this name
    return await asyncio.to_thread(_describe, dask_worker, targets, code)


def _describe(worker: Worker, targets: Mapping[str, CodeTarget], code: Sequence[Artifact]) -> bytes:
    """Return the packed description of a worker; this reads many files, so it runs outside of the event loop."""
    description = WorkerDescription(name=str(worker.name), host="", home="", slots=1, versions={}, facts={})
    try:
        home = identify_home()
    except HarnessError as error:
        return pack_description(replace(description, problem=in_a_line(str(error), MESSAGE_LENGTH)))
    for slot in slots_of(worker.id, count_slots(worker)).every:
        slot.warm_up()
    found = {artifact.name: find_artifact(artifact) for artifact in code}
    lacking = tuple(name for name, folder in found.items() if folder is None)
    path = [str(folder) for folder in found.values() if folder is not None]
    complete = replace(
        description,
        host=identify_machine(),
        home=home,
        slots=count_slots(worker),
        versions=describe_versions(),
        facts=asdict(describe_machine()),
        lacking=lacking,
        code={} if lacking else describe_code(targets, path),
    )
    return pack_description(complete)


def find_differences(reference: Reference, description: WorkerDescription) -> list[str]:
    """Return the differences between a worker and the host, each as a phrase for a message.

    Parameters
    ----------
    reference : Reference
        Versions and code of the host.
    description : WorkerDescription
        The worker's description of itself.
    """
    differences = []
    for name, version in reference.versions.items():
        found = description.versions.get(name, "absent")
        if found != version:
            differences.append(f"{name} {found} (here {version})")
    for name, digest in reference.code.items():
        if description.code.get(name) != digest:
            differences.append(f"other code of {name}")
    return differences


_path_lock = threading.Lock()


def describe_code(targets: Mapping[str, CodeTarget], path: Sequence[str] = ()) -> dict[str, str]:
    """Return the digests of all code that jobs run, by name.

    Parameters
    ----------
    targets : mapping
        By name, the code beside harness itself.
    path : sequence of str
        Folders that come first on the import path while the code is located.
    """
    with _path_lock:
        before = list(sys.path)
        sys.path[:0] = [folder for folder in path if folder not in sys.path]
        importlib.invalidate_caches()
        try:
            digests = {HOST_CODE: host_code()}
            for name, target in targets.items():
                digests[name] = code_of(target.load, Origin("", target.distribution, ""))
            return digests
        finally:
            sys.path[:] = before


def identify_machine() -> str:
    """Return an identifier of this machine, which is valid until it is booted again.

    All containers on one machine have the same identifier on Linux. It does not reveal the host name.
    """
    try:
        identity = BOOT_ID.read_text()
    except OSError:  # not Linux
        identity = socket.gethostname()
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def identify_home() -> str:
    """Return the identifier that is stored in the data home; the first call creates it.

    Workers with the same identifier share the files of their data home.

    Raises
    ------
    DataError
        If the identifier cannot be read or written.
    """
    file = data_home() / HOME_ID
    try:
        data_home().mkdir(parents=True, exist_ok=True)
        if not file.exists():
            create_file(file, secrets.token_hex(8))
        return file.read_text()
    except OSError as error:
        raise not_writable(error) from error
