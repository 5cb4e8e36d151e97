"""The functions of `harness.system.System` for Linux.

They read /proc and /dev/shm, and call prctl, unshare and mount of the C library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

NAME = "linux"
LOOK_SECONDS = 0.02
SHARED_MEMORY = "/dev/shm"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_KEPT_FLAGS = {os.ST_NOSUID: 2, os.ST_NODEV: 4, os.ST_NOEXEC: 8, os.ST_NOATIME: 1 << 10, os.ST_NODIRATIME: 1 << 11}
_KEPT_FLAGS[os.ST_RELATIME] = 1 << 21
"""Flags of mount(2) by those of statvfs(3). A process in a user namespace may not drop them."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_BLOCK = 512
_libc = ctypes.CDLL(None, use_errno=True)  # loaded at import: a forked process then only has to call it


# -- ends of processes -----------------------------------------------------------------------------------------------


def adopt_orphans() -> bool:
    """Make this process the parent of descendants whose own parent ends (a subreaper, see prctl)."""
    return not _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def offer_as_victim() -> None:
    """Raise the score by which the kernel chooses a process to kill when memory runs out; ignore a refusal."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")


# -- files -----------------------------------------------------------------------------------------------------------


def hide_folders(
    hidden: Sequence[str], shown: Sequence[str], read_only: Sequence[str] = (), writable: Sequence[str] = ()
) -> bool:
    """Hide folders from this process and its children: mount empty file systems over them in a new namespace.

    Parameters
    ----------
    hidden : sequence of str
        Folders that appear empty from now on; missing ones are skipped.
    shown : sequence of str
        Folders inside of hidden ones that stay readable; missing ones are skipped.
    read_only : sequence of str
        Folders that cannot be written to from now on; missing ones are skipped.
    writable : sequence of str
        Folders inside of read-only ones that can still be written to.

    Returns
    -------
    bool
        False if the kernel refuses, for example because it forbids user namespaces. The process must have one thread.
    """
    kept: dict[str, int] = {}
    try:
        _enter_namespaces()
        _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
        # Open these folders inside the new namespace: the kernel refuses to bind mounts of another one.
        for path in filter(os.path.isdir, shown):
            kept[path] = os.open(path, os.O_PATH | os.O_DIRECTORY)
        for folder in filter(os.path.isdir, hidden):
            _mount("harness", folder, "tmpfs", 0)
        for path, handle in kept.items():
            os.makedirs(path, exist_ok=True)
            _mount(f"/proc/self/fd/{handle}", path, None, _MS_BIND)
        for folder in filter(os.path.isdir, read_only):
            with contextlib.suppress(OSError):  # the folders above stay hidden
                _make_read_only(folder, [path for path in writable if _is_below(path, folder)])
        _enter_namespaces()  # from a second namespace the process cannot unmount the folders of the first
        return True
    except OSError:
        return False
    finally:
        for handle in kept.values():
            os.close(handle)


def _enter_namespaces() -> None:
    """Move this process to a new user namespace and a new mount namespace; OSError if the system refuses.

    The user and the group stay the same. The kernel accepts this only from a process with one thread.
    """
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    for name, content in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(content)


def _make_read_only(folder: str, writable: Sequence[str]) -> None:
    """Mount a folder over itself without write access, and folders inside it with write access."""
    open_before = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in writable if os.path.isdir(path)}
    try:
        _mount(folder, folder, None, _MS_BIND | _MS_REC)
        found = os.statvfs(folder).f_flag
        kept = sum(flag for known, flag in _KEPT_FLAGS.items() if found & known)
        _mount(None, folder, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY | kept)
        for path, handle in open_before.items():
            _mount(f"/proc/self/fd/{handle}", path, None, _MS_BIND | _MS_REC)
    finally:
        for handle in open_before.values():
            os.close(handle)


def _is_below(path: str, folder: str) -> bool:
    return os.path.commonpath([os.path.realpath(path), os.path.realpath(folder)]) == os.path.realpath(folder)


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    """Call mount(2); OSError if it fails."""
    encoded = [None if text is None else text.encode() for text in (source, target, kind)]
    if _libc.mount(*encoded, ctypes.c_ulong(flags), None):
        raise OSError(ctypes.get_errno(), f"mount {target}")


# -- processes and their memory --------------------------------------------------------------------------------------


def children_of(pid: int) -> list[int]:
    """Return the pids of the children of a process; none if it has ended."""
    # The kernel lists the children of each thread. Searching all of /proc would slow down the trials.
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += map(int, file.read().split())
    return children


def all_below(pid: int) -> list[int]:
    """Return the pids of all descendants of a process; none if it has ended."""
    direct = children_of(pid)
    return direct + [deeper for child in direct for deeper in all_below(child)]


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped by a signal or a debugger; False if it has ended."""
    # The state is "T" after a signal and "t" under a debugger.
    return _fields_of(pid)[:1] in (["T"], ["t"])


