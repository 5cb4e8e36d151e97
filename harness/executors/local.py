"""The local executor, as seen by its caller (the host): it runs each job in a separate process on this machine.

A fork server forks a supervisor for each job. The supervisor starts the job's process and enforces its limits on time
and memory. The host reads the messages of all supervisors in one loop, `LocalExecutor.run`. The same loop detects
supervisors and servers that were killed or stopped.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import resource
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.errors import HarnessError
from harness.executors import wire
from harness.executors.base import TUNING, Executor, Job, JobEnd, JobStatus, OnPhase, Sealable, Workplace
from harness.executors.server import ForkServer, Preparation, fork_from, start_process
from harness.executors.supervisor import kill_tree
from harness.executors.wire import ProcessEnd
from harness.system import SYSTEM
from harness.text import in_a_line

MESSAGE_LENGTH = 200
TRIALS = ("harness.trials.run", "sklearn.base")
"""Modules that every trial imports."""
LOADERS = ("harness.data.arrays",)
"""Modules that every loader of a dataset imports."""


def start_executor(common: Iterable[str], threads: int = 1) -> Executor:
    """Return a started executor; it imports modules in the background.

    Parameters
    ----------
    common : iterable of str
        Modules to import once for all jobs. Importing them must have no side effects.
    threads : int, default=1
        The number of threads that each job may use.
    """
    executor = LocalExecutor(common=common, threads=threads)
    executor.start()
    return executor


@contextmanager
def loading_executor(folders: Iterable[Path] = (), on_slow: Callable[[], None] | None = None) -> Iterator[Executor]:
    """Yield an executor for loaders of datasets, and close it at the end.

    Parameters
    ----------
    folders : iterable of Path
        Folders of plugins, from which jobs import their code.
    on_slow : callable, optional
        Called when an imported module has to compile its kernels first.
    """
    executor = start_executor(LOADERS)
    try:
        executor.prepare(Workplace(path=paths_of(folders)), on_slow)
        yield executor
    finally:
        executor.close()


def paths_of(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the absolute paths of folders, as `Workplace.path` expects them."""
    return tuple(str(folder.resolve()) for folder in folders)


# -- the executor ----------------------------------------------------------------------------------------------------

ATTEMPTS = 3
"""The number of times that a job is passed to a server if no supervisor reports that it has begun."""
SPARE_FILES = 100
"""The number of open files that is reserved for the host itself."""
CLOSE_SECONDS = 5.0
"""The time that `close` gives a supervisor to clean up before it kills the supervisor."""
LOOK_SECONDS = 5.0
"""The time between two checks of supervisors that send nothing. A supervisor that is stopped enforces no limits."""


