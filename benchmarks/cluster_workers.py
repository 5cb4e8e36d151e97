"""Workers for benchmarks/cluster_many.py that run no trial: they sleep, and answer with what one real trial gave.

    python benchmarks/cluster_workers.py SCHEDULER NUMBER

starts so many in this one process. What the host and the scheduler do for them is what they do for real ones.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from pathlib import Path

from distributed import Worker

from harness.cluster.messages import Hello, pack_hello
from harness.machine import describe_versions

ANSWER_VARIABLE, SLEEP_VARIABLE = "CLUSTER_BENCHMARK_ANSWER", "CLUSTER_BENCHMARK_SLEEP"


def answer_at_once(content: bytes) -> bytes:
    """In the place of `run_order`."""
    time.sleep(float(os.environ.get(SLEEP_VARIABLE, "0")))
    return Path(os.environ[ANSWER_VARIABLE]).read_bytes()


def describe_simulated(targets: object, code: object, dask_worker: Worker | None = None) -> bytes:
    """In the place of `describe_worker`: every one on a machine of its own, with the host's versions and code."""
    from harness.cluster.describing import describe_code

    assert dask_worker is not None
    facts = {"id": "simulated", "processor": "simulated", "cores": 1}
    code_here = describe_code(targets, ())  # type: ignore[arg-type]  # what `describe_worker` takes
    return pack_hello(
        Hello(
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
    parser.add_argument("scheduler", help="its address")
    parser.add_argument("number", type=int, help="of workers in this process")
    asked = parser.parse_args()
    asyncio.run(main(asked.scheduler, asked.number))
