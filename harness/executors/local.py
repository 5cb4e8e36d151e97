"""Runs jobs on this machine: a process each, forked warm, with hard limits on time and memory."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

from harness.errors import HarnessError
from harness.executors import frames

Status = Literal["ok", "timeout", "memory", "crash"]
SLOW_SECONDS, HOPELESS_SECONDS = 5.0, 900.0
ATTEMPTS = 3
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Job:
    """A function "module:name" to call in a process of its own with a payload and a way to tell its phase.

    The payload holds plain values. The function gives back a JSON answer and, where it wants, bytes.
    """

    target: str
    payload: Any
    timeout_seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class JobEnd:
    """How a job ended. `answer` is there if and only if the status is ok."""

    status: Status
    answer: Any = None
    blob: bytes | None = None
    message: str = ""
    phase: str = ""
    seconds: float = 0.0
    output: str = ""


@dataclass
class _Running:
    job: Job
    attempt: int = 1
    begun: bool = False
    reader: frames.FrameReader = field(default_factory=frames.FrameReader)
    words: frames.FrameReader = field(default_factory=frames.FrameReader)
    """The job's own frames, apart from the supervisor's: what a job breaks off or garbles spoils nothing else."""
    garbled: bool = False
    phase: str = ""
    answer: Any = None
    answered: bool = False
    blob: bytes | None = None
    end: dict[str, Any] | None = None


class LocalExecutor:
    """A fork server and the jobs it runs. Use as a context manager: leaving it kills whatever still runs.

    The server starts at once and imports the `common` modules, which must be harmless; what else it shall `preload`
    can be told it later by `prepare`.
    """

    def __init__(
        self,
        *,
        preload: Iterable[str] | None = (),
        threads: int = 1,
        path: Iterable[str] = (),
        common: Iterable[str] = (),
    ) -> None:
        self._preload = None if preload is None else list(dict.fromkeys(preload))
        self._threads, self._path, self._common = threads, list(path), list(common)
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
        self._channels: set[socket.socket] = set()
        self.on_slow: Callable[[], None] = lambda: None
        """Called once when the server takes long to start, as it does while it compiles."""

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
        # BLAS libraries start their threads when they are loaded, so the server's own limit is one, always; a trial
        # raises it when it has its own process. OpenMP and numba start theirs on first use.
        environment = os.environ | dict.fromkeys(BLAS_VARIABLES, "1")
        environment |= {"OMP_NUM_THREADS": str(self._threads), "NUMBA_NUM_THREADS": str(self._threads)}
        environment |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
        # Where pyarrow is installed, pandas loads it, and with it an allocator that would start a thread at once.
        environment["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
        self._server = subprocess.Popen(
            [sys.executable, "-P", "-m", "harness.executors.server", str(theirs.fileno()), *self._common],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a module prints when imported is no answer of the host's
            env=environment,
            start_new_session=True,  # Ctrl-C is the host's to handle
        )
        theirs.close()
        self._control, self._ready = ours, False
        if self._preload is not None:
            self._tell()

    def prepare(self, *, preload: Iterable[str], threads: int, path: Iterable[str]) -> None:
        """Tell a server that was started without a list of modules what to preload, and where from."""
        if threads != self._threads:  # they are in the environment that it was started with
            self._threads = threads
            self._stop_server()
            self.start()
        self._preload, self._path = list(dict.fromkeys(preload)), list(path)
        self._tell()

    def _tell(self) -> None:
        assert self._control is not None
        setup = {"preload": self._preload, "path": [*self._path, *_extra_path()]}
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
        self, jobs: Iterable[Job], *, at_once: int = 1, on_phase: Callable[[Job, str], None] | None = None
    ) -> Iterator[tuple[Job, JobEnd]]:
        """Run the jobs, so many at once, and give each back as it ends."""
        waiting = iter(jobs)
        with selectors.DefaultSelector() as selector:
            while True:
                while len(selector.get_map()) < at_once and (job := next(waiting, None)) is not None:
                    selector.register(self._submit(job), selectors.EVENT_READ, _Running(job))
                    if on_phase:
                        on_phase(job, "start")
                if not selector.get_map():
                    return
                for key, _ in selector.select():
                    channel, running = key.fileobj, key.data
                    assert isinstance(channel, socket.socket)
                    if _listen(channel, running, on_phase):
                        continue
                    selector.unregister(channel)
                    self._channels.discard(channel)
                    channel.close()
                    if running.begun or running.attempt == ATTEMPTS:
                        yield running.job, _conclude(running)
                    else:  # the server was killed with the job in its hands
                        again = _Running(running.job, running.attempt + 1)
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
        content = {
            "target": job.target,
            "payload": job.payload,
            "timeout_seconds": job.timeout_seconds,
            "memory_bytes": job.memory_bytes,
        }
        with contextlib.suppress(OSError):  # where nobody listens any more, nothing will be heard either
            ours.sendall(frames.pack(frames.JOB, pickle.dumps(content)))
        self._channels.add(ours)
        return ours

    def _hand_over(self, channel: socket.socket) -> None:
        self._wait_until_ready()
        assert self._control is not None
        socket.send_fds(self._control, [b"j"], [channel.fileno()])

    def _wait_until_ready(self) -> None:
        while not self._ready:
            trouble = self._follow_start()
            if trouble is None:
                self._ready = True
                return
            module, why = trouble
            warnings.warn(f"module {module!r} {why}: not preloaded", stacklevel=2)
            assert self._preload is not None
            self._preload.remove(module)
            self._stop_server()
            self.start()

    def _follow_start(self) -> tuple[str, str] | None:
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
                self.on_slow()
                self._control.settimeout(HOPELESS_SECONDS)
                continue
            if not data:
                return _blame(module, "ended the process that imported it")
            for tag, content in reader.feed(data):
                if tag == frames.RESULT:
                    self._control.settimeout(None)
                    threaded = json.loads(content)
                    return (threaded, "starts threads when imported") if threaded else None
                module = content.decode()


def _blame(module: str, why: str) -> tuple[str, str]:
    if not module:
        raise HarnessError("the fork server did not start; its message, if it had one, stands above")
    return module, why


def _extra_path() -> list[str]:
    """What this process can import and a fresh interpreter could not."""
    return [path for path in sys.path if path]


def _listen(channel: socket.socket, running: _Running, on_phase: Callable[[Job, str], None] | None) -> bool:
    try:
        data = channel.recv(1 << 20)
    except ConnectionResetError:
        data = b""
    for tag, content in running.reader.feed(data):
        running.begun = True
        if tag == frames.END:
            running.end = json.loads(content)
        for phase in _take(content, running) if tag == frames.WORDS else ():
            if on_phase:
                on_phase(running.job, phase)
    return bool(data) and running.end is None


def _take(words: bytes, running: _Running) -> list[str]:
    """Take in what the job says, until it cannot be understood; gives the phases that it named."""
    phases = []
    try:
        for tag, content in () if running.garbled else running.words.feed(words):
            if tag == frames.PHASE:
                running.phase = content.decode()
                phases.append(running.phase)
            elif tag == frames.BLOB:
                running.blob = content
            elif tag == frames.RESULT:
                running.answer, running.answered = json.loads(content), True
    except ValueError:
        running.garbled = True
    return phases


def _conclude(running: _Running) -> JobEnd:
    end = running.end
    if end is None:
        return JobEnd("crash", message="the process that watched the trial was killed", phase=running.phase)
    status, message = _judge(running, end)
    return JobEnd(
        status,
        running.answer if status == "ok" else None,
        running.blob if status == "ok" else None,
        message,
        running.phase,
        end["seconds"],
        end["output"],
    )


def _judge(running: _Running, end: dict[str, Any]) -> tuple[Status, str]:
    where = f" during {running.phase}" if running.phase else ""
    if running.answered and not running.garbled and not end["killed"]:
        return "ok", ""
    if end["killed"] == "timeout":
        return "timeout", f"killed{where}: over the limit of {running.job.timeout_seconds:g} s"
    if end["killed"] == "memory":
        limit = (running.job.memory_bytes or 0) / 1e6
        return "memory", f"killed{where}: {end['held_bytes'] / 1e6:.0f} MB resident, limit {limit:.0f} MB"
    if end["exit_code"] < 0:
        return "crash", f"ended by {_name_signal(-end['exit_code'])}{where}"
    if running.garbled:
        return "crash", f"what the process reported{where} cannot be read: something else wrote on its line"
    return "crash", f"the process ended with exit code {end['exit_code']}{where} and gave no result"


def _name_signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name} (the machine may have run out of memory)" if name == "SIGKILL" else name
