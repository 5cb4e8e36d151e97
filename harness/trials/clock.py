"""Clocks, thread limits and warnings of a trial's process.

This module binds the functions of `time` before any learner is imported. A learner that replaces them later does not
change what is measured.
"""

from __future__ import annotations

import os
import resource
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

import threadpoolctl

from harness.system import SYSTEM
from harness.text import in_a_line


@dataclass
class Clock:
    """A stopwatch for wall and CPU seconds, summed over all blocks that it times.

    CPU time includes child processes.

    Examples
    --------
    >>> clock = Clock()
    >>> with clock.running():
    ...     total = sum(range(1000))
    >>> clock.wall > 0
    True
    """

    wall: float = 0.0
    cpu: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time the block; after an error in it, the values are meaningless."""
        self._start()
        yield
        self._stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude a block inside `running` from the time; `wall` and `cpu` are valid in the block."""
        self._stop()
        try:
            yield
        finally:
            self._start()

    def _start(self) -> None:
        self.cpu -= cpu_seconds()
        self.wall -= perf_counter()

    def _stop(self) -> None:
        self.wall += perf_counter()
        self.cpu += cpu_seconds()


def cpu_seconds() -> float:
    """Return the CPU time so far of this process and its children, both finished and running ones."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = SYSTEM.cpu_seconds_below(os.getpid())
    return process_time() + ended.ru_utime + ended.ru_stime + running


VARIABLES = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB", "NUMBA")


def limit_threads(threads: int) -> None:
    """Limit the threads of numeric libraries in this process.

    Libraries that are already loaded are limited directly. Libraries that the learner loads later read environment
    variables such as `OMP_NUM_THREADS`.
    """
    for variable in VARIABLES:
        os.environ[f"{variable}_NUM_THREADS"] = str(threads)
    threadpoolctl.threadpool_limits(limits=threads)
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(threads)


def threads_in_force() -> dict[str, int]:
    """Return the number of threads of each thread pool in this process, keyed by API and library ("openmp:libgomp")."""
    pools: dict[str, int] = {}
    for pool in threadpoolctl.threadpool_info():
        name = f"{pool['internal_api']}:{Path(pool['filepath']).name.partition('-')[0].partition('.')[0]}"
        pools[name] = max(pools.get(name, 0), pool["num_threads"])
    if "numba" in sys.modules:
        pools["numba"] = sys.modules["numba"].get_num_threads()
    return pools


MAX_WARNINGS = 10
WARNING_LENGTH = 300


@contextmanager
def collect_warnings(messages: list[str]) -> Iterator[None]:
    """Append warnings raised in the block to `messages`.

    Each distinct message is kept once, up to `MAX_WARNINGS`. Filters set by the learner's module stay in force.

    Parameters
    ----------
    messages : list of str
        A list that the block's warnings are appended to.
    """
    with warnings.catch_warnings():

        def keep(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
            text = in_a_line(f"{category.__name__}: {message}", WARNING_LENGTH)
            if text not in messages and len(messages) < MAX_WARNINGS:
                messages.append(text)

        warnings.showwarning = keep
        yield
