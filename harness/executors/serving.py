"""One fork server as its host sees it: started early, told what to import, handed one channel for each job."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from harness.errors import HarnessError
from harness.executors import frames

HOPELESS_SECONDS = 900.0
MOST_STARTS, MOST_OWN_ENDS = 12, 3
"""How often a server is started that somebody kills before it serves, and one that ends by itself, which is broken."""
LONGEST_PAUSE = 2.0
"""Seconds before it is started again: a machine that kills for want of memory may need a moment."""
LEAVE_SECONDS = 1.0
"""How long a server may take to leave by itself before it is killed."""
MOST_DEATHS = 2
"""How often a server may die over the import of a module before that is taken for the module's doing."""
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Preparation:
    """What a server shall have imported before its first job, and from which folders."""

    modules: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    has_own_packages: bool = False
    """Whether its Python has packages of its own, which go before whatever this process can import."""


@dataclass(frozen=True)
class Begun:
    """A server that has been started: how it is spoken to, and its process where that is a child of this one."""

    control: socket.socket
    process: subprocess.Popen[bytes] | None = None


class ForkServer:
    """A process that imports the modules that it is told, and forks a supervisor for each job."""

    def __init__(self, begin: Callable[[], Begun]) -> None:
        self.on_slow: Callable[[], None] | None = None
        """Called when something that it imports is compiled first."""
        self.pid: int | None = None
        """Of its process, once that is known and while there is one."""
        self._begin = begin
        self._told: Preparation | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
        self._deaths: Counter[str] = Counter()
        """By module: how often the process ended while it imported it."""

    def start(self) -> None:
        """Start the process; it imports its modules while the host goes on."""
        begun = self._begin()
        self._control, self._process, self._ready = begun.control, begun.process, False
        self.pid = None if begun.process is None else begun.process.pid
        if self._told is not None:
            self._tell(self._told)

    def prepare(self, preparation: Preparation) -> None:
        """Tell it what to import: once, since what is imported cannot be taken back."""
        self._told = preparation
        self._tell(preparation)

    def _tell(self, preparation: Preparation) -> None:
        assert self._control is not None
        first, last = [*preparation.path, *_import_path()], []
        if preparation.has_own_packages:
            first, last = [*preparation.path], _import_path()
        setup = {"preload": preparation.modules, "first": first, "last": last}
        with contextlib.suppress(OSError):  # a server that has died is noticed when a job is handed over
            self._control.sendall(frames.pack_json(frames.JOB, setup))

    def hand_over(self, channel: socket.socket, purpose: bytes = frames.FOR_JOB) -> None:
        """Have a supervisor forked for the job that comes through this channel, or a server for a group of jobs."""
        own_ends = 0
        for start in range(MOST_STARTS):
            try:
                self._send(channel, purpose)
                return
            except OSError:  # somebody killed the server, or the one that should fork it: a new one serves as well
                own_ends += self._has_ended_by_itself()
                if own_ends == MOST_OWN_ENDS:
                    break
                time.sleep(min(0.02 * 2**start, LONGEST_PAUSE))
                self.restart()
        raise HarnessError("the fork server did not start; its message, if it had one, stands above")

    def _send(self, channel: socket.socket, purpose: bytes) -> None:
        if purpose == frames.FOR_JOB:  # another server is forked whenever this one comes to it: nobody waits for that
            self._wait_until_ready()
        assert self._control is not None
        socket.send_fds(self._control, [purpose], [channel.fileno()])

    def stop(self) -> None:
        """End the server alone: the jobs that run have their supervisors, and go on without it."""
        if self._control is not None:
            if self._ready:
                _wait_for_leave(self._control)
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()  # it may be in the middle of an import, or stopped
            self._process.wait()
        elif self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._process = self.pid = None

    def _has_ended_by_itself(self) -> bool:
        if self._process is None:
            return False
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=1) >= 0  # what a signal ended has a code below 0
        return False

    def restart(self) -> None:
        """A new process in the place of one that is gone or does not answer."""
        self.stop()
        self.start()

    def _wait_until_ready(self) -> None:
        while not self._ready:
            unfit = self._follow_start()
            if unfit is None:
                self._ready = True
                return
            warnings.warn(f"module {unfit.module!r} {unfit.reason}: not preloaded", stacklevel=2)
            assert self._told is not None
            others = tuple(module for module in self._told.modules if module != unfit.module)
            self._told = replace(self._told, modules=others)
            self.restart()

    def _follow_start(self) -> _Unfit | None:
        """Wait while the server imports its modules; gives the first that must not be among them, and why."""
        assert self._control is not None
        reader, module = frames.FrameReader(), ""
        self._control.settimeout(HOPELESS_SECONDS)
        while True:
            try:
                data = self._control.recv(1 << 16)
            except TimeoutError:
                return _Unfit(module, f"takes over {HOPELESS_SECONDS:g} s to import")
            if not data and not module:
                raise ConnectionResetError("the fork server ended before it imported anything")
            if not data:
                self._deaths[module] += 1
                if self._deaths[module] < MOST_DEATHS:
                    raise ConnectionResetError(f"the fork server ended while it imported {module}")
                return _Unfit(module, "ended the process that imported it")
            for tag, content in reader.feed(data):
                if tag == frames.RESULT:
                    self._control.settimeout(None)
                    threaded = json.loads(content)
                    return _Unfit(threaded, "starts threads when imported") if threaded else None
                if tag == frames.PID:
                    self.pid = int(content)
                elif tag == frames.COMPILING:
                    if self.on_slow:
                        self.on_slow()
                else:
                    module = content.decode()


