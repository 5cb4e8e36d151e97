"""How the benchmarks take time: processor seconds, the best or the middle one of several, and one thread for all."""

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
    """Start the script again where libraries may take several threads: they read how many when they are loaded."""
    if not os.environ.items() >= ONE_THREAD.items():
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, *sys.argv])


def cpu_seconds(call: Callable[[], object]) -> float:
    """Processor seconds of a call, in this process."""
    start = time.process_time()
    call()
    return time.process_time() - start


def best_seconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Those of the shortest of some calls, fewer of those that take long: nearly what an idle machine takes."""
    spans: list[float] = []
    while len(spans) < repeats and sum(spans) < PATIENCE_SECONDS:
        spans.append(cpu_seconds(call))
    return min(spans)


def median_seconds(call: Callable[[], object], times: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """The middle one of some calls, by the clock on the wall unless told otherwise."""

    def once() -> float:
        start = clock()
        call()
        return clock() - start

    return statistics.median(once() for _ in range(times))


def all_cpu_seconds() -> float:
    """A clock: processor seconds so far, those of processes that were waited for included."""
    return sum(os.times()[:4])


def import_seconds(modules: str, environment: dict[str, str]) -> float:
    """Processor seconds that a new interpreter takes to import something."""
    code = f"import time; start = time.process_time(); import {modules}; print(time.process_time() - start)"
    ended = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ | environment
    )
    return float(ended.stdout)
