"""Wall and processor time of stretches of a trial.

The functions that tell the time are taken here once, before any learner's module is imported: one that replaces those
of `time` changes nothing that is measured.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, process_time

from harness.system import SYSTEM


@dataclass
class Clock:
    """Wall and processor seconds of one stretch, those of children included, without those of the pauses in it."""

    wall: float = 0.0
    cpu: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        self._start()
        yield
        self._stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside `running`: what happens here does not count, and the clock can be read meanwhile."""
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
    """Processor time of this process so far, and of all that it started, whether they still run or not."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = SYSTEM.cpu_seconds_below(os.getpid())
    return process_time() + ended.ru_utime + ended.ru_stime + running
