"""Threads for kernels: the allowed number, and work in parallel.

Kernels release the lock of Python, so Python's threads run in parallel. They are started for one call and end with it:
a process that forks has none.
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
"""Environment variable that a trial sets for its learner, like those of other libraries."""
Share = TypeVar("Share")
Found = TypeVar("Found")
_HERE = threading.local()
"""Set in threads that were started here."""


def allowed_threads() -> int:
    """Return the allowed number of threads.

    Returns
    -------
    int
        The value of OMP_NUM_THREADS; 1 by default, and in threads that `in_threads` started.
    """
    if _has_a_share():
        return 1
    allowed = os.environ.get(VARIABLE, "")
    return int(allowed) if allowed.isdigit() and int(allowed) > 0 else 1


def in_threads(work: Callable[[Share], Found], shares: Iterable[Share]) -> list[Found]:
    """Return the results of `work` for each share, computed on the allowed number of threads.

    The results do not depend on the number of threads if the shares are independent.

    Parameters
    ----------
    work : callable
        Function of one share. It should release Python's lock, as kernels do.
    shares : iterable
        Independent pieces of work, such as the slices of `stretches`.

    Returns
    -------
    list
        One result per share, in the order of the shares.

    Raises
    ------
    Exception
        The first error raised by `work`.

    Examples
    --------
    >>> in_threads(sum, [[1, 2], [3]])
    [3, 3]
    """
    waiting = list(shares)
    threads = min(allowed_threads(), len(waiting))
    if threads <= 1:
        return [work(share) for share in waiting]
    with one_blas_thread(), ThreadPoolExecutor(threads, initializer=_take_a_share) as pool:
        return list(pool.map(work, waiting))


def stretches(n: int, *, least: int = 1, per_thread: int = 1) -> list[slice]:
    """Return slices that cover 0 to n, some for each thread.

    Parameters
    ----------
    n : int
        Number of items, such as rows.
    least : int, default=1
        The length of every slice but the last is a multiple of this number.
    per_thread : int, default=1
        Slices for each thread. Several slices balance the load.

    Returns
    -------
    list of slice
        Consecutive slices.
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
    """Run matrix products in the block on one thread.

    With more threads a BLAS may split a product differently, and sums differ in the last bit. Threads that `in_threads`
    started need no such block.
    """
    if _has_a_share():
        yield
        return
    with _blas_pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas_pools() -> ThreadpoolController:
    """Return the thread pools of this process; cached, since the search takes milliseconds."""
    return ThreadpoolController()


def _take_a_share() -> None:
    _HERE.has_a_share = True


def _has_a_share() -> bool:
    return getattr(_HERE, "has_a_share", False)
