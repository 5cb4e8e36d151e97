"""Fork servers, as seen by the host: start a server, send it the modules to import, and pass it a socket for each job.

The code that runs inside of a server is in `harness.executors.local.server`.
"""

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
from harness.executors import wire
from harness.files.home import HOME_VARIABLE, data_home

HOPELESS_SECONDS = 900.0
"""The time limit for the import of one module."""
MOST_STARTS, MOST_OWN_ENDS = 12, 3
"""A server counts as broken after so many starts if it is killed each time, and after fewer if it exits by itself."""
LONGEST_PAUSE = 2.0
"""The longest pause in seconds before another start. A machine without free memory may recover in the meantime."""
LEAVE_SECONDS = 1.0
"""The time that a server has to clean up and exit before it is killed."""
MOST_DEATHS = 2
"""After so many ends of a server during the import of the same module, the module is not preloaded any more."""
WORKING_FOLDERS = ("PWD", "OLDPWD")
"""Environment variables of the shell that jobs do not inherit."""
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Preparation:
    """The modules that a server imports before its first job, and the folders to import from."""

    modules: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    has_own_packages: bool = False
    """True for another Python: its installed packages come before the import path of this process."""


@dataclass(frozen=True)
class Begun:
    """A started server: the socket to it, and its process if it is a child of this process."""

    control: socket.socket
    process: subprocess.Popen[bytes] | None = None


class ForkServer:
    """A fork server as the host sees it; a server that was killed is started again when it is needed.

    Call `start`, then `prepare` once, and `hand_over` for each job.

    Parameters
    ----------
    begin : callable
        Starts the process and returns `Begun`: `start_process` or `fork_from` with bound arguments.
    """

    def __init__(self, begin: Callable[[], Begun]) -> None:
        self.on_slow: Callable[[], None] | None = None
        """Called when an imported module has to compile its kernels first."""
        self.pid: int | None = None
        """The pid of the process; None before it is known and after `stop`."""
        self._begin = begin
        self._preparation: Preparation | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
        self._deaths: Counter[str] = Counter()
        """By module, the number of processes that ended while they imported it."""

    def start(self) -> None:
        """Start the process; it imports modules in the background. After a restart it gets the same preparation."""
        begun = self._begin()
        self._control, self._process, self._ready = begun.control, begun.process, False
        self.pid = None if begun.process is None else begun.process.pid
        if self._preparation is not None:
            self._send_preparation(self._preparation)

    def prepare(self, preparation: Preparation) -> None:
        """Send the modules to import, and the folders to import from. Call this only once: imports cannot be undone."""
        self._preparation = preparation
        self._send_preparation(preparation)

    def _send_preparation(self, preparation: Preparation) -> None:
        """Send a preparation to the process, with the folders that this process imports from."""
        assert self._control is not None
        first, last = [*preparation.path, *_import_path()], []
        if preparation.has_own_packages:
            first, last = [*preparation.path], _import_path()
        setup = {"preload": preparation.modules, "first": first, "last": last}
        with contextlib.suppress(OSError):  # `hand_over` detects a server that has ended
            self._control.sendall(wire.pack_json(wire.JOB, setup))

    def hand_over(self, channel: socket.socket, purpose: bytes = wire.FOR_JOB) -> None:
        """Let the server fork a process that uses this channel; start the server again if it was killed.

        Parameters
        ----------
        channel : socket
            The end of a socket pair that the forked process inherits.
        purpose : bytes
            `wire.FOR_JOB` to fork a supervisor, `wire.FOR_GROUP` to fork the server of a group.

        Raises
        ------
        HarnessError
            If the server ends again after several starts.
        """
        own_ends = 0
        for start in range(MOST_STARTS):
            try:
                self._send(channel, purpose)
                return
            except OSError:  # this server, or the server that forks it, was killed
                own_ends += self._has_ended_by_itself()
                if own_ends == MOST_OWN_ENDS:
                    break
                time.sleep(min(0.02 * 2**start, LONGEST_PAUSE))
                self.restart()
        raise HarnessError("the fork server did not start; see its message above, if there is one")

    def _send(self, channel: socket.socket, purpose: bytes) -> None:
        if purpose == wire.FOR_JOB:  # to fork the server of a group, the host need not wait
            self._wait_until_ready()
        assert self._control is not None
        socket.send_fds(self._control, [purpose], [channel.fileno()])

    def stop(self) -> None:
        """Stop the server. Running jobs continue under their supervisors."""
        if self._control is not None:
            if self._ready:
                _wait_for_leave(self._control)
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()  # it does not exit by itself while it imports, or while it is stopped
            self._process.wait()
        elif self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._process = self.pid = None

    def _has_ended_by_itself(self) -> bool:
        """Return whether the process has exited without a signal, which means that it is broken."""
        if self._process is None:
            return False
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=1) >= 0  # negative after a signal
        return False

    def restart(self) -> None:
        """Stop the process, and start a new one with the same preparation."""
        self.stop()
        self.start()

    def _wait_until_ready(self) -> None:
        """Wait until the server has imported its modules; restart it without a module that cannot be preloaded."""
        while not self._ready:
            unfit = self._follow_start()
            if unfit is None:
                self._ready = True
                return
            warnings.warn(f"module {unfit.module!r} {unfit.reason}: not preloaded", stacklevel=2)
            assert self._preparation is not None
            others = tuple(module for module in self._preparation.modules if module != unfit.module)
            self._preparation = replace(self._preparation, modules=others)
            self.restart()

    def _follow_start(self) -> _Unfit | None:
        """Wait until the server has imported its modules; return a module that must not be preloaded, or None.

        ConnectionResetError if the server ended, and may succeed when it is started again.
        """
        assert self._control is not None
        reader, module = wire.FrameReader(), ""
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
                if tag == wire.RESULT:
                    self._control.settimeout(None)
                    threaded = json.loads(content)
                    return _Unfit(threaded, "starts threads when imported") if threaded else None
                if tag == wire.PID:
                    self.pid = int(content)
                elif tag == wire.COMPILING:
                    if self.on_slow:
                        self.on_slow()
                else:
                    module = content.decode()


