"""What Linux tells and does, by /proc, prctl and /dev/shm."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
from collections.abc import Iterable, Set
from pathlib import Path

NAME = "linux"
LOOK_SECONDS = 0.02
SHARED_MEMORY = "/dev/shm"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_BLOCK = 512
_libc = ctypes.CDLL(None, use_errno=True)  # loaded with the module, so that a fork only has to call it


# -- what becomes of processes ---------------------------------------------------------------------------------------


def adopt_orphans() -> None:
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def offer_as_victim() -> None:
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")


# -- processes and their memory --------------------------------------------------------------------------------------


def children_of(pid: int) -> list[int]:
    """By the kernel's own list: reading all of /proc would cost more than a trial may notice."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += map(int, file.read().split())
    return children


def all_below(pid: int) -> list[int]:
    direct = children_of(pid)
    return direct + [deeper for child in direct for deeper in all_below(child)]


def is_stopped(pid: int) -> bool:
    """T by a signal, t by a debugger: such a process does nothing until somebody lets it."""
    return _fields_of(pid)[:1] in (["T"], ["t"])


def count_threads() -> int:
    """As the kernel sees them, compiled libraries' ones included."""
    return len(os.listdir("/proc/self/task"))


def resident_bytes(pids: Iterable[int]) -> int:
    """Pages of files that are mapped do not count: the kernel lets go of them when memory is short."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status") as file:
            total += sum(map(int, re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", file.read(), re.MULTILINE))) * 1024
    return total


def own_bytes(pids: Iterable[int], shared_bytes: int) -> int:
    """A page that several processes share is divided among them; what they map of shared memory is in its files."""
    own = mapped = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/smaps_rollup") as file:
            sizes = dict(re.findall(r"^(Pss_Anon|Pss_Shmem):\s+(\d+) kB", file.read(), re.MULTILINE))
            own += int(sizes.get("Pss_Anon", 0)) * 1024
            mapped += int(sizes.get("Pss_Shmem", 0)) * 1024
    return own + max(mapped, shared_bytes)


def cpu_seconds_below(pid: int) -> float:
    return sum(map(_ticks_of, all_below(pid))) / _TICKS


def _ticks_of(pid: int) -> int:
    """User and system time of a process and of those of its children that it has waited for."""
    return sum(map(int, _fields_of(pid)[11:15]))


def _fields_of(pid: int) -> list[str]:
    """What /proc/PID/stat says behind the name of the program, which may hold anything; nothing where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def reset_peak() -> int | None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return read_peak()


def read_peak() -> int | None:
    """VmHWM of this process: never ru_maxrss, which a forked child inherits."""
    try:
        match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


# -- shared memory ---------------------------------------------------------------------------------------------------


def list_shared() -> set[str]:
    with contextlib.suppress(OSError):
        return set(os.listdir(SHARED_MEMORY))
    return set()


def identify_shared(name: str) -> int | None:
    try:
        status = os.lstat(os.path.join(SHARED_MEMORY, name))
    except OSError:
        return None
    return status.st_ino if status.st_uid == os.geteuid() else None


def held_shared(pids: Iterable[int]) -> set[str]:
    names: set[str] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            names |= _names_in(Path(f"/proc/{pid}/maps").read_text(errors="replace"))
        with contextlib.suppress(OSError):
            for handle in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    names |= _names_in(os.readlink(f"/proc/{pid}/fd/{handle}"))
    return names


def _names_in(text: str) -> set[str]:
    return set(re.findall(rf"{SHARED_MEMORY}/([^/\n]+)", text))


def size_shared(names: Iterable[str]) -> int:
    total = 0
    for name in names:
        place = os.path.join(SHARED_MEMORY, name)
        total += _size_of(place)
        for folder, _, files in os.walk(place):
            total += sum(_size_of(os.path.join(folder, file)) for file in files)
    return total


def _size_of(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * _BLOCK
    except OSError:
        return 0


def remove_shared(names: Set[str]) -> None:
    for name in names:
        place = os.path.join(SHARED_MEMORY, name)
        with contextlib.suppress(OSError):
            if os.path.isdir(place) and not os.path.islink(place):
                shutil.rmtree(place)
            else:
                os.unlink(place)


# -- the machine -----------------------------------------------------------------------------------------------------


def processor_name() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return ""


def processor_ticks() -> tuple[int, int] | None:
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return None
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, idle
