"""The fork server: imports the warm modules once, then forks a supervisor for each job. Run as a module by `serving`.

The first one imports what is harmless and common to all jobs. For each group of jobs that want more it forks another
server, which imports that: groups share the common modules, and nothing else.

Why not multiprocessing's own: that one is a single global whose environment (and so the thread limits) is fixed at
first use, it runs the caller's main module again in every child, and it has no place for a supervisor above the job.

A process with threads must not fork (numba's and OpenMP's pools hang in the child), so each preloaded module is
checked for having started none.

What a supervisor leaves behind that was killed becomes the server's, which kills it and removes the job's folder.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import logging
import os
import secrets
import selectors
import socket
import sys
import tempfile
from typing import NoReturn

from harness.executors import frames
from harness.executors.bell import Bell
from harness.executors.cleaning import kill_tree, reap, remove_folder
from harness.executors.supervisor import supervise
from harness.system import SYSTEM

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
        if SYSTEM.count_threads() > 1:
            return module
    return None


def serve(control: socket.socket) -> None:
    """Answer the set-up, then fork a supervisor for every socket that the host hands over, until the host goes away."""
    told = frames.receive(control)
    if told is None:
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
    SYSTEM.adopt_orphans()
    _Forks(control).run()


class _Forks:
    """What a server has forked, and the folder of each job that is still there."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.bell = Bell()
        self.folders: dict[int, str] = {}
        """By supervisor; empty for a server of a group, which has none."""

    def run(self) -> None:
        """Fork whatever is asked for, and clean up behind what ends, until the host goes away."""
        selector = selectors.PollSelector()  # one without a file of its own, which a fork would share
        selector.register(self.control, selectors.EVENT_READ)
        selector.register(self.bell.heard, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is self.bell.heard:
                    self.bell.silence()
                    self._clean_up()
                elif not self._fork():
                    return

    def _fork(self) -> bool:
        """Fork a supervisor or a server of a group; whether the host is still there to ask for it."""
        message, handles, _, _ = socket.recv_fds(self.control, 1, 1)
        if not message:
            return False
        folder = ""
        if message == frames.FOR_JOB:
            folder = os.path.join(tempfile.gettempdir(), f"harness-trial-{secrets.token_hex(8)}")
        pid = os.fork()
        if pid == 0:
            self.control.close()
            self.bell.take_down()
            channel = socket.socket(fileno=handles[0])
            if folder:
                supervise(channel, folder)
            serve_group(channel)
        os.close(handles[0])
        self.folders[pid] = folder
        return True

    def _clean_up(self) -> None:
        """Take leave of what has ended; what it left behind is a child of this process that nobody knows."""
        for pid in reap():
            folder = self.folders.pop(pid, "")
            if folder:
                remove_folder(folder)
        for child in SYSTEM.children_of(os.getpid()):
            if child not in self.folders:
                kill_tree(child)


def serve_group(control: socket.socket) -> NoReturn:
    """Be a server of its own for one group of jobs, until the host goes away."""
    SYSTEM.die_with_parent()
    gc.disable()
    with contextlib.suppress(ConnectionError):
        control.sendall(frames.pack(frames.PID, str(os.getpid()).encode()))
        serve(control)
    os._exit(0)


if __name__ == "__main__":
    gc.disable()  # imports make much and throw away little: collecting takes a tenth of their time
    SYSTEM.die_with_parent()  # also while it imports, when it would not see that the host has gone
    for common in sys.argv[2:]:
        importlib.import_module(common)
    with contextlib.suppress(ConnectionError):  # the host has gone, perhaps without reading what it was told last
        serve(socket.socket(fileno=int(sys.argv[1])))
