"""Robustness of a cluster: workers and hosts killed at random moments, and the records that are lost or duplicated.

    python benchmarks/cluster_kills.py [--kills 100]

All processes are real and on this machine. If a run ends before enough processes were killed, another one starts in a
new folder. At the end the records of all runs are counted by key. Writes the section of
results/benchmarks/cluster-figures.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cluster import client_of, cluster, measure_part
from report import Section, facts

from harness.errors import HarnessError
from harness.records.record import Record, from_line
from harness.runner.progress import read_status

TRIALS_PER_RUN = 300
WORKERS = 4
PAUSES = 0.3, 2.5
"""The shortest and the longest time between two kills."""
HOST_SHARE = 0.05
"""Share of the kills that hit the host."""
SEED = 17
NANNIES = ["--nworkers", str(WORKERS), "--nthreads", "1", "--nanny", "--memory-limit", "0"]
PLUGIN = '''"""A learner that takes its time without working."""

import time

import numpy as np

import harness


@harness.hookimpl
def harness_learners():
    return [harness.LearnerSpec(name="sleeper", load="sleeping:Sleeper", kind="flat")]


class Sleeper:
    """Ranks classes by their number, after a while."""

    def __init__(self, *, seconds: float = 0.3, random_state: int = 0) -> None:
        self.seconds, self.random_state = seconds, random_state

    def fit(self, X, y):
        time.sleep(self.seconds if X.shape[0] > 40 else 0)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    args = parser.parse_args()
    measure_part(partial(measure, args.kills))


@dataclass
class Killed:
    """Counts of killed workers and hosts, and the random state that chooses the next."""

    wanted: int
    workers: int = 0
    hosts: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(SEED))

    def is_enough(self) -> bool:
        return self.workers + self.hosts >= self.wanted

    def kill_one(self, host: subprocess.Popen[bytes], client: Any) -> None:
        """Kill the host, or one of the present workers."""
        if self.chance.random() < HOST_SHARE:
            host.kill()
            self.hosts += 1
            return
        try:
            pids = sorted(client.run(os.getpid, on_error="ignore").values())
            if pids:
                os.kill(self.chance.choice(pids), signal.SIGKILL)
                self.workers += 1
        except (OSError, TimeoutError):  # the worker has just ended
            pass


def measure(kills: int, folder: Path) -> Section:
    """Kill until the number is reached, let the last run finish, and count records."""
    (folder / "plugins").mkdir()
    (folder / "plugins" / "sleeping.py").write_text(PLUGIN)
    os.environ["HARNESS_DATA_HOME"] = str(folder / "home")
    killed = Killed(kills)
    outs: list[Path] = []
    with cluster(folder, NANNIES, HARNESS_DATA_HOME=str(folder / "home")) as address:
        client = client_of(address, WORKERS)
        begun = time.perf_counter()
        while not outs or not killed.is_enough():
            outs.append(folder / f"out-{len(outs)}")
            run_under_fire(command_of(folder, outs[-1], address), outs[-1], client, killed)
        took = time.perf_counter() - begun
        client.close()
    return kills_section(
        {"killed_workers": killed.workers, "killed_hosts": killed.hosts, **count(outs), "seconds": took}
    )


def kills_section(found: dict[str, Any]) -> Section:
    table = facts(
        ("workers killed", found["killed_workers"], ""),
        ("hosts killed", found["killed_hosts"], ""),
        ("trials", found["trials"], ""),
        ("records", found["records"], ""),
        ("trials without a record", found["lost"], ""),
        ("records beyond one per trial", found["repeated"], ""),
        ("records of a crash", found["crashes"], ""),
        ("crashes after the loss of three workers", found["lost_with_three"], ""),
        ("wall time", found["seconds"], "s"),
    )
    note = f"{WORKERS} workers with nannies; a killed host is started again with the same command."
    return Section("Kills", [table], note)


def command_of(folder: Path, out: Path, address: str) -> list[str]:
    command = [sys.executable, "-m", "harness", "run", "--plugins-dir", str(folder / "plugins"), "--on", address]
    command += ["--learners", "sleeper", "--datasets", "digits", "--trials", str(TRIALS_PER_RUN), "--out", str(out)]
    return command


def run_under_fire(command: list[str], out: Path, client: Any, killed: Killed) -> None:
    """Repeat a command until it finishes, while its host and its workers are killed."""
    while True:
        with open(out.with_suffix(".log"), "wb") as log:
            host = subprocess.Popen(command, stdout=log, stderr=log)
        while not killed.is_enough() and host.poll() is None:
            time.sleep(killed.chance.uniform(*PAUSES))
            if is_at_trials(out):  # a kill before the first trial proves nothing
                killed.kill_one(host, client)
        if host.wait() in (0, 1):  # all trials have records; some may be crashes
            return
        if host.returncode != -signal.SIGKILL:
            errors = out.with_suffix(".log").read_text()[-2000:]
            raise SystemExit(f"error: the command exited with {host.returncode}:\n{errors}")


def is_at_trials(out: Path) -> bool:
    """Return whether trials of a run are on workers now."""
    try:
        found = read_status(out)
    except HarnessError:  # no folder yet
        return False
    return found.is_at_work and bool(found.run and found.run.running)


def count(outs: Iterable[Path]) -> dict[str, int]:
    """Count trials and records of all folders, by key."""
    trials = records = lost = repeated = 0
    crashes: list[Record] = []
    for out in outs:
        found = [from_line(line) for line in (out / "records.jsonl").read_text().splitlines()]
        keys = {record.key for record in found}
        seeds = {record.seed for record in found}
        if len(keys) != len(seeds):
            raise SystemExit(
                f"error: {out} has {len(keys)} keys for {len(seeds)} seeds. Was code changed during the run?"
            )
        trials += TRIALS_PER_RUN
        records += len(found)
        lost += TRIALS_PER_RUN - len(keys)
        repeated += len(found) - len(keys)
        crashes += [record for record in found if record.status != "ok"]
    lost_with_three = sum("workers were lost with it" in record.message for record in crashes)
    counts = {"trials": trials, "records": records, "lost": lost, "repeated": repeated}
    return {**counts, "crashes": len(crashes), "lost_with_three": lost_with_three}


if __name__ == "__main__":
    main()
