"""The fork server: imports the warm modules once, then forks a supervisor for each job. Run as a module by `serving`.

The first one imports what is harmless and common to all jobs. For each group of jobs that want more it forks another
server, which imports that: groups share the common modules, and nothing else.

Why not multiprocessing's own: that one is a single global whose environment (and so the thread limits) is fixed at
first use, it runs the caller's main module again in every child, and it has no place for a supervisor above the job.

A process with threads must not fork (numba's and OpenMP's pools hang in the child), so each preloaded module is
checked for having started none.

What a supervisor leaves behind that was killed becomes the server's, which kills it and removes the job's folder. A
supervisor whose own server was killed becomes the first one's, and sees its job through.
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

from harness.executors import frames
from harness.executors.bell import Bell
from harness.executors.cleaning import folder_of, kill_tree, reap, remove_folder
from harness.executors.supervisor import supervise
from harness.system import SYSTEM

LEAVE_SECONDS, LOOK_SECONDS = 2.0, 0.005
"""How long a server without a host waits for its supervisors to end, and how often it looks."""
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
    sys.path[:0] = [path for path in setup["first"] if path not in sys.path]
    sys.path += [path for path in setup["last"] if path not in sys.path]
    handler = listen_to_compiler(control)
    threaded = preload(setup["preload"], control)
    stop_listening(handler)
    control.sendall(frames.pack_json(frames.RESULT, threaded))
    if threaded is not None:
        return
    gc.freeze()  # what is imported lives as long as the server: no job has to look through it, and so copy it
    gc.enable()
    SYSTEM.adopt_orphans()
    forks = _Forks(control)
    forks.run()
    forks.see_off()


class _Forks:
    """What a server has forked and is still there: supervisors, and servers of groups."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.bell = Bell()
        self.known: set[int] = set()

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

    def see_off(self) -> None:
        """Without a host all supervisors end: wait for them, since one that was killed leaves something to remove."""
        deadline = time.monotonic() + LEAVE_SECONDS
        self._clean_up()
        while self.known and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
            self._clean_up()

    def _fork(self) -> bool:
        """Fork a supervisor or a server of a group; whether the host is still there to ask for it."""
        message, handles, _, _ = socket.recv_fds(self.control, 1, 1)
        if not message:
            return False
        pid = os.fork()
        if pid == 0:
            self.control.close()
            self.bell.take_down()
            channel = socket.socket(fileno=handles[0])
            if message == frames.FOR_JOB:
                supervise(channel)
            serve_group(channel)
        os.close(handles[0])
        self.known.add(pid)
        return True

    def _clean_up(self) -> None:
        """Take leave of what has ended, and take care of what has lost its parent."""
        for pid in reap():
            self.known.discard(pid)
            remove_folder(folder_of(pid))
        for child in SYSTEM.children_of(os.getpid()):
            if child in self.known:
                continue
            if os.path.isdir(folder_of(child)):  # a supervisor whose server was killed
                self.known.add(child)
                continue
            kill_tree(child)  # left behind by a job whose supervisor was killed
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)
            remove_folder(folder_of(child))  # it may have been a supervisor in its first moment


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
    os._exit(0)  # nothing is left to be done, and tearing down what was imported takes long
