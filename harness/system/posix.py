"""What any POSIX system tells, by `ps`: macOS and the BSDs. Docs say which guarantees are weaker there.

What a process leaves behind is found as long as it stayed in the process group of one that is still there.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterable, Set
from dataclasses import dataclass

NAME = "posix"
LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class _Process:
    """A line of `ps`."""

    pid: int
    parent: int
    group: int
    resident_bytes: int
    state: str
    """As `ps` writes it, its first letter: Z for one that has ended, T for one that was stopped."""

    @property
    def has_ended(self) -> bool:
        return self.state == "Z"


def _processes() -> list[_Process]:
    command = ["ps", "-A", "-o", "pid=,ppid=,pgid=,rss=,stat="]
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as asked:
        lines = asked.communicate()[0].splitlines()
    for line in lines:
        with contextlib.suppress(ValueError):
            pid, parent, group, kilobytes, state = line.split(maxsplit=4)
            if int(pid) != asked.pid:
                found.append(_Process(int(pid), int(parent), int(group), int(kilobytes) * 1024, state[0]))
    return found


# -- what becomes of processes ---------------------------------------------------------------------------------------


def adopt_orphans() -> None:
    """No POSIX call does this."""


def die_with_parent() -> None:
    """No POSIX call does this: a process that waits for its parent's words sees them end."""


def offer_as_victim() -> None:
    """No POSIX call does this."""


# -- processes and their memory --------------------------------------------------------------------------------------


def children_of(pid: int) -> list[int]:
    return [process.pid for process in _processes() if process.parent == pid and not process.has_ended]


def all_below(pid: int) -> list[int]:
    """Those that it started, and all in a process group that one of these leads, whoever their parent is by now."""
    processes = _processes()
    known = {pid}
    size = 0
    while len(known) > size:
        size = len(known)
        known |= {process.pid for process in processes if process.parent in known or process.group in known}
    return [process.pid for process in processes if process.pid in known - {pid} and not process.has_ended]


def is_stopped(pid: int) -> bool:
    return any(process.pid == pid and process.state == "T" for process in _processes())


def count_threads() -> int:
    """Those that Python knows of."""
    return threading.active_count()


def resident_bytes(pids: Iterable[int]) -> int:
    wanted = set(pids)
    return sum(process.resident_bytes for process in _processes() if process.pid in wanted)


def own_bytes(pids: Iterable[int], shared_bytes: int) -> int:
    """`ps` cannot tell shared pages from others."""
    return resident_bytes(pids) + shared_bytes


def cpu_seconds_below(pid: int) -> float:
    """Known of those that have ended only, and those are counted by this process's own clock."""
    return 0.0


def reset_peak() -> int | None:
    return None


def read_peak() -> int | None:
    return None


# -- shared memory ---------------------------------------------------------------------------------------------------


def list_shared() -> set[str]:
    """POSIX has no list of it."""
    return set()


def identify_shared(name: str) -> int | None:
    return None


def held_shared(pids: Iterable[int]) -> set[str]:
    return set()


def size_shared(names: Iterable[str]) -> int:
    return 0


def remove_shared(names: Set[str]) -> None:
    """Nothing is known that could be removed."""


# -- the machine -----------------------------------------------------------------------------------------------------


def processor_name() -> str:
    """As macOS tells it; empty where there is no such command."""
    try:
        asked = subprocess.run(
            ["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout.strip()


def processor_ticks() -> tuple[int, int] | None:
    return None