@dataclass(frozen=True)
class _Unfit:
    """A module that cannot be preloaded, with the reason."""

    module: str
    reason: str


def _wait_for_leave(control: socket.socket) -> None:
    """Announce the end to a server, and wait for at most `LEAVE_SECONDS` while it cleans up."""
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_WR)
        control.settimeout(LEAVE_SECONDS)
        while control.recv(1 << 16):
            pass


def start_process(common: tuple[str, ...], threads: int, interpreter: str = sys.executable) -> Begun:
    """Start a server in a new interpreter.

    Parameters
    ----------
    common : tuple of str
        Modules that the server imports at once. Importing them must have no side effects.
    threads : int
        The number of threads that each job may use.
    interpreter : str
        The path of the Python that runs the server.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [interpreter, "-P", "-m", "harness.executors.local.server", str(theirs.fileno()), *common],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,  # output of imported modules must not mix with the host's output
            env=_environment(threads, interpreter),
            start_new_session=True,  # the host handles Ctrl-C
        )
    return Begun(ours, process)


def fork_from(server: ForkServer) -> Begun:
    """Start a server by forking another one; it shares the modules that `server` has imported."""
    ours, theirs = socket.socketpair()
    with theirs:
        server.hand_over(theirs, wire.FOR_GROUP)
    return Begun(ours)


def _environment(threads: int, interpreter: str) -> dict[str, str]:
    """Return the environment variables of a server."""
    # BLAS libraries start their threads when they are loaded, and a server must have none. A trial raises the limit of
    # BLAS in its own process. OpenMP and numba start threads at first use, so their limits are set here.
    environment = os.environ | dict.fromkeys(BLAS_VARIABLES, "1")
    environment |= {"OMP_NUM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)}
    environment |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
    for name in WORKING_FOLDERS:  # a trial has a working directory of its own
        environment.pop(name, None)
    if environment.get(HOME_VARIABLE):
        environment[HOME_VARIABLE] = str(data_home())
    # If pyarrow is installed, pandas loads it, and without this setting its allocator starts a thread.
    environment["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    return environment if interpreter == sys.executable else variables_for(interpreter, environment)


def variables_for(interpreter: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables for another Python, with its commands first and without PYTHONPATH.

    Parameters
    ----------
    interpreter : str
        Path of the other Python.
    variables : mapping of str to str
        Environment variables of this process.

    Examples
    --------
    >>> variables_for("/env/bin/python", {"PATH": "/usr/bin", "PYTHONPATH": "/code"})
    {'PATH': '/env/bin:/usr/bin'}
    """
    own = {name: value for name, value in variables.items() if name != "PYTHONPATH"}
    commands = [os.path.dirname(interpreter), own.get("PATH", "")]
    return own | {"PATH": os.pathsep.join(filter(None, commands))}


def _import_path() -> list[str]:
    """Return the folders that this process imports from."""
    return [os.path.abspath(path) for path in sys.path if path]  # a trial has another working directory
