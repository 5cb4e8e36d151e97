"""Threads: how many a learner may use, and work that is shared out among them.

They are Python's own, and run side by side where the work is in kernels, which hold no lock. They are started for one
call and gone after it: a process that forks has none.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

VARIABLE = "OMP_NUM_THREADS"
"""A trial sets this one for its learner, as it does those of other libraries."""
Share = TypeVar("Share")
Found = TypeVar("Found")
_HERE = threading.local()
"""Whether this thread is one of those that work is shared out among."""


def allowed_threads() -> int:
    """The number of threads that are allowed here; one where nobody has said, and in a thread that has its share."""
    if _has_a_share():
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
    with one_blas_thread(), ThreadPoolExecutor(threads, initializer=_take_a_share) as pool:
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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let products of matrices be made by who asks for them alone; in a thread that has a share it is so already.

    With more threads a BLAS may cut a product in other places, and its sums then differ in the last place.
    """
    if _has_a_share():
        yield
        return
    with _blas_pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas_pools() -> ThreadpoolController:
    """The pools of this process: looking for them takes milliseconds, and the one that numpy uses is there already."""
    return ThreadpoolController()


def _take_a_share() -> None:
    _HERE.has_a_share = True


def _has_a_share() -> bool:
    return getattr(_HERE, "has_a_share", False)
