"""Runs jobs on this machine: a process each, forked warm, with hard limits on time and memory."""

from __future__ import annotations

import contextlib
import json
import os
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
SLOW_SECONDS = 5.0
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Job:
    """A function "module:name" to call in a process of its own with a JSON payload and a way to tell its phase.

    It gives back a JSON answer and, where it wants, bytes.
    """

    target: str
    payload: dict[str, Any]
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
    reader: frames.FrameReader = field(default_factory=frames.FrameReader)
    phase: str = ""
    answer: Any = None
    answered: bool = False
    blob: bytes | None = None
    end: dict[str, Any] | None = None


class LocalExecutor:
    """A fork server and the jobs it runs. Use as a context manager: leaving it kills whatever still runs."""

    def __init__(self, *, preload: Iterable[str] = (), threads: int = 1, path: Iterable[str] = ()) -> None:
        self._preload, self._threads, self._path = list(dict.fromkeys(preload)), threads, list(path)
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
        self._server = subprocess.Popen(
            [sys.executable, "-P", "-m", "harness.executors.server", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is the host's to handle
        )
        theirs.close()
        self._control, self._ready = ours, False
        ours.sendall(json.dumps({"preload": self._preload, "path": [*self._path, *_extra_path()]}).encode())

    def close(self) -> None:
        """End the server and every job; keepers kill their jobs when their channel closes."""
        for channel in list(self._channels):
            self._channels.discard(channel)
            # Half-close and wait for the other end's close: once it comes, the keeper has cleaned up and gone.
            with contextlib.suppress(OSError), channel:
                channel.shutdown(socket.SHUT_WR)
                channel.settimeout(5)
                while channel.recv(1 << 16):
                    pass
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._server is not None:
            self._server.wait()
            self._server = None

    def run(
        self, jobs: Iterable[Job], *, at_once: int = 1, on_phase: Callable[[Job, str], None] | None = None
    ) -> Iterator[tuple[Job, JobEnd]]:
        """Run the jobs, so many at once, and give each back as it ends."""
        waiting = iter(jobs)
        selector = selectors.DefaultSelector()
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
                if not _listen(channel, running, on_phase):
                    selector.unregister(channel)
                    self._channels.discard(channel)
                    channel.close()
                    yield running.job, _conclude(running)

    def _submit(self, job: Job) -> socket.socket:
        ours, theirs = socket.socketpair()
        try:
            self._wait_until_ready()
            assert self._control is not None
            socket.send_fds(self._control, [b"j"], [theirs.fileno()])
        except OSError:  # somebody killed the server: a new one serves as well
            self.close()
            self.start()
            self._wait_until_ready()
            assert self._control is not None
            socket.send_fds(self._control, [b"j"], [theirs.fileno()])
        theirs.close()
        content = {
            "target": job.target,
            "payload": job.payload,
            "timeout_seconds": job.timeout_seconds,
            "memory_bytes": job.memory_bytes,
        }
        ours.sendall(frames.pack_json(frames.RESULT, content))
        self._channels.add(ours)
        return ours

    def _wait_until_ready(self) -> None:
        while not self._ready:
            assert self._control is not None
            reader = frames.FrameReader()
            answers: list[dict[str, Any]] = []
            self._control.settimeout(SLOW_SECONDS)
            while not answers:
                try:
                    data = self._control.recv(1 << 16)
                except TimeoutError:
                    self.on_slow()
                    self._control.settimeout(None)
                    continue
                if not data:
                    raise HarnessError("the fork server ended while it was starting; its message stands above")
                answers += [json.loads(content) for _, content in reader.feed(data)]
            self._control.settimeout(None)
            threaded = answers[0]["threaded"]
            if threaded is None:
                self._ready = True
                return
            warnings.warn(f"module {threaded!r} starts threads when imported: not preloaded", stacklevel=2)
            self._preload.remove(threaded)
            self.close()
            self.start()


def _extra_path() -> list[str]:
    """What this process can import and a fresh interpreter could not."""
    return [path for path in sys.path if path]


def _listen(channel: socket.socket, running: _Running, on_phase: Callable[[Job, str], None] | None) -> bool:
    try:
        data = channel.recv(1 << 20)
    except ConnectionResetError:
        data = b""
    for tag, content in running.reader.feed(data):
        if tag == frames.PHASE:
            running.phase = content.decode()
            if on_phase:
                on_phase(running.job, running.phase)
        elif tag == frames.BLOB:
            running.blob = content
        elif tag == frames.RESULT:
            running.answer, running.answered = json.loads(content), True
        elif tag == frames.END:
            running.end = json.loads(content)
    return bool(data) and running.end is None


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
    if running.answered and not end["killed"]:
        return "ok", ""
    if end["killed"] == "timeout":
        return "timeout", f"killed{where}: over the limit of {running.job.timeout_seconds:g} s"
    if end["killed"] == "memory":
        limit = (running.job.memory_bytes or 0) / 2**20
        return "memory", f"killed{where}: {end['largest_bytes'] / 2**20:.0f} MiB resident, limit {limit:.0f} MiB"
    if end["exit_code"] < 0:
        return "crash", f"ended by {signal.Signals(-end['exit_code']).name}{where}"
    return "crash", f"the process ended with exit code {end['exit_code']}{where} and gave no result"
