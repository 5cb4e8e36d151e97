"""Runs jobs on this machine: a process each, forked warm, with hard limits on time and memory."""

from __future__ import annotations

import contextlib
import pickle
import selectors
import socket
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType

from harness.errors import HarnessError
from harness.executors import frames
from harness.executors.base import Job, JobEnd, OnPhase, Workplace
from harness.executors.hearing import RunningJob, conclude, listen
from harness.executors.serving import ForkServer, Preparation

ATTEMPTS = 3


class LocalExecutor:
    """Fork servers and the jobs they run. Use as a context manager: leaving it kills whatever still runs.

    Jobs of one group share a server, jobs of different groups share none: what a module changes when it is imported
    ahead, it changes for its own group. The first server starts at once and imports the `common` modules, which must
    be harmless; it becomes that of the first group that `prepare` names. Others start when their first job comes.
    """

    def __init__(self, workplace: Workplace | None = None, *, common: Iterable[str] = (), threads: int = 1) -> None:
        self._workplace = workplace or Workplace(threads=threads)
        self._is_settled = workplace is not None
        self._common = tuple(common)
        self._first: ForkServer | None = None
        """The server that is started ahead, until a group takes it."""
        self._servers: dict[str, ForkServer] = {}
        self._channels: set[socket.socket] = set()
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
        self._first = ForkServer(self._common, self._workplace.threads)
        self._first.start()
        if self._is_settled:
            self._give_first_away()

    def prepare(self, workplace: Workplace, on_slow: Callable[[], None] | None = None) -> None:
        """Settle what jobs find; `on_slow` is called once where a server's imports take long."""
        self._on_slow = on_slow
        changed_threads = workplace.threads != self._workplace.threads
        self._workplace, self._is_settled = workplace, True
        self._stop_servers(self._servers.values())
        self._servers.clear()
        if self._first is not None and changed_threads:  # they are in the environment that it was started with
            self._stop_servers([self._first])
            self._first = None
        if self._first is None:
            self.start()
        else:
            self._give_first_away()

    def _give_first_away(self) -> None:
        group = next(iter(self._workplace.preload), "")
        self._server_of(group)

    def _server_of(self, group: str) -> ForkServer:
        """The server of a group; a group that wants nothing imported ahead still has one that others cannot touch."""
        if group in self._servers:
            return self._servers[group]
        if self._first is not None:
            server, self._first = self._first, None
        else:
            server = ForkServer(self._common, self._workplace.threads)
            server.start()
        self._servers[group] = server
        server.on_slow = self._on_slow
        server.prepare(Preparation(tuple(self._workplace.preload.get(group, ())), self._workplace.path))
        return server

    def server_pids(self) -> list[int]:
        """The processes of its servers, the one that waits to be told what for included."""
        servers = list(self._servers.values())
        if self._first is not None:
            servers.append(self._first)
        return [server.pid for server in servers if server.pid is not None]

    def close(self) -> None:
        """End the servers and every job; supervisors kill their jobs when their channel closes."""
        for channel in list(self._channels):
            self._channels.discard(channel)
            # Half-close and wait for the other end's close: once it comes, the supervisor has cleaned up and gone.
            with contextlib.suppress(OSError), channel:
                channel.shutdown(socket.SHUT_WR)
                channel.settimeout(5)
                while channel.recv(1 << 16):
                    pass
        if self._first is not None:
            self._stop_servers([self._first])
            self._first = None
        self._stop_servers(self._servers.values())
        self._servers.clear()

    @staticmethod
    def _stop_servers(servers: Iterable[ForkServer]) -> None:
        for server in servers:
            server.stop()

    def run(
        self, jobs: Iterable[Job], *, at_once: int = 1, on_phase: OnPhase | None = None
    ) -> Iterator[tuple[Job, JobEnd]]:
        """Run the jobs, so many at once, and give each back as it ends."""
        waiting = iter(jobs)
        with selectors.DefaultSelector() as selector:
            while True:
                while len(selector.get_map()) < at_once and (job := next(waiting, None)) is not None:
                    selector.register(self._submit(job), selectors.EVENT_READ, RunningJob(job))
                    if on_phase:
                        on_phase(job, "start")
                if not selector.get_map():
                    return
                for key, _ in selector.select():
                    channel, running = key.fileobj, key.data
                    assert isinstance(channel, socket.socket)
                    if listen(channel, running, on_phase):
                        continue
                    selector.unregister(channel)
                    self._channels.discard(channel)
                    channel.close()
                    if running.begun or running.attempt == ATTEMPTS:
                        yield running.job, conclude(running)
                    else:  # the server was killed with the job in its hands
                        again = RunningJob(running.job, running.attempt + 1)
                        selector.register(self._submit(running.job), selectors.EVENT_READ, again)

    def _submit(self, job: Job) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._server_of(job.group).hand_over(theirs)
        with contextlib.suppress(OSError):  # where nobody listens any more, nothing will be heard either
            ours.sendall(frames.pack(frames.JOB, pickle_job(job)))
        self._channels.add(ours)
        return ours


def pickle_job(job: Job) -> bytes:
    """A job on its way to its process, where its classes are imported when it is read."""
    try:
        return pickle.dumps(job)
    except Exception as error:  # whatever a value says that cannot be pickled
        raise HarnessError(
            f"the job {job.target} cannot be sent to a process: {type(error).__name__}: {error}"
        ) from error
