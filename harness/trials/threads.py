"""The limit on threads: put in force in a trial's process, and read back from every pool that it has."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import threadpoolctl

VARIABLES = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB", "NUMBA")


def limit_threads(threads: int) -> None:
    """Put the limit in force: for libraries already loaded and for those that the learner will load."""
    for variable in VARIABLES:
        os.environ[f"{variable}_NUM_THREADS"] = str(threads)
    threadpoolctl.threadpool_limits(limits=threads)
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(threads)


def threads_in_force() -> dict[str, int]:
    """What each thread pool in this process says of itself."""
    pools: dict[str, int] = {}
    for pool in threadpoolctl.threadpool_info():
        name = f"{pool['internal_api']}:{Path(pool['filepath']).name.partition('-')[0].partition('.')[0]}"
        pools[name] = max(pools.get(name, 0), pool["num_threads"])
    if "numba" in sys.modules:
        pools["numba"] = sys.modules["numba"].get_num_threads()
    return pools
