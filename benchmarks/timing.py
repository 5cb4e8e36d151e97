"""Timing for the benchmarks: CPU seconds, the best or the median of several calls, one thread for all libraries."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
REPEATS, PATIENCE_SECONDS = 5, 10.0


def take_one_thread() -> None:
    """Restart the script with one thread per library, since libraries read the number when they are loaded."""
    if not os.environ.items() >= ONE_THREAD.items():
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, *sys.argv])


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def best_seconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the CPU seconds of the fastest of several calls; long calls are repeated less often."""
    spans: list[float] = []
    while len(spans) < repeats and sum(spans) < PATIENCE_SECONDS:
        spans.append(cpu_seconds(call))
    return min(spans)


def median_seconds(call: Callable[[], object], times: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median seconds of several calls, in wall time by default."""

    def once() -> float:
        start = clock()
        call()
        return clock() - start

    return statistics.median(once() for _ in range(times))


def all_cpu_seconds() -> float:
    """Return the CPU seconds so far, including those of finished child processes."""
    return sum(os.times()[:4])


def import_seconds(modules: str, environment: dict[str, str]) -> float:
    """Return the CPU seconds that a new interpreter takes to import modules."""
    code = f"import time; start = time.process_time(); import {modules}; print(time.process_time() - start)"
    ended = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ | environment
    )
    return float(ended.stdout)
