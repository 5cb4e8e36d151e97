"""Times of learners that memoise, sleep, use a thread or fork, as ratios to an honest learner that does the same work.

    python benchmarks/clocks.py [--repeat 3]

Each learner runs in a separate trial. A ratio near 1 means that the trick changes no column of a table.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import numpy as np
from scipy.sparse import random_array

from harness.data.arrays import Header, keep, read_header
from harness.data.load import checked
from harness.executors.base import Job, Workplace
from harness.executors.local.client import TRIALS, LocalExecutor
from harness.host.contract import Dataset
from harness.syntax.split import parse_split
from harness.trials.trial import Blueprint, RepresentationPlan, Trial, TrialJob

COLUMNS = ("fit_seconds", "fit_cpu_seconds", "predict_seconds", "predict_cpu_seconds", "rank_seconds")
TRICKS = ("Memoising", "Threading", "Forking")
LEARNERS = '''
import os
import threading
from time import perf_counter, process_time, sleep

import numpy as np

ROW_SECONDS, FIT_SECONDS = 0.0004, 0.3


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
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "tricks.py").write_text(LEARNERS)
        header = store_noise(folder / "data")
        with LocalExecutor(Workplace({"": TRIALS}, path=(place,))) as executor:
            times = {}
            for name in ("Honest", *TRICKS, "Busy", "Sleeping"):
                times[name] = measure(executor, header, name, repeat)
    for name in TRICKS:
        print_ratios(name, times[name], times["Honest"], COLUMNS)
    print_ratios("Sleeping", times["Sleeping"], times["Busy"], [c for c in COLUMNS if "cpu" not in c])


def print_ratios(
    name: str, found: dict[str, float], twin: dict[str, float], columns: list[str] | tuple[str, ...]
) -> None:
    ratios = [f"{column} {found[column] / twin[column]:.2f}" for column in columns]
    print(f"{name:10} {', '.join(ratios)}")


def store_noise(folder: Path) -> Header:
    """Store random rows of ten classes."""
    generator = np.random.default_rng(0)
    X = random_array((2000, 50), density=0.2, format="csr", dtype=np.float32, rng=generator)
    keep(checked("noise", Dataset(X, generator.integers(0, 10, 2000), tuple("abcdefghij"))), folder)
    header = read_header(folder)
    assert header is not None
    return header


def measure(executor: LocalExecutor, header: Header, learner: str, repeat: int) -> dict[str, float]:
    """Return the median of each time over some trials."""
    found = []
    for _ in range(repeat):
        job = Job("harness.trials.run:run_trial_job", TrialJob(trial=trial_of(header, learner)))
        ((_, end),) = executor.run([job])
        assert end.status == "ok", end.output
        assert end.answer["measured"]["status"] == "ok", end.answer["measured"]
        found.append(end.answer["measured"])
    return {column: statistics.median(each[column] for each in found) for column in COLUMNS}


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
