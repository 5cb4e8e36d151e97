"""Robustness of a cluster: workers, hosts and schedulers killed at random moments, and what becomes of the records.

    python benchmarks/cluster_kills.py [--kills 100] [--trials 300] [--workers 4] [--folder FOLDER] [--minutes 60]

All processes are real and on this machine. Runs follow each other, each in a new folder, until enough processes were
killed and enough trials were run. At the end the records of all runs are counted by key, and compared with those of a
run that nothing disturbed. With --folder, the same command continues after an interruption. After --minutes nothing
more is killed and the last run is finished. Writes the section of results/benchmarks/cluster-figures.
"""

from __future__ import annotations

import argparse
import json
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

from cluster import Started, measure_part, start_cluster
from report import Section, facts

from harness.errors import HarnessError
from harness.files.atomic import write_file
from harness.records.record import Record, from_line
from harness.runner.progress import read_status
from harness.system import SYSTEM

TRIALS_PER_RUN = 250
PAUSES = 0.1, 1.0
"""The shortest and the longest time between two kills."""
HOST_SHARE, SCHEDULER_SHARE = 0.08, 0.03
"""Shares of the kills that hit the host and the scheduler."""
SEED = 17
PATIENCE_SECONDS = 120.0
"""A host must end by itself within this time after its scheduler was killed."""
NANNIES = ["--nthreads", "1", "--nanny", "--memory-limit", "0"]
STATE = "kills.json"
PLUGIN = '''"""A learner that takes its time without working, and predicts classes by its seed."""

import time

import numpy as np

import harness


@harness.hookimpl
def harness_learners():
    return [harness.LearnerSpec(name="sleeper", load="sleeping:Sleeper", kind="flat")]


class Sleeper:
    """Predicts random classes, after a while."""

    def __init__(self, *, seconds: float = 0.3, random_state: int = 0) -> None:
        self.seconds, self.random_state = seconds, random_state

    def fit(self, X, y):
        time.sleep(self.seconds if X.shape[0] > 40 else 0)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.random.default_rng(self.random_state).choice(self.classes_, X.shape[0])
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--folder", type=Path, help="keep all files here, and continue if there are some")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    args = parser.parse_args()
    goal = Goal(args.kills, args.trials, args.workers, time.monotonic() + 60 * args.minutes)
    measure_part(partial(measure, goal), args.folder)


@dataclass(frozen=True)
class Goal:
    """The wanted numbers of kills and trials, the workers, and the time at which the last run is finished."""

    kills: int
    trials: int
    workers: int
    end: float


@dataclass
class Killed:
    """Counts of killed processes, of runs and of seconds so far, saved in a file after each kill."""

    file: Path
    goal: Goal
    workers: int = 0
    hosts: int = 0
    schedulers: int = 0
    runs: int = 0
    seconds: float = 0.0
    chance: random.Random = field(default_factory=lambda: random.Random(SEED))

    @classmethod
    def load(cls, file: Path, goal: Goal) -> Killed:
        """Return the counts of an earlier call, or zeros."""
        known = json.loads(file.read_text()) if file.exists() else {}
        return cls(file, goal, **known)

    def save(self) -> None:
        """Write the counts."""
        known = {name: getattr(self, name) for name in ("workers", "hosts", "schedulers", "runs", "seconds")}
        write_file(self.file, json.dumps(known))

    @property
    def total(self) -> int:
        return self.workers + self.hosts + self.schedulers

    def is_over(self) -> bool:
        """Return whether no process is to be killed any more."""
        return self.total >= self.goal.kills or time.monotonic() > self.goal.end

    def is_complete(self) -> bool:
        """Return whether no further run is needed."""
        is_enough = self.total >= self.goal.kills and self.runs * TRIALS_PER_RUN >= self.goal.trials
        return self.runs > 0 and (is_enough or time.monotonic() > self.goal.end)

    def kill_one(self, host: subprocess.Popen[bytes], cluster: Started) -> str:
        """Kill the host, the scheduler or one of the workers that are ready; return which."""
        drawn = self.chance.random()
        if drawn < HOST_SHARE:
            host.kill()
            self.hosts += 1
            what = "host"
        elif drawn < HOST_SHARE + SCHEDULER_SHARE:
            cluster.scheduler.kill()
            self.schedulers += 1
            what = "scheduler"
        else:
            ready = ready_workers(cluster)
            if not ready:
                return ""
            os.kill(self.chance.choice(ready), signal.SIGKILL)
            self.workers += 1
            what = "worker"
        self.save()
        return what


def ready_workers(cluster: Started) -> list[int]:
    """Return the workers that have started the servers of their trials; others are still starting."""
    found = []
    for pid in SYSTEM.children_of(cluster.workers[0].pid):
        try:
            is_worker = b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if is_worker and SYSTEM.children_of(pid):
            found.append(pid)
    return found


def measure(goal: Goal, folder: Path) -> Section:
    """Kill until the goal is reached, let the last run finish, and count records."""
    (folder / "plugins").mkdir(exist_ok=True)
    (folder / "plugins" / "sleeping.py").write_text(PLUGIN)
    os.environ["HARNESS_DATA_HOME"] = str(folder / "home")
    expected = folder / "undisturbed"
    subprocess.run(command_of(folder, expected, "--jobs", "4"), check=True)
    killed = Killed.load(folder / STATE, goal)
    nannies = [*NANNIES, "--nworkers", str(goal.workers)]
    while not killed.is_complete():
        begun = time.monotonic()
        with start_cluster(folder, nannies, HARNESS_DATA_HOME=str(folder / "home")) as cluster:
            while not killed.is_complete() and run_under_fire(folder, cluster, killed):
                killed.runs += 1
                killed.save()
        killed.seconds += time.monotonic() - begun
        killed.save()
    outs = [folder / f"out-{number}" for number in range(killed.runs)]
    return kills_section(killed, count(outs, expected))


def run_under_fire(folder: Path, cluster: Started, killed: Killed) -> bool:
    """Repeat a command until it has run all trials, while processes are killed; False if the scheduler was killed."""
    out = folder / f"out-{killed.runs}"
    while True:
        with open(out.with_suffix(".log"), "ab") as log:
            host = subprocess.Popen(command_of(folder, out, "--on", cluster.address), stdout=log, stderr=log)
        try:
            last = kill_during(host, out, cluster, killed)
            code = host.wait(PATIENCE_SECONDS if last == "scheduler" else None)
        finally:
            host.kill()
        if code in (0, 1):  # all trials have records; some may be crashes
            return True
        if last == "scheduler" and code == 2:
            return False
        if code != -signal.SIGKILL:
            errors = out.with_suffix(".log").read_text()[-2000:]
            raise SystemExit(f"error: the command exited with {code}:\n{errors}")


def kill_during(host: subprocess.Popen[bytes], out: Path, cluster: Started, killed: Killed) -> str:
    """Kill processes until the host or the scheduler is killed or the command ends; return what was killed last."""
    last = ""
    while not killed.is_over() and host.poll() is None:
        time.sleep(killed.chance.uniform(*PAUSES))
        if is_at_trials(out, host.pid):  # a kill before the first trial proves nothing
            last = killed.kill_one(host, cluster)
        if last in ("host", "scheduler"):
            return last
    return ""


def is_at_trials(out: Path, host: int) -> bool:
    """Return whether trials of this host are on workers now."""
    try:
        found = read_status(out)
    except HarnessError:  # no folder yet
        return False
    is_of_host = (out / "lock").read_bytes().strip() == str(host).encode()
    return is_of_host and found.is_at_work and bool(found.run and found.run.running)


def kills_section(killed: Killed, counts: dict[str, int]) -> Section:
    table = facts(
        ("workers killed", killed.workers, ""),
        ("hosts killed", killed.hosts, ""),
        ("schedulers killed", killed.schedulers, ""),
        ("runs", killed.runs, ""),
        ("trials", counts["trials"], ""),
        ("records", counts["records"], ""),
        ("trials without a record", counts["lost"], ""),
        ("records beyond one per trial", counts["repeated"], ""),
        ("records that differ from an undisturbed run", counts["wrong"], ""),
        ("records of a crash", counts["crashes"], ""),
        ("crashes after the loss of three workers", counts["lost_with_three"], ""),
        ("wall time", killed.seconds, "s"),
    )
    note = (
        f"{killed.goal.workers} workers with nannies; after a killed host or scheduler the same command is given again."
    )
    return Section("Kills", [table], note)


def command_of(folder: Path, out: Path, *place: str) -> list[str]:
    command = [sys.executable, "-m", "harness", "run", "--plugins-dir", str(folder / "plugins"), *place]
    command += ["--learners", "sleeper", "--datasets", "digits", "--trials", str(TRIALS_PER_RUN), "--out", str(out)]
    return command


def count(outs: Iterable[Path], undisturbed: Path) -> dict[str, int]:
    """Count trials and records of all folders, by key."""
    expected = {record.key: result_of(record) for record in records_in(undisturbed)}
    trials = records = lost = repeated = wrong = 0
    crashes: list[Record] = []
    for out in outs:
        found = records_in(out)
        keys = {record.key for record in found}
        if not keys <= expected.keys():
            raise SystemExit(f"error: {out} has keys that the undisturbed run does not have. Was code changed?")
        trials += TRIALS_PER_RUN
        records += len(found)
        lost += len(expected.keys() - keys)
        repeated += len(found) - len(keys)
        crashes += [record for record in found if record.status != "ok"]
        wrong += sum(record.status == "ok" and result_of(record) != expected[record.key] for record in found)
    lost_with_three = sum("workers were lost with it" in record.message for record in crashes)
    counts = {"trials": trials, "records": records, "lost": lost, "repeated": repeated, "wrong": wrong}
    return {**counts, "crashes": len(crashes), "lost_with_three": lost_with_three}


def records_in(out: Path) -> list[Record]:
    """Return all records of a folder, repeated ones included."""
    return [from_line(line) for line in (out / "records.jsonl").read_text().splitlines()]


def result_of(record: Record) -> Any:
    """Return what the learner has answered, without times."""
    untimed = {name: score for name, score in record.scores.items() if name in ("r1", "r5", "accuracy", "macro_f1")}
    return record.seed, record.ranks_crc32, untimed


if __name__ == "__main__":
    main()
