"""Runs jobs on this machine: a process each, forked warm, with hard limits on time and memory."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import selectors
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import TracebackType

from harness.errors import HarnessError
from harness.executors import frames
from harness.executors.base import Job, JobEnd, OnPhase, Workplace
from harness.executors.hearing import RunningJob, conclude, listen

SLOW_SECONDS, HOPELESS_SECONDS = 5.0, 900.0
ATTEMPTS = 3
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class LocalExecutor:
    """A fork server and the jobs it runs. Use as a context manager: leaving it kills whatever still runs.

    The server starts at once and imports the `common` modules, which must be harmless; what else jobs shall find it is
    told by `prepare`. Without a workplace of its own at the start it waits to be told one.
    """

    def __init__(self, workplace: Workplace | None = None, *, common: Iterable[str] = (), threads: int = 1) -> None:
        self._workplace = workplace
        self._threads = workplace.threads if workplace else threads
        self._common = tuple(common)
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
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
        """Start the server; it imports its modules while the host goes on."""
        ours, theirs = socket.socketpair()
        self._server = subprocess.Popen(
            [sys.executable, "-P", "-m", "harness.executors.server", str(theirs.fileno()), *self._common],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a module prints when imported is no answer of the host's
            env=self._environment(),
            start_new_session=True,  # Ctrl-C is the host's to handle
        )
        theirs.close()
        self._control, self._ready = ours, False
        if self._workplace is not None:
            self._tell(self._workplace)

    def _environment(self) -> dict[str, str]:
        # BLAS libraries start their threads when they are loaded, so the server's own limit is one, always; a trial
        # raises it when it has its own process. OpenMP and numba start theirs on first use.
        environment = os.environ | dict.fromkeys(BLAS_VARIABLES, "1")
        environment |= {"OMP_NUM_THREADS": str(self._threads), "NUMBA_NUM_THREADS": str(self._threads)}
        environment |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
        # Where pyarrow is installed, pandas loads it, and with it an allocator that would start a thread at once.
        environment["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
        return environment

    def prepare(self, workplace: Workplace, on_slow: Callable[[], None] | None = None) -> None:
        """Tell the server what jobs shall find; `on_slow` is called once where its imports take long."""
        self._on_slow = on_slow
        self._workplace = workplace
        if workplace.threads != self._threads:  # they are in the environment that it was started with
            self._threads = workplace.threads
            self._stop_server()
            self.start()
        else:
            self._tell(workplace)

    def _tell(self, workplace: Workplace) -> None:
        assert self._control is not None
        setup = {"preload": workplace.preload, "path": [*workplace.path, *_import_path()]}
        with contextlib.suppress(OSError):  # a server that has died is noticed when a job is handed over
            self._control.sendall(json.dumps(setup).encode())

    def close(self) -> None:
        """End the server and every job; supervisors kill their jobs when their channel closes."""
        for channel in list(self._channels):
            self._channels.discard(channel)
            # Half-close and wait for the other end's close: once it comes, the supervisor has cleaned up and gone.
            with contextlib.suppress(OSError), channel:
                channel.shutdown(socket.SHUT_WR)
                channel.settimeout(5)
                while channel.recv(1 << 16):
                    pass
        self._stop_server()

    def _stop_server(self) -> None:
        """End the server alone: the jobs that run have their supervisors, and go on without it."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._server is not None:
            self._server.kill()  # it may be in the middle of an import
            self._server.wait()
            self._server = None

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
            try:
                self._hand_over(theirs)
            except OSError:  # somebody killed the server: a new one serves as well
                self._stop_server()
                self.start()
                self._hand_over(theirs)
        with contextlib.suppress(OSError):  # where nobody listens any more, nothing will be heard either
            ours.sendall(frames.pack(frames.JOB, pickle_job(job)))
        self._channels.add(ours)
        return ours

    def _hand_over(self, channel: socket.socket) -> None:
        self._wait_until_ready()
        assert self._control is not None
        socket.send_fds(self._control, [b"j"], [channel.fileno()])

    def _wait_until_ready(self) -> None:
        while not self._ready:
            unfit = self._follow_start()
            if unfit is None:
                self._ready = True
                return
            warnings.warn(f"module {unfit.module!r} {unfit.reason}: not preloaded", stacklevel=2)
            assert self._workplace is not None
            others = tuple(module for module in self._workplace.preload if module != unfit.module)
            self._workplace = replace(self._workplace, preload=others)
            self._stop_server()
            self.start()

    def _follow_start(self) -> _Unfit | None:
        """Wait while the server imports its modules; gives the first that must not be among them, and why."""
        assert self._control is not None
        reader, module = frames.FrameReader(), ""
        self._control.settimeout(SLOW_SECONDS)
        while True:
            try:
                data = self._control.recv(1 << 16)
            except TimeoutError:
                if self._control.gettimeout() == HOPELESS_SECONDS:
                    return _blame(module, f"takes over {HOPELESS_SECONDS:g} s to import")
                if self._on_slow:
                    self._on_slow()
                self._control.settimeout(HOPELESS_SECONDS)
                continue
            if not data:
                return _blame(module, "ended the process that imported it")
            for tag, content in reader.feed(data):
                if tag == frames.RESULT:
                    self._control.settimeout(None)
                    threaded = json.loads(content)
                    return _Unfit(threaded, "starts threads when imported") if threaded else None
                module = content.decode()


@dataclass(frozen=True)
class _Unfit:
    """A module that cannot be preloaded, and why."""

    module: str
    reason: str


def _blame(module: str, reason: str) -> _Unfit:
    if not module:
        raise HarnessError("the fork server did not start; its message, if it had one, stands above")
    return _Unfit(module, reason)


def pickle_job(job: Job) -> bytes:
    """A job on its way to its process, where its classes are imported when it is read."""
    try:
        return pickle.dumps(job)
    except Exception as error:  # whatever a value says that cannot be pickled
        raise HarnessError(
            f"the job {job.target} cannot be sent to a process: {type(error).__name__}: {error}"
        ) from error


def _import_path() -> list[str]:
    """What this process can import and a fresh interpreter could not."""
    return [path for path in sys.path if path]
