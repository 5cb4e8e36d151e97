"""Functions that kill and reap the processes of jobs, wait for their end, and remove their temporary folders."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import stat
import tempfile
import time

from harness.system import SYSTEM

RUN_ID = secrets.token_hex(8)
"""A random name for this run. A server and all processes that it forks have the same one."""


def trial_folder(supervisor: int) -> str:
    """Return the path of the folder for the temporary files of a job.

    Parameters
    ----------
    supervisor : int
        The pid of the job's supervisor. It is part of the path, so if the supervisor is killed, its server knows which
        folder to remove.
    """
    return os.path.join(tempfile.gettempdir(), f"harness-trial-{RUN_ID}-{supervisor}")


def kill(pid: int) -> None:
    """Kill a process, if it still exists and belongs to this user."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_tree(pid: int) -> None:
    """Kill a process and all its descendants. The process is killed first, since it could start more."""
    descendants = SYSTEM.all_below(pid)
    for victim in (pid, *descendants):
        kill(victim)


def kill_descendants(pid: int) -> None:
    """Kill and reap the descendants of this process, until none is left.

    Parameters
    ----------
    pid : int
        The pid of this process, which alone can reap its children.
    """
    while descendants := SYSTEM.all_below(pid):
        for victim in descendants:
            kill(victim)
        reap()
        time.sleep(0.001)


def reap() -> dict[int, int]:
    """Reap all children of this process that have ended, without waiting, and return their exit codes by pid."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
    return ended


def remove_trial_folder(folder: str) -> None:
    """Remove a folder with everything in it, even in read-only folders; errors are ignored."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # most jobs leave no files: this is faster than rmtree
        return
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.isdir(folder) and not os.path.islink(folder):
        for below, _, _ in os.walk(folder):
            with contextlib.suppress(OSError):
                os.chmod(below, stat.S_IRWXU)
        shutil.rmtree(folder, ignore_errors=True)


class ChildSignal:
    """Turns SIGCHLD into an event for selectors: `socket` becomes readable when a child of this process ends.

    A process can have only one such object. A forked child must close its copy.
    """

    def __init__(self) -> None:
        self.socket, self._writer = socket.socketpair()
        self.socket.setblocking(False)
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only signals with a handler reach the socket

    def clear(self) -> None:
        """Empty the socket; it becomes readable again when the next child ends."""
        with contextlib.suppress(BlockingIOError):
            while self.socket.recv(1 << 12):
                pass

    def close(self) -> None:
        """Restore the default handling of SIGCHLD, and close the socket."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.socket.close()
        self._writer.close()
