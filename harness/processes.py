"""The processes below one, by the kernel's own list: reading all of /proc would cost more than a trial may notice."""

from __future__ import annotations

import contextlib
import os


def children_of(pid: int) -> list[int]:
    """The processes that this one started and that still run; none where it has ended meanwhile."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += map(int, file.read().split())
    return children


def all_below(pid: int) -> list[int]:
    """Its children, theirs, and so on."""
    direct = children_of(pid)
    return direct + [deeper for child in direct for deeper in all_below(child)]
