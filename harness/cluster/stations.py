"""Where trials run on a worker: stations, each a local executor with a thread that alone speaks to it.

A trial never runs in the worker's own process: the executor's fork server starts it, its supervisor keeps the limits.
The thread lasts as long as the worker does, since the kernel ends a fork server when the thread that started it ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, LifoQueue

from harness.executors import TRIALS
from harness.executors.base import Job, JobEnd, Workplace
from harness.executors.local import LocalExecutor

NANNYS_VARIABLES = ("MALLOC_TRIM_THRESHOLD_",)
"""What dask's nannies set for workers that hold data: it slows down every process that allocates, and so trials."""
IDLE_SECONDS = 30.0
"""After so long without a trial the servers end: whoever gave it trials has gone, or has no more."""


class Station:
    """One place for a trial. Its servers start when they are first wanted, and end when nothing was for a while."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "harness-station")
        self._executor: LocalExecutor | None = None
        self._cooling: threading.Timer | None = None

    def warm_up(self) -> None:
        """Start what every trial needs, while the host is still busy with other things."""
        self._thread.submit(self._started, 1)
        self._cool_later()

    def start(self, job: Job, workplace: Workplace, on_phase: Callable[[str], None]) -> Future[JobEnd]:
        """Begin a job; how it ended is told by what this gives."""
        if self._cooling is not None:
            self._cooling.cancel()
        return self._thread.submit(self._run, job, workplace, on_phase)

    def _run(self, job: Job, workplace: Workplace, on_phase: Callable[[str], None]) -> JobEnd:
        try:
            executor = self._started(workplace.threads)
            executor.prepare(workplace, lambda: on_phase("compiling kernels"))
            ((_, end),) = executor.run([job], on_phase=lambda _, phase, __="": on_phase(phase))
            return end
        except BaseException:
            self._stop_servers()  # whatever state they are in: the next trial has new ones
            raise
        finally:
            self._cool_later()

    def _started(self, threads: int) -> LocalExecutor:
        if self._executor is None:
            executor = LocalExecutor(common=TRIALS, threads=threads)
            executor.start()
            self._executor = executor
        return self._executor

    def abandon(self) -> None:
        """End the job that runs here, from any thread."""
        if self._executor is not None:
            self._executor.abandon()

    def cool_down(self) -> None:
        """End the servers as soon as nothing runs."""
        with contextlib.suppress(RuntimeError):  # the worker is ending, and all of this with it
            self._thread.submit(self._stop_servers)

    def _cool_later(self) -> None:
        if self._cooling is not None:
            self._cooling.cancel()
        self._cooling = threading.Timer(IDLE_SECONDS, self.cool_down)
        self._cooling.daemon = True
        self._cooling.start()

    def _stop_servers(self) -> None:
        if self._executor is not None:
            self._executor.close()
            self._executor = None

    def close(self) -> None:
        """End the servers, once nothing runs here any more."""
        self._thread.shutdown()
        self._stop_servers()


@dataclass
class Stations:
    """Those of one worker: as many as it takes trials at once, however many hosts give it some."""

    free: LifoQueue[Station] = field(default_factory=LifoQueue)
    """The one used last is the warmest."""
    every: list[Station] = field(default_factory=list)

    def take(self, seconds: float) -> Station | None:
        """One that is free, waited for so long; give it back with `free.put`."""
        try:
            return self.free.get(timeout=seconds)
        except Empty:
            return None


_of_workers: dict[str, Stations] = {}
_making = threading.Lock()


def stations_of(worker: str, slots: int) -> Stations:
    """The stations of a worker of this process, made when they are first asked for."""
    with _making:
        if worker not in _of_workers:
            for name in NANNYS_VARIABLES:
                os.environ.pop(name, None)
            every = [Station() for _ in range(slots)]
            stations = Stations(every=every)
            for station in every:
                stations.free.put(station)
            _of_workers[worker] = stations
        return _of_workers[worker]


@atexit.register
def _close_all() -> None:
    for stations in _of_workers.values():
        for station in stations.every:
            station.close()
