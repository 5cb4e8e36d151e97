"""The shared memory that a job makes: found while it is held, counted against the job's limit, removed at the end.

A file of shared memory does not say who made it. One that is new since the job began and that a process of the job was
seen to hold is the job's; all others are left alone, since they may be anybody's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.system import SYSTEM

MOST_LOOKS = 100
"""How often a new file is looked for among what the job holds, before it is taken for somebody else's."""


class SharedMemory:
    """What is known of the shared memory of one job, from when this is made."""

    def __init__(self) -> None:
        self._before = SYSTEM.list_shared()
        self._own: dict[str, int] = {}
        self._looks: Counter[str] = Counter()

    def look(self, pids: Sequence[int]) -> int:
        """Look for what the job's processes hold; gives the bytes of all that is the job's."""
        unknown = set()
        for name in SYSTEM.list_shared() - self._before - self._own.keys():
            if self._looks[name] < MOST_LOOKS:
                unknown.add(name)
        if unknown:
            self._looks.update(unknown)
            for name in unknown & SYSTEM.held_shared(pids):
                mark = SYSTEM.identify_shared(name)
                if mark is not None:
                    self._own[name] = mark
        return SYSTEM.size_shared(self._own)

    def remove(self) -> None:
        """Remove what is the job's, and still what it was."""
        SYSTEM.remove_shared({name for name, mark in self._own.items() if SYSTEM.identify_shared(name) == mark})
