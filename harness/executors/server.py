"""Fork servers: processes that import modules once, and then fork a supervisor for each job.

The host's side comes first: start a server, send it the modules to import, and pass it a socket for each job. The code
below `serve` runs inside of a server: `start_process` runs this module with `python -m`. The first server imports the
modules that all jobs share. For each group of jobs that needs more modules, it forks another server, which imports
these. Groups therefore share the common modules and nothing else.

The fork server of multiprocessing does not fit. There is one per process, its environment variables (and with them the
number of threads) are fixed at first use, it imports the main module of its caller in every child, and it has no
supervisor between itself and a job.

A process with threads must not fork, since the thread pools of numba and OpenMP hang in the child. The server therefore
checks after each import that the module has not started threads.

If a supervisor is killed, the server becomes the parent of its processes, kills them, and removes the job's folder. If
the server of a group is killed, its supervisors become children of the first server, and finish their jobs.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from harness.errors import HarnessError
from harness.executors import wire
from harness.executors.supervisor import ChildSignal, kill_tree, reap, remove_trial_folder, supervise, trial_folder
from harness.files.home import HOME_VARIABLE, data_home
from harness.system import SYSTEM

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
class StartedServer:
    """A started server: the socket to it, and its process if it is a child of this process."""

    control: socket.socket
    process: subprocess.Popen[bytes] | None = None


class ForkServer:
    """A fork server as the host sees it; a server that was killed is started again when it is needed.

    Call `start`, then `prepare` once, and `hand_over` for each job.

    Parameters
    ----------
    begin : callable
        Starts the process and returns `StartedServer`: `start_process` or `fork_from` with bound arguments.
    """

    def __init__(self, begin: Callable[[], StartedServer]) -> None:
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
        started = self._begin()
        self._control, self._process, self._ready = started.control, started.process, False
        self.pid = None if started.process is None else started.process.pid
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


def start_process(common: tuple[str, ...], threads: int, interpreter: str = sys.executable) -> StartedServer:
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
            [interpreter, "-P", "-m", "harness.executors.server", str(theirs.fileno()), *common],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,  # output of imported modules must not mix with the host's output
            env=_environment(threads, interpreter),
            start_new_session=True,  # the host handles Ctrl-C
        )
    return StartedServer(ours, process)


def fork_from(server: ForkServer) -> StartedServer:
    """Start a server by forking another one; it shares the modules that `server` has imported."""
    ours, theirs = socket.socketpair()
    with theirs:
        server.hand_over(theirs, wire.FOR_GROUP)
    return StartedServer(ours)


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


LEAVE_SECONDS, LOOK_SECONDS = 2.0, 0.005
"""When the host has ended: the time that a server waits for its supervisors, and the time between two checks."""
COMPILERS_LOG = "harness.sdk.kernels.compile"
"""The logger to which the compiler of kernels writes, at level INFO, that it compiles one."""


def serve(control: socket.socket) -> None:
    """Import modules, and then fork a process for every socket that the host sends, until the host closes `control`.

    The host first sends the modules to import, and the folders to import them from. If a module starts threads, the
    server replies with its name and ends. Otherwise it replies with null.
    """
    content = wire.receive(control)
    if content is None:
        return
    setup = json.loads(content)
    sys.path[:0] = [path for path in setup["first"] if path not in sys.path]
    sys.path += [path for path in setup["last"] if path not in sys.path]
    handler = listen_to_compiler(control)
    threaded = preload(setup["preload"], control)
    stop_listening(handler)
    control.sendall(wire.pack_json(wire.RESULT, threaded))
    if threaded is not None:
        return
    gc.freeze()  # a collection in a forked job would otherwise touch all imported objects, and so copy their pages
    gc.enable()
    SYSTEM.adopt_orphans()
    forks = _Forks(control)
    forks.run()
    forks.wait_for_supervisors()


def serve_group(control: socket.socket) -> NoReturn:
    """Run the server of one group of jobs in this forked process, and end the process when the host has ended."""
    SYSTEM.die_with_parent()
    gc.disable()
    with contextlib.suppress(ConnectionError):
        control.sendall(wire.pack(wire.PID, str(os.getpid()).encode()))
        serve(control)
    os._exit(0)


def preload(modules: list[str], control: socket.socket) -> str | None:
    """Import modules, and report the name of each one before its import.

    Errors of an import are ignored here, because the job that needs the module raises and reports the same error.

    Parameters
    ----------
    modules : list of str
        Modules in the order of their import.
    control : socket.socket
        The socket to the host, which gets the name of each module.

    Returns
    -------
    str or None
        The first module that started threads; the modules after it are not imported. None if no module did.
    """
    for module in modules:
        control.sendall(wire.pack(wire.PHASE, module.encode()))
        with contextlib.suppress(Exception, SystemExit):  # the job reports the same error
            importlib.import_module(module)
        if SYSTEM.count_threads() > 1:
            return module
    return None


class _Forks:
    """Forks supervisors and servers at the host's request, and cleans up when they end."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.child_signal = ChildSignal()
        self.known: set[int] = set()

    def run(self) -> None:
        """Handle requests to fork, and ends of forked processes, until the host closes the channel."""
        selector = selectors.PollSelector()  # epoll would share a file descriptor with forked processes
        selector.register(self.control, selectors.EVENT_READ)
        selector.register(self.child_signal.socket, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is self.child_signal.socket:
                    self.child_signal.clear()
                    self._clean_up()
                elif not self._fork():
                    return

    def wait_for_supervisors(self) -> None:
        """Wait for supervisors, which end when the host has ended, and clean up after those that were killed."""
        deadline = time.monotonic() + LEAVE_SECONDS
        self._clean_up()
        while self.known and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
            self._clean_up()

    def _fork(self) -> bool:
        """Read a request, and fork a supervisor or the server of a group; return False if the host has ended."""
        message, handles, _, _ = socket.recv_fds(self.control, 1, 1)
        if not message:
            return False
        pid = os.fork()
        if pid == 0:
            self.control.close()
            self.child_signal.close()
            channel = socket.socket(fileno=handles[0])
            if message == wire.FOR_JOB:
                supervise(channel)
            serve_group(channel)
        os.close(handles[0])
        self.known.add(pid)
        return True

    def _clean_up(self) -> None:
        """Remove the folders of supervisors that have ended, and kill processes whose supervisor was killed."""
        for pid in reap():
            self.known.discard(pid)
            remove_trial_folder(trial_folder(pid))
        for child in SYSTEM.children_of(os.getpid()):
            if child in self.known:
                continue
            if os.path.isdir(trial_folder(child)):  # a supervisor whose server was killed
                self.known.add(child)
                continue
            kill_tree(child)  # a process of a job whose supervisor was killed
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)
            remove_trial_folder(trial_folder(child))  # it may have been a supervisor that had just started