class LocalExecutor:
    """Runs jobs on this machine with fork servers; see `harness.executors.base.Executor`.

    The first server imports the `common` modules, and runs the jobs of groups without modules to preload. It forks
    another server for each group with such modules, so side effects of their import stay within the group. A group
    with a different interpreter has a server that runs in this interpreter.

    As a context manager, the executor starts its servers, and stops them and all running jobs at the end.

    Parameters
    ----------
    workplace : Workplace, optional
        The settings for jobs. They can be set later with `prepare`.
    common : iterable of str
        Modules that the first server imports. Importing them must have no side effects.
    threads : int, default=1
        The number of threads that each job may use, if there is no workplace.
    """

    def __init__(self, workplace: Workplace | None = None, *, common: Iterable[str] = (), threads: int = 1) -> None:
        self._workplace = workplace or Workplace(threads=threads)
        self._is_settled = workplace is not None
        self._common = tuple(common)
        self._first: ForkServer | None = None
        self._groups: dict[str, ForkServer] = {}
        self._running: dict[socket.socket, RunningJob] = {}
        self._on_slow: Callable[[], None] | None = None

    def __enter__(self) -> LocalExecutor:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the first server, which imports its modules in the background."""
        self._first = ForkServer(partial(start_process, self._common, self._workplace.threads))
        self._first.start()
        if self._is_settled:
            self._settle()

    def prepare(self, workplace: Workplace, on_slow: Callable[[], None] | None = None) -> None:
        """Set up the processes of jobs; this can be called again with other settings.

        Running servers are kept if the new settings only add groups. Otherwise they may be replaced.

        Parameters
        ----------
        workplace : Workplace
            The settings for all jobs from now on.
        on_slow : callable, optional
            Called when an imported module has to compile its kernels first.
        """
        self._on_slow = on_slow
        before, was_settled = self._workplace, self._is_settled
        self._workplace, self._is_settled = workplace, True
        can_stay = self._first is not None and before.threads == workplace.threads
        if can_stay and not was_settled:
            self._settle()
            return
        adds_only = before.preload.items() <= workplace.preload.items()
        adds_only = adds_only and before.interpreters.items() <= workplace.interpreters.items()
        if can_stay and before.path == workplace.path and adds_only:
            self._fork_groups()
            return
        # A process reads its number of threads from environment variables at its start, and keeps what it imported.
        self._stop_servers()
        self.start()

    def _settle(self) -> None:
        """Send the import path to the first server, and start the servers of all groups."""
        assert self._first is not None
        self._first.on_slow = self._on_slow
        self._first.prepare(Preparation(path=self._workplace.path))
        self._fork_groups()

    def _fork_groups(self) -> None:
        """Start servers for groups with modules to preload or a different interpreter, unless they are running."""
        for group in {**self._workplace.preload, **self._workplace.interpreters}:
            self._server_of(group)

    def _server_of(self, group: str) -> ForkServer:
        """Return the server of a group, and start it if needed."""
        assert self._first is not None
        modules = tuple(self._workplace.preload.get(group, ()))
        interpreter = self._workplace.interpreters.get(group)
        if not modules and interpreter is None:
            return self._first
        if group not in self._groups:
            begin = partial(fork_from, self._first)
            if interpreter is not None:
                begin = partial(start_process, self._common, self._workplace.threads, interpreter)
            server = ForkServer(begin)
            self._groups[group] = server
            server.on_slow = self._on_slow
            server.start()
            server.prepare(Preparation(modules, self._workplace.path, has_own_packages=interpreter is not None))
        return self._groups[group]

    def server_pids(self) -> list[int]:
        """Return the pids of all servers whose pid is known, beginning with the first server."""
        servers = [*([self._first] if self._first else []), *self._groups.values()]
        return [server.pid for server in servers if server.pid is not None]

    def close(self) -> None:
        """Stop all jobs and servers. A supervisor kills its job when the channel to the host closes."""
        while self._running:
            channel, running = self._running.popitem()
            # Close one direction, and wait until the supervisor has cleaned up and closes the other direction.
            with contextlib.suppress(OSError), channel:
                channel.shutdown(socket.SHUT_WR)
                channel.settimeout(CLOSE_SECONDS)
                try:
                    while channel.recv(1 << 16):
                        pass
                except TimeoutError:
                    _kill_supervisor(running)
        self._stop_servers()

    def abandon(self) -> None:
        """Let supervisors kill all running jobs; `run` then yields them. This can be called from any thread."""
        for channel in list(self._running):
            with contextlib.suppress(OSError):  # the job has just ended
                channel.shutdown(socket.SHUT_WR)

    def _stop_servers(self) -> None:
        for server in self._groups.values():
            server.stop()
        self._groups.clear()
        if self._first is not None:
            self._first.stop()
            self._first = None

    def run(
        self, jobs: Iterable[Job], *, at_once: int = 1, on_phase: OnPhase | None = None
    ) -> Iterator[tuple[Job, JobEnd]]:
        """Run jobs, at most `at_once` at a time, and yield each job with its end.

        While this iterator is suspended, the caller may run other jobs with another call of `run`.

        Parameters
        ----------
        jobs : iterable of Job
            Jobs in the order in which they start.
        at_once : int, default=1
            The largest number of jobs that run at the same time.
        on_phase : OnPhase, optional
            Called with a job and its new phase.

        Raises
        ------
        HarnessError
            If so many jobs need more open files than this process may have, if a payload cannot be pickled, or if a
            server cannot be started.
        """
        _check_files(at_once)
        waiting = iter(jobs)
        with selectors.DefaultSelector() as selector:
            while True:
                while len(selector.get_map()) < at_once and (job := next(waiting, None)) is not None:
                    self._submit(RunningJob(job), selector)
                    if on_phase:
                        on_phase(job, "start")
                if not selector.get_map():
                    return
                ready = selector.select(_patience(selector))
                for key, _ in ready:
                    channel, running = key.fileobj, key.data
                    assert isinstance(channel, socket.socket)
                    if listen(channel, running, on_phase):
                        continue
                    self._forget(channel, selector)
                    if running.supervisor is not None or running.attempt == ATTEMPTS:
                        yield running.job, conclude(running)
                    else:  # the server was killed before it forked a supervisor
                        self._submit(RunningJob(running.job, running.attempt + 1), selector)
                if not ready:  # after a suspension of the host, jobs look overdue though their messages have arrived
                    yield from self._end_overdue(selector)

    def _end_overdue(self, selector: selectors.BaseSelector) -> Iterator[tuple[Job, JobEnd]]:
        """Kill and yield jobs whose supervisor does not react. Pass jobs that have not begun to a new server."""
        now = time.monotonic()
        for key in list(selector.get_map().values()):
            channel, running = key.fileobj, key.data
            assert isinstance(channel, socket.socket)
            running.check_supervisor(now)
            if now < running.overdue_at:
                continue
            self._forget(channel, selector)
            if running.supervisor is not None:
                _kill_supervisor(running)
                yield running.job, give_up(running)
            elif running.attempt == ATTEMPTS:
                yield running.job, conclude(running)
            else:
                self._server_of(running.job.group).restart()
                self._submit(RunningJob(running.job, running.attempt + 1), selector)

    def _submit(self, running: RunningJob, selector: selectors.BaseSelector) -> None:
        """Pass a job to the server of its group, and register the channel to its supervisor."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._server_of(running.job.group).hand_over(theirs)
        running.handed_over = time.monotonic()
        with contextlib.suppress(OSError):  # the supervisor has ended, which `run` detects
            _send_job(ours, running.job, self._workplace)
        self._running[ours] = running
        selector.register(ours, selectors.EVENT_READ, running)

    def _forget(self, channel: socket.socket, selector: selectors.BaseSelector) -> None:
        """Close the channel to a supervisor, and remove its job from the running ones."""
        selector.unregister(channel)
        del self._running[channel]
        channel.close()


