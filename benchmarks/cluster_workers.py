"""Simulated workers for benchmarks/cluster.py: they sleep, and return the result of one real trial.

    python benchmarks/cluster_workers.py SCHEDULER NUMBER

starts that many workers in one process. The host and the scheduler treat them as real ones.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from pathlib import Path

from distributed import Worker

from harness.cluster.messages import WorkerDescription, pack_description
from harness.system.machine import describe_versions

ANSWER_VARIABLE, SLEEP_VARIABLE = "CLUSTER_BENCHMARK_ANSWER", "CLUSTER_BENCHMARK_SLEEP"


def answer_at_once(content: bytes) -> bytes:
    """Replace `run_assignment`: sleep and return the result."""
    time.sleep(float(os.environ.get(SLEEP_VARIABLE, "0")))
    return Path(os.environ[ANSWER_VARIABLE]).read_bytes()


def describe_simulated(targets: object, code: object, dask_worker: Worker | None = None) -> bytes:
    """Replace `describe_worker`: each worker has its own machine, with the versions and code of the host."""
    from harness.cluster.worker import describe_code

    assert dask_worker is not None
    facts = {"id": "simulated", "processor": "simulated", "cores": 1}
    code_here = describe_code(targets, ())  # type: ignore[arg-type]  # what `describe_worker` takes
    return pack_description(
        WorkerDescription(
            name=str(dask_worker.name),
            host=str(dask_worker.name),
            home="simulated",
            slots=1,
            versions=describe_versions(),
            facts=facts,
            code=code_here,
        )
    )


async def main(scheduler: str, number: int) -> None:
    os.environ["DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED"] = "False"
    workers = []
    for _ in range(number):
        workers.append(await Worker(scheduler, nthreads=1, memory_limit=0, dashboard=False))
    print("ready", flush=True)
    await asyncio.gather(*(worker.finished() for worker in workers))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scheduler", help="address of the scheduler")
    parser.add_argument("number", type=int, help="number of workers in this process")
    args = parser.parse_args()
    asyncio.run(main(args.scheduler, args.number))
