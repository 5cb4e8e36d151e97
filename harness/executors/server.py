"""The fork server: imports the warm modules once, then forks a supervisor for each job. Run as a module by `serving`.

The first one imports what is harmless and common to all jobs. For each group of jobs that want more it forks another
server, which imports that: groups share the common modules, and nothing else.

Why not multiprocessing's own: that one is a single global whose environment (and so the thread limits) is fixed at
first use, it runs the caller's main module again in every child, and it has no place for a supervisor above the job.

A process with threads must not fork (numba's and OpenMP's pools hang in the child), so each preloaded module is
checked for having started none.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import logging
import os
import signal
import socket
import sys
from typing import NoReturn

from harness.executors import frames
from harness.executors.supervisor import die_with_parent, supervise


def count_threads() -> int:
    """Threads of this process as the kernel sees them, compiled libraries' ones included."""
    return len(os.listdir("/proc/self/task"))


COMPILERS_LOG = "harness.sdk.kernels.compiling"
"""Where it is told, under INFO, that a kernel is compiled."""


class _TellOnce(logging.Handler):
    """Passes on to the host that something is compiled: once, for it takes long however much it is."""

    def __init__(self, control: socket.socket) -> None:
        super().__init__(logging.INFO)
        self.control = control

    def emit(self, record: logging.LogRecord) -> None:
        stop_listening(self)
        self.control.sendall(frames.pack(frames.COMPILING, b""))


def listen_to_compiler(control: socket.socket) -> logging.Handler:
    """Have the host told when something is compiled, until `stop_listening`."""
    handler = _TellOnce(control)
    log = logging.getLogger(COMPILERS_LOG)
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    return handler


def stop_listening(handler: logging.Handler) -> None:
    """What the jobs themselves compile is in their own clock's care."""
    log = logging.getLogger(COMPILERS_LOG)
    log.setLevel(logging.NOTSET)
    log.removeHandler(handler)


def preload(modules: list[str], control: socket.socket) -> str | None:
    """Import the modules, naming each before; gives the first that started threads."""
    for module in modules:
        control.sendall(frames.pack(frames.PHASE, module.encode()))
        with contextlib.suppress(Exception, SystemExit):  # the trial meets it again, and reports it as the learner's
            importlib.import_module(module)
        if count_threads() > 1:
            return module
    return None


def serve(control: socket.socket) -> None:
    """Answer the set-up, then fork a supervisor for every socket that the host hands over, until the host goes away."""
    told = control.recv(1 << 20)
    if not told:
        return
    setup = json.loads(told)
    sys.path[:0] = [path for path in setup["path"] if path not in sys.path]
    handler = listen_to_compiler(control)
    threaded = preload(setup["preload"], control)
    stop_listening(handler)
    control.sendall(frames.pack_json(frames.RESULT, threaded))
    if threaded is not None:
        return
    gc.freeze()  # what is imported lives as long as the server: no job has to look through it, and so copy it
    gc.enable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are reaped by the kernel
    while True:
        message, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            channel = socket.socket(fileno=handles[0])
            if message == frames.FOR_JOB:
                supervise(channel)
            serve_group(channel)
        os.close(handles[0])


def serve_group(control: socket.socket) -> NoReturn:
    """Be a server of its own for one group of jobs, until the host goes away."""
    die_with_parent()
    gc.disable()
    with contextlib.suppress(ConnectionError):
        control.sendall(frames.pack(frames.PID, str(os.getpid()).encode()))
        serve(control)
    os._exit(0)


if __name__ == "__main__":
    gc.disable()  # imports make much and throw away little: collecting takes a tenth of their time
    die_with_parent()  # also while it imports, when it would not see that the host has gone
    for common in sys.argv[2:]:
        importlib.import_module(common)
    with contextlib.suppress(ConnectionError):  # the host has gone, perhaps without reading what it was told last
        serve(socket.socket(fileno=int(sys.argv[1])))