def _patience(selector: selectors.BaseSelector) -> float:
    """Return the seconds to wait for the next frame before supervisors are checked."""
    overdue_at: float = min(key.data.overdue_at for key in selector.get_map().values())
    return min(max(0.0, overdue_at - time.monotonic()), LOOK_SECONDS)


def _send_job(channel: socket.socket, job: Job, workplace: Workplace) -> None:
    """Send a job to its supervisor. A sealable payload is sent in its sealed form only."""
    job = replace(job, hidden=workplace.hidden, read_only=workplace.read_only)
    if not isinstance(job.payload, Sealable):
        channel.sendall(wire.pack(wire.JOB, pickle_job(job)))
        return
    sealed = job.payload.sealed()
    sent = replace(job, payload=sealed.payload, inputs=(), affinity="")
    sent = replace(sent, hidden=(*sealed.hidden, *workplace.hidden), shown=sealed.shown)
    with sealed.file as file:
        channel.sendall(wire.pack(wire.JOB, pickle_job(sent)))
        socket.send_fds(channel, [wire.FILE], [file.fileno()])


def _kill_supervisor(running: RunningJob) -> None:
    """Kill a supervisor and its descendants, if its pid is known.

    The channel to the supervisor must still be open. The pid then cannot belong to another process.
    """
    if running.supervisor is not None:
        kill_tree(running.supervisor)


