"""Wall and processor time, and the highest resident memory, of stretches of a trial."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Clock:
    """Wall and processor seconds of one stretch, without those of the pauses in it."""

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
        self.wall -= time.perf_counter()
        self.cpu -= time.process_time()

    def _stop(self) -> None:
        self.wall += time.perf_counter()
        self.cpu += time.process_time()


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
