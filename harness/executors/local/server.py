"""The fork server: a process that imports modules once, and then forks a supervisor for each job.

`servers.start_process` runs this module with `python -m`. The first server imports the modules that all jobs share. For
each group of jobs that needs more modules, it forks another server, which imports these. Groups therefore share the
common modules and nothing else.

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
import socket
import sys
import time
from typing import NoReturn

from harness.executors import wire
from harness.executors.local.processes import ChildSignal, kill_tree, reap, remove_trial_folder, trial_folder
from harness.executors.local.supervisor import supervise
from harness.system import SYSTEM

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
