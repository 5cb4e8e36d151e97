"""Runs jobs on this machine: a process each, forked warm, with hard limits on time and memory."""

from __future__ import annotations

import contextlib
import pickle
import resource
import selectors
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import TracebackType

from harness.errors import HarnessError
from harness.executors import frames
from harness.executors.base import Job, JobEnd, OnPhase, Workplace
from harness.executors.cleaning import kill_tree
from harness.executors.hearing import RunningJob, conclude, give_up, listen
from harness.executors.serving import ForkServer, Preparation, fork_from, start_process

ATTEMPTS = 3
SPARE_FILES = 100
"""Files that the host itself has open, or will have."""
CLOSE_SECONDS = 5.0
LOOK_SECONDS = 5.0
"""How long to wait, with nothing heard, until it is looked whether a supervisor has been stopped."""


class LocalExecutor:
    """Fork servers and the jobs they run. Use as a context manager: leaving it kills whatever still runs.

    The first server starts at once and imports the `common` modules, which must be harmless; jobs that want nothing
    more run from it. Jobs of a group that wants modules imported ahead run from a server that the first one forks: what
    a module changes when it is imported, it changes for its own group. A group with a Python of its own has a server of
    that Python.
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
        """Start the first server; it imports its modules while the host goes on."""
        self._first = ForkServer(partial(start_process, self._common, self._workplace.threads))
        self._first.start()
        if self._is_settled:
            self._settle()

    def prepare(self, workplace: Workplace, on_slow: Callable[[], None] | None = None) -> None:
        """Settle what jobs find; `on_slow` is called where kernels have to be compiled first.

        It may be called again: where only modules to import ahead are new, the servers that run stay.
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
        self._stop_servers()  # threads are in the environment that it was started with, and paths cannot be taken back
        self.start()

    def _settle(self) -> None:
        """Tell the first server where to import from, and have the others forked: they import meanwhile."""
        assert self._first is not None
        self._first.on_slow = self._on_slow
        self._first.prepare(Preparation(path=self._workplace.path))
        self._fork_groups()

    def _fork_groups(self) -> None:
        """Have a server begin for each group that wants modules imported ahead or a Python of its own, and has none."""
        for group in {**self._workplace.preload, **self._workplace.interpreters}:
            self._server_of(group)

    def _server_of(self, group: str) -> ForkServer:
        """The server of a group; the first one where it wants nothing imported ahead, and no Python of its own."""
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
        """The processes of its servers, the first one's first."""
        servers = [*([self._first] if self._first else []), *self._groups.values()]
        return [server.pid for server in servers if server.pid is not None]

    def close(self) -> None:
        """End the servers and every job; supervisors kill their jobs when their channel closes."""
        while self._running:
            channel, running = self._running.popitem()
            # Half-close and wait for the other end's close: once it comes, the supervisor has cleaned up and gone.
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
        """Have every running job ended by its supervisor, from any thread; whoever runs them hears that they ended."""
        for channel in list(self._running):
            with contextlib.suppress(OSError):  # it has just ended by itself
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
        """Run the jobs, so many at once, and give each back as it ends."""
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
                ready = selector.select(self._patience())
                for key, _ in ready:
                    channel, running = key.fileobj, key.data
                    assert isinstance(channel, socket.socket)
                    if listen(channel, running, on_phase):
                        continue
                    self._forget(channel, selector)
                    if running.supervisor is not None or running.attempt == ATTEMPTS:
                        yield running.job, conclude(running)
                    else:  # the server was killed with the job in its hands
                        self._submit(RunningJob(running.job, running.attempt + 1), selector)
                if not ready:  # what was heard comes first: the host may have been asleep itself
                    yield from self._end_overdue(selector)

    def _patience(self) -> float:
        """How long to wait until something must have been heard, or until it is looked why nothing is."""
        overdue_at = min(running.overdue_at for running in self._running.values())
        return min(max(0.0, overdue_at - time.monotonic()), LOOK_SECONDS)

    def _end_overdue(self, selector: selectors.BaseSelector) -> Iterator[tuple[Job, JobEnd]]:
        """Kill what is not ended by its supervisor; what no server has begun is handed to a new one."""
        now = time.monotonic()
        for channel, running in list(self._running.items()):
            running.look(now)
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
        ours, theirs = socket.socketpair()
        with theirs:
            self._server_of(running.job.group).hand_over(theirs)
        running.handed_over = time.monotonic()
        with contextlib.suppress(OSError):  # where nobody listens any more, nothing will be heard either
            ours.sendall(frames.pack(frames.JOB, pickle_job(running.job)))
        self._running[ours] = running
        selector.register(ours, selectors.EVENT_READ, running)

    def _forget(self, channel: socket.socket, selector: selectors.BaseSelector) -> None:
        selector.unregister(channel)
        del self._running[channel]
        channel.close()


def _kill_supervisor(running: RunningJob) -> None:
    """Kill a supervisor that does not answer, and all below it; its channel is open, so the process is still it."""
    if running.supervisor is not None:
        kill_tree(running.supervisor)


def _check_files(at_once: int) -> None:
    """HarnessError where so many jobs at once need more open files than this process may have."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and at_once > most - SPARE_FILES:
        raise HarnessError(
            f"{at_once:,} trials at once need more open files than the {most:,} that this process may have",
            culprit="jobs",
            next_step="ask for fewer with --jobs, or allow more with `ulimit -n`",
        )


def pickle_job(job: Job) -> bytes:
    """A job on its way to its process, where its classes are imported when it is read."""
    try:
        return pickle.dumps(job)
    except Exception as error:  # whatever a value says that cannot be pickled
        raise HarnessError(
            f"the job {job.target} cannot be sent to a process: {type(error).__name__}: {error}"
        ) from error