def count_threads() -> int:
    """Return the number of threads of this process, including those that compiled libraries started."""
    return len(os.listdir("/proc/self/task"))


def resident_bytes(pids: Iterable[int]) -> int:
    """Return the anonymous and shared pages of processes in bytes; a page counts once per process that has it."""
    # RssFile is left out: the kernel can drop pages of mapped files when memory is short.
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status") as file:
            total += sum(map(int, re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", file.read(), re.MULTILINE))) * 1024
    return total


def own_bytes(pids: Iterable[int], shared_bytes: int) -> int:
    """Return the memory of processes in bytes, with every page counted once.

    The kernel divides the size of a page by the number of processes that share it (PSS). Computing this is slow for
    large processes.
    """
    # Shared memory that is mapped is also part of `shared_bytes`: adding both would count it twice.
    own = mapped = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/smaps_rollup") as file:
            sizes = dict(re.findall(r"^(Pss_Anon|Pss_Shmem):\s+(\d+) kB", file.read(), re.MULTILINE))
            own += int(sizes.get("Pss_Anon", 0)) * 1024
            mapped += int(sizes.get("Pss_Shmem", 0)) * 1024
    return own + max(mapped, shared_bytes)


def cpu_seconds_below(pid: int) -> float:
    """Return the processor time of all descendants of a process, including children that they have reaped."""
    return sum(map(_ticks_of, all_below(pid))) / _TICKS


def _ticks_of(pid: int) -> int:
    """Return the ticks of user and system time that a process and its reaped children have used."""
    return sum(map(int, _fields_of(pid)[11:15]))


def _fields_of(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the program's name; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def reset_peak() -> int | None:
    """Reset the peak of this process's resident memory and return its present size; None if the kernel refuses."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return read_peak()


def read_peak() -> int | None:
    """Return the peak of this process's resident memory in bytes since `reset_peak`; None if it is unknown."""
    # Not ru_maxrss: a forked child inherits the value of its parent.
    try:
        match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


# -- shared memory ---------------------------------------------------------------------------------------------------


def list_shared() -> set[str]:
    """Return the names of all files and folders in /dev/shm."""
    with contextlib.suppress(OSError):
        return set(os.listdir(SHARED_MEMORY))
    return set()


def identify_shared(name: str) -> int | None:
    """Return the inode of an entry of /dev/shm; None if it is missing or belongs to another user."""
    try:
        status = os.lstat(os.path.join(SHARED_MEMORY, name))
    except OSError:
        return None
    return status.st_ino if status.st_uid == os.geteuid() else None


def held_shared(pids: Iterable[int]) -> set[str]:
    """Return the names of entries of /dev/shm that any of these processes has open or mapped."""
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
    """Return the names of entries of /dev/shm that a text contains as paths."""
    return set(re.findall(rf"{SHARED_MEMORY}/([^/\n]+)", text))


def size_shared(names: Iterable[str]) -> int:
    """Return how many bytes entries of /dev/shm occupy, including files in folders."""
    total = 0
    for name in names:
        place = os.path.join(SHARED_MEMORY, name)
        total += _size_of(place)
        for folder, _, files in os.walk(place):
            total += sum(_size_of(os.path.join(folder, file)) for file in files)
    return total


def _size_of(path: str) -> int:
    """Return how many bytes a file occupies, which is less than its length if it has holes; 0 if it is missing."""
    try:
        return os.lstat(path).st_blocks * _BLOCK
    except OSError:
        return 0


def remove_shared(names: Set[str]) -> None:
    """Remove entries of /dev/shm; errors are ignored."""
    for name in names:
        place = os.path.join(SHARED_MEMORY, name)
        with contextlib.suppress(OSError):
            if os.path.isdir(place) and not os.path.islink(place):
                shutil.rmtree(place)
            else:
                os.unlink(place)


# -- the machine -----------------------------------------------------------------------------------------------------


def processor_name() -> str:
    """Return the model name in /proc/cpuinfo; "" on processors that have none there."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return ""


def processor_ticks() -> tuple[int, int] | None:
    """Return the busy and the idle ticks of all processors since the machine was booted; None if unknown."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return None
    idle = ticks[3] + ticks[4]  # idle, and waiting for disks
    return sum(ticks) - idle, idle
