"""Nothing of a job is left: its processes are killed, its folder is removed.

A folder is named after the supervisor that made it, so that whoever has to clean up behind a killed one finds it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import stat
import tempfile
import time

from harness.system import SYSTEM

RUN = secrets.token_hex(8)
"""The same in a server and in all that it forks, and different in every other run."""


def folder_of(supervisor: int) -> str:
    """The folder for the temporary files of the job that this process supervises, or would."""
    return os.path.join(tempfile.gettempdir(), f"harness-trial-{RUN}-{supervisor}")


def kill(pid: int) -> None:
    """Kill one process, where it is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_tree(pid: int) -> None:
    """Kill a process of somebody else's and all below it: first it, so that it starts nothing more."""
    below = SYSTEM.all_below(pid)
    for victim in (pid, *below):
        kill(victim)


def kill_descendants(pid: int) -> None:
    """Kill everything below this process and reap it, until nothing is left."""
    while below := SYSTEM.all_below(pid):
        for victim in below:
            kill(victim)
        reap()
        time.sleep(0.001)


def reap() -> dict[int, int]:
    """The exit codes of the children of this process that have ended since, by process."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
    return ended


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it, also where its owner may not write; what cannot be removed stays."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # most leave nothing, and this is quick
        return
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.isdir(folder) and not os.path.islink(folder):
        for below, _, _ in os.walk(folder):
            with contextlib.suppress(OSError):
                os.chmod(below, stat.S_IRWXU)
        shutil.rmtree(folder, ignore_errors=True)
