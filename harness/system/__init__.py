"""Processes, memory and processor times, as the operating system reports them.

`SYSTEM` is the module for this platform: `linux`, or `posix` for macOS and the BSDs, which measures and enforces less.
Both modules have the functions of `System`. Set HARNESS_SYSTEM=posix to use `posix` on Linux, as some tests do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence, Set
from typing import Protocol

from harness.system import linux

SYSTEM_VARIABLE = "HARNESS_SYSTEM"
POSIX = "posix"


class System(Protocol):
    """The interface of the modules for operating systems.

    Where a system lacks a feature, the function does nothing and returns None, 0, False or an empty value.
    """

    NAME: str
    LOOK_SECONDS: float
    """Seconds between two checks of a trial's processes; more on systems where a check is expensive."""

    def adopt_orphans(self) -> bool:
        """Make this process the parent of descendants whose own parent ends, from now on; False if unsupported."""

    def die_with_parent(self) -> None:
        """Let the system kill this process when the thread that started it ends, usually with the parent process."""

    def offer_as_victim(self) -> None:
        """Let the system kill this process first when the machine runs out of memory."""

    def hide_folders(
        self, hidden: Sequence[str], shown: Sequence[str], read_only: Sequence[str] = (), writable: Sequence[str] = ()
    ) -> bool:
        """Hide folders from this process and from the processes that it starts.

        The process cannot undo this, and cannot read the memory of processes outside. It must have one thread only.

        Parameters
        ----------
        hidden : sequence of str
            Folders that appear empty from now on.
        shown : sequence of str
            Folders inside of hidden ones that stay readable.
        read_only : sequence of str
            Folders that cannot be written to from now on.
        writable : sequence of str
            Folders inside of read-only ones that can still be written to.

        Returns
        -------
        bool
            False if the system does not support or permit this. Folders may then stay visible.
        """

    def children_of(self, pid: int) -> list[int]:
        """Return the pids of the children of a process, adopted ones included."""

    def all_below(self, pid: int) -> list[int]:
        """Return the pids of all descendants of a process: its children, their children, and so on."""

    def is_stopped(self, pid: int) -> bool:
        """Return whether a process is stopped by a signal or a debugger."""

    def count_threads(self) -> int:
        """Return the number of threads of this process. A process with more than one cannot be forked safely."""

    def resident_bytes(self, pids: Iterable[int]) -> int:
        """Return an upper estimate of the memory that processes hold, fast enough for every check.

        A page that several processes share counts once for each of them. Pages of mapped files do not count, on systems
        that report them separately: the system can drop these pages when memory is short.

        Parameters
        ----------
        pids : iterable of int
            The processes; those that have ended count 0.
        """

    def own_bytes(self, pids: Iterable[int], shared_bytes: int) -> int:
        """Return the memory that processes hold together, with every page counted once.

        This is slow for large processes. Call it only if `resident_bytes` exceeds a limit.

        Parameters
        ----------
        pids : iterable of int
            The processes.
        shared_bytes : int
            The size of their shared memory, from `size_shared`.
        """

    def cpu_seconds_below(self, pid: int) -> float:
        """Return the processor time, in seconds, that all present descendants of a process have used."""

    def list_shared(self) -> set[str]:
        """Return the names of all shared memory on the machine. Every check calls this, so it has to be fast."""

    def identify_shared(self, name: str) -> int | None:
        """Return an identifier that changes when the name is used again for new shared memory.

        Returns
        -------
        int or None
            None if there is no shared memory of this name, or if it belongs to another user.
        """

    def held_shared(self, pids: Iterable[int]) -> set[str]:
        """Return the names of the shared memory that any of these processes has open or mapped.

        Parameters
        ----------
        pids : iterable of int
            The processes; those that have ended hold none.
        """

    def size_shared(self, names: Iterable[str]) -> int:
        """Return how many bytes the shared memory of these names occupies."""

    def remove_shared(self, names: Set[str]) -> None:
        """Remove shared memory by name; errors are ignored."""

    def reset_peak(self) -> int | None:
        """Start a new measurement of this process's peak memory, and return its present memory in bytes."""

    def read_peak(self) -> int | None:
        """Return the most bytes of resident memory that this process has had since `reset_peak`."""

    def processor_name(self) -> str:
        """Return the model name of the processor; "" if it is unknown."""

    def processor_ticks(self) -> tuple[int, int] | None:
        """Return the busy and the idle ticks of all processors together since the machine was booted."""


def choose_system(platform: str, wanted: str | None) -> System:
    """Return the module for a platform.

    Parameters
    ----------
    platform : str
        The platform as in `sys.platform`.
    wanted : str or None
        The value of HARNESS_SYSTEM: "posix" selects the module for other systems on Linux too.

    Examples
    --------
    >>> choose_system("linux", wanted=None).NAME
    'linux'
    """
    if platform == "linux" and wanted != POSIX:
        return linux
    from harness.system import posix  # noqa: PLC0415 (imports psutil, which is not a dependency on Linux)

    return posix


SYSTEM = choose_system(sys.platform, os.environ.get(SYSTEM_VARIABLE))

__all__ = ["SYSTEM", "System", "choose_system"]