# -- reporting that kernels are compiled -----------------------------------------------------------------------------


class _ReportOnce(logging.Handler):
    """Reports to the host that a kernel is compiled; only once."""

    def __init__(self, control: socket.socket) -> None:
        super().__init__(logging.INFO)
        self.control = control

    def emit(self, record: logging.LogRecord) -> None:
        stop_listening(self)
        self.control.sendall(wire.pack(wire.COMPILING, b""))


def listen_to_compiler(control: socket.socket) -> logging.Handler:
    """Report to the host when an import compiles a kernel; pass the result to `stop_listening` at the end."""
    handler = _ReportOnce(control)
    log = logging.getLogger(COMPILERS_LOG)
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    return handler


def stop_listening(handler: logging.Handler) -> None:
    """Stop reporting. Kernels that a job compiles later count as part of its own time."""
    log = logging.getLogger(COMPILERS_LOG)
    log.setLevel(logging.NOTSET)
    log.removeHandler(handler)


if __name__ == "__main__":
    gc.disable()  # imports drop few objects: collecting takes a tenth of their time for nothing
    SYSTEM.die_with_parent()  # while it imports, it does not read the channel, which closes when the host ends
    for common in sys.argv[2:]:
        importlib.import_module(common)
    with contextlib.suppress(ConnectionError):  # the host ended before it read the last message
        serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)  # a regular exit takes long, since it tears down all modules
