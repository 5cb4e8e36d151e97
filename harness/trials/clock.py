"""Wall and processor time, and the highest resident memory, of stretches of a trial.

The functions that tell the time are taken here once, before any learner's module is imported: one that replaces those
of `time` changes nothing that is measured.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from harness.processes import all_below

_TICKS = os.sysconf("SC_CLK_TCK")


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
    running = sum(map(_ticks_of, all_below(os.getpid())))
    return process_time() + ended.ru_utime + ended.ru_stime + running / _TICKS


def _ticks_of(pid: int) -> int:
    """User and system time of a process and of those of its children that it has waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


def reset_peak() -> int | None:
    """Reset this process's high-water mark of resident memory, and give the level now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return read_peak()


def read_peak() -> int | None:
    """VmHWM of this process: never ru_maxrss, which a forked child inherits."""
    try:
        match = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None
