"""Times of learners that memoise, sleep, use a thread or fork, as ratios to an honest learner that does the same work.

    python benchmarks/clocks.py [--repeat 3]

Prints the ratios and writes results/benchmarks/clocks. Each learner runs in a separate trial. A ratio near 1 means
that the trick changes no column of a table. A learner that only sleeps uses no CPU time, so its wall times are compared
with those of a learner that waits; the other learners work, and their CPU times do not depend on other load.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from report import Column, Section, Table, facts, measure_sections
from scipy.sparse import random_array

from harness.data.arrays import Header, keep, read_header
from harness.data.load import checked
from harness.executors.base import Job, Workplace
from harness.executors.local import TRIALS, LocalExecutor
from harness.host.contract import Dataset
from harness.syntax.split import parse_split
from harness.trials.trial import Blueprint, RepresentationPlan, Trial, TrialJob

WALL = ("fit_seconds", "predict_seconds", "rank_seconds")
CPU = ("fit_cpu_seconds", "predict_cpu_seconds", "rank_cpu_seconds")
TWINS = {"Memoising": "Honest", "Threading": "Honest", "Forking": "Honest", "Sleeping": "Busy"}
"""By learner with a trick, the learner that it is compared with."""
LIBRARIES = ("sklearn.svm", "numba")
"""Libraries as learners load them: a larger process takes longer to fork."""
RATIOS = [Column(part, digits=2) for part in ("fit", "predict", "rank")]
LEARNERS = '''
import os
import threading
from time import perf_counter, process_time, sleep

import numpy as np

ROW_SECONDS, FIT_SECONDS = 0.0015, 0.3


def work(seconds):
    """Keep the processor busy for this CPU time, which other load does not change."""
    start = process_time()
    while process_time() - start < seconds:
        pass


class Honest:
    def __init__(self, *, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.spend(FIT_SECONDS)
        return self

    def spend(self, seconds):
        work(seconds)

    def predict(self, X):
        self.spend(ROW_SECONDS * X.shape[0])
        return np.full(X.shape[0], self.classes_[0])

    def rank(self, X, k):
        self.spend(ROW_SECONDS * X.shape[0])
        ranks = np.full((X.shape[0], k), -1, np.int32)
        ranks[:, 0] = 0
        return ranks


class Memoising(Honest):
    """Works for rows that it has not seen before only."""

    def fit(self, X, y):
        self.seen = set()
        return super().fit(X, y)

    def remember(self, X):
        rows = {row.tobytes() for row in X.toarray()}
        work(ROW_SECONDS * len(rows - self.seen))
        self.seen |= rows

    def predict(self, X):
        self.remember(X)
        return np.full(X.shape[0], self.classes_[0])

    def rank(self, X, k):
        self.remember(X)
        ranks = np.full((X.shape[0], k), -1, np.int32)
        ranks[:, 0] = 0
        return ranks


class Threading(Honest):
    def spend(self, seconds):
        thread = threading.Thread(target=work, args=(seconds,))
        thread.start()
        thread.join()


class Forking(Honest):
    def spend(self, seconds):
        child = os.fork()
        if child == 0:
            work(seconds)
            os._exit(0)
        os.waitpid(child, 0)


class Busy(Honest):
    """The twin of Sleeping: waits by the wall clock, and works meanwhile."""

    def spend(self, seconds):
        end = perf_counter() + seconds
        while perf_counter() < end:
            pass


class Sleeping(Honest):
    def spend(self, seconds):
        sleep(seconds)
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    measure_sections("clocks", [partial(compare_twins, repeat)])


def compare_twins(repeat: int) -> Section:
    """Run every learner `repeat` times, in turns, so all have the same load."""
    names = sorted({*TWINS, *TWINS.values()})
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with prepared() as (executor, header):
        for _ in range(repeat):
            for name in names:
                found[name].append(measure(executor, header, name))
    by_cpu = [ratios(found, name, CPU) for name in TWINS if name != "Sleeping"]
    by_wall = [ratios(found, "Sleeping", WALL)]
    tables = [Table([Column("by CPU time"), *RATIOS], by_cpu), Table([Column("by wall time"), *RATIOS], by_wall)]
    return Section("Ratio to the honest twin", [*tables, measure_fork(repeat)])


def ratios(found: dict[str, list[dict[str, float]]], name: str, columns: tuple[str, ...]) -> list[str | float]:
    """Return the median of each column over that of the learner's twin."""
    row: list[str | float] = [name.lower()]
    for column in columns:
        own, twin = (statistics.median(each[column] for each in found[learner]) for learner in (name, TWINS[name]))
        row.append(own / twin)
    return row


@contextmanager
def prepared() -> Iterator[tuple[LocalExecutor, Header]]:
    """Yield an executor that can import the learners, and a stored dataset."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "tricks.py").write_text(LEARNERS)
        header = store_noise(folder / "data")
        with LocalExecutor(Workplace({"": TRIALS}, path=(place,))) as executor:
            yield executor, header


def measure_fork(repeat: int) -> Table:
    """Measure the CPU time of a fork without work, in the parent and in the child, with the modules of a trial."""
    for module in (*TRIALS, *LIBRARIES):
        importlib.import_module(module)
    parent, child = [], []
    for _ in range(10 * repeat):
        before, ended_before = process_time(), children_seconds()
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        parent.append(process_time() - before)
        child.append(children_seconds() - ended_before)
    rows = [
        ("fork, in the parent", 1000 * statistics.median(parent), "ms"),
        ("start and end of the child", 1000 * statistics.median(child), "ms"),
    ]
    return facts(*rows)


def children_seconds() -> float:
    """Return the CPU time of children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def store_noise(folder: Path) -> Header:
    """Store random rows of ten classes."""
    generator = np.random.default_rng(0)
    X = random_array((2000, 50), density=0.2, format="csr", dtype=np.float32, rng=generator)
    keep(checked("noise", Dataset(X, generator.integers(0, 10, 2000), tuple("abcdefghij"))), folder)
    header = read_header(folder)
    assert header is not None
    return header


def measure(executor: LocalExecutor, header: Header, learner: str) -> dict[str, float]:
    """Return the times of one trial."""
    job = Job("harness.trials.run:run_trial_job", TrialJob(trial=trial_of(header, learner)))
    ((_, end),) = executor.run([job])
    assert end.status == "ok", end.output
    assert end.answer["measured"]["status"] == "ok", end.answer["measured"]
    return {column: end.answer["measured"][column] for column in (*WALL, *CPU)}


def trial_of(header: Header, learner: str) -> Trial:
    return Trial(
        key="k",
        label=learner,
        family=learner,
        learner=learner,
        learner_kind="flat",
        learner_distribution="benchmark",
        learner_version="1",
        params={},
        blueprint=Blueprint(f"tricks:{learner}", {}),
        wants_dense=False,
        wants_taxonomy=False,
        dataset="noise",
        dataset_family="noise",
        dataset_params={},
        data_folder=header.folder,
        fingerprint=header.fingerprint,
        representation="raw",
        representing=RepresentationPlan(Blueprint("harness_representations.weights:Raw", {}), takes_text=False),
        split=parse_split("holdout:0.2"),
        number=0,
        seed=0,
        depth=5,
    )


if __name__ == "__main__":
    main()
