"""The functions of `harness.system.System` for macOS and the BSDs, with psutil.

Some guarantees are weaker than on Linux; the docs list them. For example, a process whose parent has ended is found
only while the leader of its process group still runs.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import psutil

NAME = "posix"
LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class _Process:
    """A running process, with the pids of its parent and of the leader of its process group."""

    pid: int
    parent: int
    group: int


def _processes() -> list[_Process]:
    """Return all running processes of the machine in the order of their pids; zombies are left out."""
    found = []
    for process in psutil.process_iter(["ppid", "status"]):
        try:
            group = os.getpgid(process.pid)
        except OSError:  # the process has ended since it was listed
            continue
        if process.info["ppid"] is not None and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(_Process(process.pid, process.info["ppid"], group))
    return found


# -- ends of processes -----------------------------------------------------------------------------------------------


def adopt_orphans() -> bool:
    """Do nothing and return False: POSIX has no call that adopts orphans."""
    return False


def die_with_parent() -> None:
    """Do nothing: POSIX has no such call. A process notices the end of its parent when a channel to it closes."""


def offer_as_victim() -> None:
    """Do nothing: POSIX has no order in which processes are killed when memory runs out."""


def hide_folders(
    hidden: Sequence[str], shown: Sequence[str], read_only: Sequence[str] = (), writable: Sequence[str] = ()
) -> bool:
    """Hide nothing and return False: POSIX has no private mounts."""
    return False


# -- processes and their memory --------------------------------------------------------------------------------------


def children_of(pid: int) -> list[int]:
    """Return the pids of the running children of a process."""
    return [process.pid for process in _processes() if process.parent == pid]


def all_below(pid: int) -> list[int]:
    """Return the pids of all descendants of a process, and of orphans in the process groups of descendants.

    An orphan has another parent, but stays in its process group.
    """
    processes = _processes()
    known = {pid}
    size = 0
    while len(known) > size:
        size = len(known)
        known |= {process.pid for process in processes if process.parent in known or process.group in known}
    return [process.pid for process in processes if process.pid in known - {pid}]


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped by a signal or a debugger; False if it has ended."""
    try:
        return bool(psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP))
    except psutil.Error:
        return False


def count_threads() -> int:
    """Return the number of threads that Python started; threads of compiled libraries are not counted."""
    return threading.active_count()


def resident_bytes(pids: Iterable[int]) -> int:
    """Return the resident memory of processes in bytes; a shared page counts once per process that has it."""
    total = 0
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            total += psutil.Process(pid).memory_info().rss
    return total


def own_bytes(pids: Iterable[int], shared_bytes: int) -> int:
    """Return the resident memory of processes plus shared memory, in bytes.

    A shared page counts once for each process: psutil cannot report shared pages on all of these systems.
    """
    return resident_bytes(pids) + shared_bytes


def cpu_seconds_below(pid: int) -> float:
    """Return the processor time of all descendants of a process; except on macOS, reaped children are included."""
    total = 0.0
    for process in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def reset_peak() -> int | None:
    """Return None: these systems cannot reset the peak."""
    return None


def read_peak() -> int | None:
    """Return None: without a reset, the peak would include earlier work of the process."""
    return None


# -- shared memory ---------------------------------------------------------------------------------------------------


def list_shared() -> set[str]:
    """Return an empty set: POSIX cannot list shared memory."""
    return set()


def identify_shared(name: str) -> int | None:
    """Return None: `list_shared` returns no names."""
    return None


def held_shared(pids: Iterable[int]) -> set[str]:
    """Return an empty set: POSIX cannot list the shared memory of a process."""
    return set()


def size_shared(names: Iterable[str]) -> int:
    """Return 0: `list_shared` returns no names."""
    return 0


def remove_shared(names: Set[str]) -> None:
    """Do nothing: `list_shared` returns no names."""


# -- the machine -----------------------------------------------------------------------------------------------------


def processor_name() -> str:
    """Return the model name that `sysctl` prints on macOS; "" on systems without that entry."""
    try:
        completed = subprocess.run(
            ["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return completed.stdout.strip()


def processor_ticks() -> tuple[int, int] | None:
    """Return None; `harness.system.machine.busy_processors` then uses the load average."""
    return None