def _check_files(at_once: int) -> None:
    """Raise HarnessError if `at_once` jobs need more open files than this process may have."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and at_once > most - SPARE_FILES:
        raise HarnessError(
            f"{at_once:,} trials at once need more open files than the limit of this process, {most:,}",
            culprit="jobs",
            next_step="Use fewer with --jobs, or raise the limit with `ulimit -n`.",
        )


def pickle_job(job: Job) -> bytes:
    """Return a job as bytes.

    Parameters
    ----------
    job : Job
        The job.

    Raises
    ------
    HarnessError
        If its payload cannot be pickled.
    """
    try:
        return pickle.dumps(job)
    except Exception as error:  # a value that cannot be pickled may raise any error
        raise HarnessError(
            f"the job {job.target} cannot be sent to a process: {type(error).__name__}: {error}"
        ) from error


# -- a running job ---------------------------------------------------------------------------------------------------

BEGIN_SECONDS = 30.0
"""The time that a supervisor has to report its pid. A working server needs a small part of it."""
GRACE_SECONDS = 10.0
"""The time that a supervisor may stay stopped, and the time it has to report a job that exceeded its time limit."""
MOST_PHASES = 10_000
"""A job that reports more phases than this counts as broken."""


@dataclass
class RunningJob:
    """A job that was passed to a server, and everything that its supervisor has reported so far."""

    job: Job
    attempt: int = 1
    """1 for the first server that the job is passed to, 2 for the second, and so on."""
    handed_over: float = field(default_factory=time.monotonic)
    """The monotonic time at which the job was passed to the server."""
    supervisor: int | None = None
    """The pid of the supervisor; None until it is reported, which means that the job has begun."""
    reader: wire.FrameReader = field(default_factory=wire.FrameReader)
    """Reads the frames of the supervisor."""
    words: wire.FrameReader = field(init=False)
    """Reads the frames of the job itself. A job that writes invalid frames cannot damage those of the supervisor."""
    garbled: str = ""
    """The reason why the job's frames cannot be read; empty if they can."""
    phase: str = ""
    """The last phase that the job has entered."""
    phases: int = 0
    """The number of phases that the job has entered."""
    answer: Any = None
    answered: bool = False
    blob: bytes | None = None
    is_exposed: bool = False
    end: ProcessEnd | None = None
    stopped_at: float | None = None
    """The monotonic time of the first check that found the supervisor stopped; None if the last check did not."""

    def __post_init__(self) -> None:
        self.words = wire.FrameReader(wire.most_bytes_of(self.job.blob_bytes))

    @property
    def overdue_at(self) -> float:
        """The monotonic time at which the host gives up on the supervisor."""
        if self.supervisor is None:
            return self.handed_over + BEGIN_SECONDS
        limit_at = self.handed_over + self.job.most_seconds
        stopped_at = float("inf") if self.stopped_at is None else self.stopped_at
        return min(limit_at, stopped_at) + GRACE_SECONDS

    def check_supervisor(self, now: float) -> None:
        """Update `stopped_at`, since a supervisor that is stopped enforces no limits."""
        if self.supervisor is None or not SYSTEM.is_stopped(self.supervisor):
            self.stopped_at = None
        elif self.stopped_at is None:
            self.stopped_at = now


