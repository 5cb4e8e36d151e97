"""What the scripts cluster_*.py share: a cluster of real processes on this machine, and what is asked of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.record import Record
from harness.store import Store

ONE = ["--nworkers", "1", "--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
"""Options of one worker that takes one trial at a time."""


@contextmanager
def cluster(folder: Path, *workers: list[str], **env: str) -> Iterator[str]:
    """A scheduler and workers by these options each; gives the scheduler's address."""
    file = folder / "scheduler.json"
    environment = os.environ | {"HARNESS_DATA_HOME": str(folder / "workers")} | env
    dask = [sys.executable, "-m", "dask"]
    commands = [[*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]]
    commands[0] += ["--scheduler-file", str(file)]
    for options in workers:
        commands.append([*dask, "worker", "--scheduler-file", str(file), "--no-dashboard", *options])
    log = open(folder / "cluster.log", "ab")  # noqa: SIM115 (open as long as the cluster is there)
    running = []
    try:
        for command in commands:
            running.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True))
            while not (file.exists() and file.read_text().strip().endswith("}")):
                time.sleep(0.02)
        yield json.loads(file.read_text())["address"]
    finally:
        for process in reversed(running):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


def client_of(address: str, workers: int) -> Any:
    """A client of a cluster that has so many workers."""
    from distributed import Client

    client = Client(address, set_as_default=False, timeout=60)
    client.wait_for_workers(workers, timeout=300)
    return client


@contextmanager
def heeding_records(heed: Callable[[Record], None]) -> Iterator[None]:
    """Have this called with every record, at the moment at which it is kept."""
    append = Store.append

    def heeded(self: Store, record: Record, ranks: bytes | None = None) -> None:
        append(self, record, ranks)
        heed(record)

    Store.append = heeded  # type: ignore[method-assign]  # nowhere else but here
    try:
        yield
    finally:
        Store.append = append  # type: ignore[method-assign]  # as it was


def resident_mb(pid: int) -> float:
    """What a process holds of memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_seconds(pid: int) -> float:
    """What a process has taken of processors, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
