"""One fork server as its host sees it: started early, told what to import, handed one channel for each job."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from harness.errors import HarnessError
from harness.executors import frames

SLOW_SECONDS, HOPELESS_SECONDS = 5.0, 900.0
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Preparation:
    """What a server shall have imported before its first job, and from which folders."""

    modules: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


class ForkServer:
    """A process that imports the `common` modules at once, which must be harmless, and the rest when it is told."""

    def __init__(self, common: tuple[str, ...], threads: int) -> None:
        self.threads = threads
        self.on_slow: Callable[[], None] | None = None
        self._common = common
        self._told: Preparation | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False

    @property
    def pid(self) -> int | None:
        """Of its process, while there is one."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process; it imports its modules while the host goes on."""
        ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "harness.executors.server", str(theirs.fileno()), *self._common],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a module prints when imported is no answer of the host's
            env=_environment(self.threads),
            start_new_session=True,  # Ctrl-C is the host's to handle
        )
        theirs.close()
        self._control, self._ready = ours, False
        if self._told is not None:
            self._tell(self._told)

    def prepare(self, preparation: Preparation) -> None:
        """Tell it what to import: once, since what is imported cannot be taken back."""
        self._told = preparation
        self._tell(preparation)

    def _tell(self, preparation: Preparation) -> None:
        assert self._control is not None
        setup = {"preload": preparation.modules, "path": [*preparation.path, *_import_path()]}
        with contextlib.suppress(OSError):  # a server that has died is noticed when a job is handed over
            self._control.sendall(json.dumps(setup).encode())

    def hand_over(self, channel: socket.socket) -> None:
        """Have a supervisor forked for the job that comes through this channel."""
        try:
            self._send(channel)
        except OSError:  # somebody killed the server: a new one serves as well
            self.stop()
            self.start()
            self._send(channel)

    def _send(self, channel: socket.socket) -> None:
        self._wait_until_ready()
        assert self._control is not None
        socket.send_fds(self._control, [b"j"], [channel.fileno()])

    def stop(self) -> None:
        """End the server alone: the jobs that run have their supervisors, and go on without it."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()  # it may be in the middle of an import
            self._process.wait()
            self._process = None

    def _wait_until_ready(self) -> None:
        while not self._ready:
            unfit = self._follow_start()
            if unfit is None:
                self._ready = True
                return
            warnings.warn(f"module {unfit.module!r} {unfit.reason}: not preloaded", stacklevel=2)
            assert self._told is not None
            others = tuple(module for module in self._told.modules if module != unfit.module)
            self._told = Preparation(others, self._told.path)
            self.stop()
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
                if self.on_slow:
                    self.on_slow()
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


def _environment(threads: int) -> dict[str, str]:
    # BLAS libraries start their threads when they are loaded, so the server's own limit is one, always; a trial
    # raises it when it has its own process. OpenMP and numba start theirs on first use.
    environment = os.environ | dict.fromkeys(BLAS_VARIABLES, "1")
    environment |= {"OMP_NUM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)}
    environment |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
    # Where pyarrow is installed, pandas loads it, and with it an allocator that would start a thread at once.
    environment["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    return environment


def _import_path() -> list[str]:
    """What this process can import and a fresh interpreter could not."""
    return [path for path in sys.path if path]
