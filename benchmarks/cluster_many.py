"""What the host and the scheduler can take: trials that workers answer without running them. Parts of
docs/cluster-figures.md.

    python benchmarks/cluster_many.py many [--trials 10000]
    python benchmarks/cluster_many.py simulated [--workers 1000] [--trials 100000]
    python benchmarks/cluster_many.py between [--trials 100]

`many` has two workers that answer at once; `simulated` many that sleep for a second; `between` tells what passes on two
workers between a trial of 0.3 s and the next. The workers answer with what one real trial gave: cluster_workers.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import cluster_workers
from cluster_page import Found, measure_part
from cluster_shared import client_of, cluster, heeding_records, processor_seconds, resident_mb

import harness
from harness.cluster import attempts, roster
from harness.cluster.messages import pack_end
from harness.executors.base import JobEnd
from harness.record import Measured, Record, field_names

WORKERS_A_PROCESS = 250
SAMPLES = 5
SETTLING = 20
"""Trials that are left out at the beginning, and at the end a quarter as many, where no time is to be seen."""


@dataclass(frozen=True)
class Simulation:
    """So many trials, for so many workers that take so long for each."""

    workers: int
    trials: int
    seconds_each: float


PARTS = {
    "many": Simulation(2, 10_000, 0.0),
    "simulated": Simulation(1_000, 100_000, 1.0),
    "between": Simulation(2, 100, 0.3),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--workers", type=int)
    parser.add_argument("--trials", type=int)
    asked = parser.parse_args()
    plan = PARTS[asked.part]
    plan = Simulation(asked.workers or plan.workers, asked.trials or plan.trials, plan.seconds_each)
    measure_part(asked.part, partial(simulate, plan))


def simulate(plan: Simulation, folder: Path) -> Found:
    """Plan, give out and store the trials, and see what that takes."""
    os.environ["HARNESS_DATA_HOME"] = str(folder / "home")
    env = simulated_environment(plan, folder)
    with (
        simulated_calls(),
        cluster(folder, **env) as address,
        start_workers(address, plan.workers, env) as workers,
    ):
        client = client_of(address, plan.workers)
        watch = Watch(plan.trials, client.run_on_scheduler(os.getpid))
        before = watch.processor_seconds(workers)
        begun = time.perf_counter()
        with heeding_records(watch.note):
            harness.run("dummy", "digits", trials=plan.trials, out=folder / "many", progress=False, on=client)
        took = time.perf_counter() - begun
        after = watch.processor_seconds(workers)
        client.close()
    kept = sum('"status":"ok"' in line for line in (folder / "many" / "records.jsonl").read_text().splitlines())
    spent = {name: after[name] - before[name] for name in after}
    between = watch.seconds_apart(plan.workers) - plan.seconds_each
    return {
        **asdict(plan),
        "kept": kept,
        "seconds": took,
        **spent,
        "between_seconds": between,
        "memory_mb": watch.memory,
    }


@dataclass
class Watch:
    """What this process and the scheduler hold and take, while records are kept."""

    trials: int
    scheduler: int
    memory: list[tuple[int, float, float]] = field(default_factory=list)
    kept_at: list[float] = field(default_factory=list)

    def note(self, record: Record) -> None:
        """A record was kept: it is time to look, now and then."""
        self.kept_at.append(time.perf_counter())
        done = len(self.kept_at)
        if done % max(1, self.trials // SAMPLES) == 0:
            self.memory.append((done, resident_mb(os.getpid()), resident_mb(self.scheduler)))

    def processor_seconds(self, workers: list[int]) -> dict[str, float]:
        """What all have taken until now."""
        return {
            "host_seconds": time.process_time(),
            "scheduler_seconds": processor_seconds(self.scheduler),
            "workers_seconds": sum(map(processor_seconds, workers)),
        }

    def seconds_apart(self, workers: int) -> float:
        """What passed on a worker from one record to the next, on the whole."""
        settled = self.kept_at[SETTLING : -SETTLING // 4]
        return (settled[-1] - settled[0]) / (len(settled) - 1) * workers


def simulated_environment(plan: Simulation, folder: Path) -> dict[str, str]:
    """What simulated workers find: the answer of one real trial, and how long they take for it."""
    (record,) = harness.run("dummy", "digits", trials=1, out=folder / "one", progress=False).records
    plain = asdict(record)
    measured = {name: plain[name] for name in field_names(Measured)}
    answer = folder / "answer"
    answer.write_bytes(pack_end(JobEnd("ok", measured, seconds=measured["clock_seconds"])))
    return {
        cluster_workers.ANSWER_VARIABLE: str(answer),
        cluster_workers.SLEEP_VARIABLE: str(plan.seconds_each),
        "PYTHONPATH": str(Path(__file__).parent),
    }


@contextmanager
def simulated_calls() -> Iterator[None]:
    """Have the host ask workers for what the simulated ones do."""
    places: list[tuple[Any, str, Any]] = [
        (attempts, "run_order", cluster_workers.answer_at_once),
        (roster, "describe_worker", cluster_workers.describe_simulated),
    ]
    real = [getattr(module, name) for module, name, _ in places]
    for module, name, simulated in places:
        setattr(module, name, simulated)
    try:
        yield
    finally:
        for (module, name, _), call in zip(places, real, strict=True):
            setattr(module, name, call)


@contextmanager
def start_workers(address: str, number: int, env: dict[str, str]) -> Iterator[list[int]]:
    """So many simulated workers, many in a process; gives the processes."""
    script = str(Path(__file__).with_name("cluster_workers.py"))
    running = []
    try:
        for begun in range(0, number, WORKERS_A_PROCESS):
            command = [sys.executable, script, address, str(min(WORKERS_A_PROCESS, number - begun))]
            process = subprocess.Popen(command, env=os.environ | env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            running.append(process)
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()  # it is ready
        yield [process.pid for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
