"""Products of dense matrices by one thread of the BLAS at a time: the same bits for any number of threads.

A BLAS may cut a product in other places when it has more threads, and its sums then differ in the last place.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let products be made by who asks for them alone. It holds for the whole process, so that no thread may say it."""
    with _pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _pools() -> ThreadpoolController:
    """The pools of this process: looking for them takes milliseconds, and the one that numpy uses is there already."""
    return ThreadpoolController()