def listen(channel: socket.socket, running: RunningJob, on_phase: OnPhase | None) -> bool:
    """Read the frames that have arrived from a supervisor, and add their content to `running`.

    Parameters
    ----------
    channel : socket
        The channel to the supervisor.
    running : RunningJob
        The job of this supervisor.
    on_phase : callable or None
        Called for each phase that the job has entered.

    Returns
    -------
    bool
        False if the supervisor has reported the end of the job, or has closed the channel.
    """
    try:
        data = channel.recv(1 << 20)
    except ConnectionResetError:
        data = b""
    for tag, content in running.reader.feed(data):
        if tag == wire.END:
            running.end = ProcessEnd(**json.loads(content))
        elif tag == wire.PID:
            running.supervisor = int(content)
        elif tag == wire.WORDS:
            for phase in _take(content, running):
                if on_phase:
                    on_phase(running.job, phase)
    return bool(data) and running.end is None


def _take(words: bytes, running: RunningJob) -> list[str]:
    """Read frames of the job itself, and return the names of the phases that it has entered."""
    phases: list[str] = []
    if running.garbled:
        return phases
    try:
        for tag, content in running.words.feed(words):
            if tag == wire.PHASE:
                running.phase = content.decode()
                running.phases += 1
                phases.append(running.phase)
                if running.phases > MOST_PHASES:
                    raise ValueError(f"more than {MOST_PHASES:,} phases")
            elif tag == wire.VISIBLE:
                running.is_exposed = True
            elif tag == wire.BLOB:
                running.blob = content
            elif tag == wire.RESULT:
                running.answer, running.answered = json.loads(content), True
    except (ValueError, RecursionError) as error:  # an invalid or too large frame, invalid UTF-8, or invalid JSON
        running.garbled = in_a_line(str(error), MESSAGE_LENGTH)
    return phases


def give_up(running: RunningJob) -> JobEnd:
    """Return the end of a job that was killed because its supervisor was stopped, or got no processor time."""
    seconds, limit = time.monotonic() - running.handed_over, running.job.most_seconds
    status: JobStatus = "crash"
    message = f"killed{_where(running)}: its supervisor had been stopped"
    if seconds > limit:
        status, message = (
            "timeout",
            f"killed{_where(running)}: over the limit of {limit:g} s, and its supervisor had been stopped",
        )
    return JobEnd(status, message=message, phase=running.phase, seconds=seconds)


def conclude(running: RunningJob) -> JobEnd:
    """Return the end of a job whose supervisor has reported it, or has closed the channel without a report."""
    end = running.end
    if end is None:
        return JobEnd("crash", message="the process that watched the trial was killed", phase=running.phase)
    status, message = _judge(running, end)
    complete = JobEnd(
        status,
        running.answer,
        running.blob,
        message,
        running.phase,
        end.seconds,
        end.output,
        end.processes,
        end.cpu_seconds,
        running.is_exposed,
    )
    return complete if status == "ok" else replace(complete, answer=None, blob=None)


def _judge(running: RunningJob, end: ProcessEnd) -> tuple[JobStatus, str]:
    """Return the status of a job and the message to it, which is empty for "ok"."""
    where = _where(running)
    if running.answered and not running.garbled and not end.killed:
        return "ok", ""
    if end.killed == "timeout":
        limit = running.job.most_seconds if running.phase.startswith(TUNING) else running.job.timeout_seconds
        return "timeout", f"killed{where}: over the limit of {limit:g} s"
    if end.killed == "memory":
        most = (running.job.memory_bytes or 0) / 1e6
        return "memory", f"killed{where}: {end.held_bytes / 1e6:.0f} MB resident, limit {most:.0f} MB"
    if end.exit_code < 0:
        return "crash", f"ended by {_name_signal(-end.exit_code)}{where}"
    if running.garbled:
        return "crash", f"the answer of the process{where} cannot be read: {running.garbled}"
    return "crash", f"the process ended with exit code {end.exit_code}{where} and returned no result"


def _where(running: RunningJob) -> str:
    """Return " during PHASE" for messages; empty if the job has entered no phase."""
    return f" during {running.phase}" if running.phase else ""


def _name_signal(number: int) -> str:
    """Return the name of a signal, with a hint for SIGKILL."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name} (the machine may have run out of memory)" if name == "SIGKILL" else name
