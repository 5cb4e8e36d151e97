"""Threads: how many a learner may use, and work that is shared out among them.

They are Python's own, and run side by side where the work is in kernels, which hold no lock. They are started for one
call and gone after it: a process that forks has none.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

VARIABLE = "OMP_NUM_THREADS"
"""A trial sets this one for its learner, as it does those of other libraries."""
Share = TypeVar("Share")
Found = TypeVar("Found")
_HERE = threading.local()
"""Whether this thread is one of those that work is shared out among."""


def allowed_threads() -> int:
    """The number of threads that are allowed here; one where nobody has said, and in a thread that has its share."""
    if getattr(_HERE, "has_a_share", False):
        return 1
    allowed = os.environ.get(VARIABLE, "")
    return int(allowed) if allowed.isdigit() and int(allowed) > 0 else 1


def in_threads(work: Callable[[Share], Found], shares: Iterable[Share]) -> list[Found]:
    """What the work gives for each share, in their order, done on as many threads as are allowed.

    The result is the same for any number of them where no share's work looks at what another's changes.
    """
    waiting = list(shares)
    threads = min(allowed_threads(), len(waiting))
    if threads <= 1:
        return [work(share) for share in waiting]
    with ThreadPoolExecutor(threads, initializer=_take_a_share) as pool:
        return list(pool.map(work, waiting))


def stretches(n: int, *, least: int = 1, per_thread: int = 1) -> list[slice]:
    """0 to n in stretches, for each thread as many as are asked for; all but the last are multiples of `least`.

    More than one for each thread evens out what takes longer in one place than in another.
    """
    if n <= 0:
        return []
    units = -(-n // least)
    count = min(units, allowed_threads() * per_thread)
    ends = [least * (units * (s + 1) // count) for s in range(count)]
    starts = [0, *ends[:-1]]
    return [slice(start, min(end, n)) for start, end in zip(starts, ends, strict=True)]


def _take_a_share() -> None:
    _HERE.has_a_share = True