@dataclass(frozen=True)
class _Unfit:
    """A module that cannot be preloaded, and why."""

    module: str
    reason: str


def _wait_for_leave(control: socket.socket) -> None:
    """Tell a server that it is not needed any more, and give it time to clean up behind its last job."""
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_WR)
        control.settimeout(LEAVE_SECONDS)
        while control.recv(1 << 16):
            pass


def start_process(common: tuple[str, ...], threads: int, interpreter: str = sys.executable) -> Begun:
    """A server in a fresh interpreter, which imports the `common` modules at once: they must be harmless."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [interpreter, "-P", "-m", "harness.executors.server", str(theirs.fileno()), *common],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a module prints when imported is no answer of the host's
            env=_environment(threads, interpreter),
            start_new_session=True,  # Ctrl-C is the host's to handle
        )
    return Begun(ours, process)


def fork_from(server: ForkServer) -> Begun:
    """A server that another one forks: it has what that one has imported, and shares nothing of what it will."""
    ours, theirs = socket.socketpair()
    with theirs:
        server.hand_over(theirs, frames.FOR_GROUP)
    return Begun(ours)


def _environment(threads: int, interpreter: str) -> dict[str, str]:
    # BLAS libraries start their threads when they are loaded, so the server's own limit is one, always; a trial
    # raises it when it has its own process. OpenMP and numba start theirs on first use.
    environment = os.environ | dict.fromkeys(BLAS_VARIABLES, "1")
    environment |= {"OMP_NUM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)}
    environment |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
    # Where pyarrow is installed, pandas loads it, and with it an allocator that would start a thread at once.
    environment["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    return environment if interpreter == sys.executable else variables_for(interpreter, environment)


def variables_for(interpreter: str, variables: Mapping[str, str]) -> dict[str, str]:
    """What another Python is told: its own commands are found first, and nothing goes before its own packages."""
    own = {name: value for name, value in variables.items() if name != "PYTHONPATH"}
    commands = [os.path.dirname(interpreter), own.get("PATH", "")]
    return own | {"PATH": os.pathsep.join(filter(None, commands))}


def _import_path() -> list[str]:
    """What this process can import and a fresh interpreter could not."""
    return [path for path in sys.path if path]
