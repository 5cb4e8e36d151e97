"""What a warm trial costs on a cluster beyond what it costs here: a part of docs/cluster-figures.md.

    python benchmarks/cluster_overhead.py [--rounds 3] [--trials 20]

Two trials at once, on `--jobs 2` and on two workers in turn, all on this machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from cluster_page import Found, measure_part
from cluster_shared import ONE, client_of, cluster, heeding_records

import harness
from harness.record import Record

SETTLING = 4
"""Trials at the beginning of a run that are left out."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=20)
    asked = parser.parse_args()
    measure_part("overhead", partial(measure, asked.rounds, asked.trials))


def measure(rounds: int, trials: int, folder: Path) -> Found:
    """Medians of what a trial takes beyond fit and rank, here and there."""
    os.environ["HARNESS_DATA_HOME"] = str(folder / "home")
    beyond: dict[str, list[float]] = {"here": [], "there": []}
    kept_at: dict[str, float] = {}

    def note(record: Record) -> None:
        kept_at[record.key] = time.perf_counter()

    with cluster(folder, ONE, ONE, HARNESS_DATA_HOME=str(folder / "home")) as address, heeding_records(note):
        client = client_of(address, 2)
        for number in range(rounds + 1):
            for name, where in (("here", {"jobs": 2}), ("there", {"on": client})):
                out = folder / f"{name}-{number}"
                seed = 100 * number
                results = harness.run("pa", "digits", trials=trials, seed=seed, out=out, progress=False, **where)
                if number:  # the first is not warm
                    beyond[name].append(per_trial(results.records, kept_at))
        client.close()
    medians = {where: statistics.median(values) for where, values in beyond.items()}
    return {**medians, "rounds": rounds, "trials": trials}


def per_trial(records: Sequence[Record], kept_at: dict[str, float]) -> float:
    """Seconds that a trial takes of the time between two records, less fit and rank."""
    ends = sorted(kept_at[record.key] for record in records)[SETTLING:]
    apart = (ends[-1] - ends[0]) / (len(ends) - 1) * 2
    return apart - statistics.mean((record.fit_seconds or 0.0) + (record.rank_seconds or 0.0) for record in records)


if __name__ == "__main__":
    main()
