"""What every version for an operating system answers, and what stands for an answer that it cannot give."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Protocol


class System(Protocol):
    """A module with these functions. None, 0 and nothing stand for what a system does not tell."""

    NAME: str
    LOOK_SECONDS: float
    """How long to wait between two looks at the processes of a trial: as long as a look is cheap."""

    def adopt_orphans(self) -> None:
        """From now on, what a process below this one leaves behind becomes a child of this one."""

    def die_with_parent(self) -> None:
        """From now on, whatever ends this process's parent (to be exact: the thread that started it) ends it too."""

    def offer_as_victim(self) -> None:
        """When the machine runs out of memory, better this process than another."""

    def children_of(self, pid: int) -> list[int]:
        """The processes that this one started, or adopted, and that still run."""

    def all_below(self, pid: int) -> list[int]:
        """Its children, theirs, and so on."""

    def is_stopped(self, pid: int) -> bool:
        """Whether a process has been stopped by a signal, and not let go on yet."""

    def count_threads(self) -> int:
        """Threads of this process."""

    def resident_bytes(self, pids: Iterable[int]) -> int:
        """What some processes hold in memory; pages that two of them share may count twice.

        Pages of mapped files, which the system drops when memory is short, are left out where it tells them apart.
        """

    def own_bytes(self, pids: Iterable[int], shared_bytes: int) -> int:
        """The same and so many bytes of shared memory, nothing twice: exact, and slow for large processes."""

    def cpu_seconds_below(self, pid: int) -> float:
        """Processor time so far of all processes below this one that still run."""

    def list_shared(self) -> set[str]:
        """Names of all shared memory on the machine: asked at every look, so nothing else is asked of each."""

    def identify_shared(self, name: str) -> int | None:
        """What tells this user's shared memory from another of that name; None where it is gone or another user's."""

    def held_shared(self, pids: Iterable[int]) -> set[str]:
        """Names of shared memory that some processes have open or mapped."""

    def size_shared(self, names: Iterable[str]) -> int:
        """Bytes that shared memory of these names takes."""

    def remove_shared(self, names: Set[str]) -> None:
        """Remove shared memory of these names."""

    def reset_peak(self) -> int | None:
        """Reset this process's high-water mark of resident memory, and give the level now."""

    def read_peak(self) -> int | None:
        """The highest resident memory of this process since then."""

    def processor_name(self) -> str:
        """What the maker calls the processor."""

    def processor_ticks(self) -> tuple[int, int] | None:
        """Ticks that all processors have worked, and have not, since the machine was started."""
