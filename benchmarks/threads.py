"""What a second thread brings: ranking of every learner, and training of those that share it out.

    python benchmarks/threads.py [--rows 8000] [--classes 200] [--isolet FOLDER] [--learners svm,pa]

Writes docs/threads.md. How fast two threads are is found in two ways: by the clock, which means something only where
two cores are free, and by processor time, of what is not shared out and of each share. Whether one thread and two give
the same ranks is looked at too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from represented import catalog, represented

from harness import LearnerSpec
from harness.checks.subject import Subject
from harness.contract import Dataset
from harness.machine import describe_machine
from harness.sdk import threads
from harness.split import parse_split
from harness.trials.splitting import draw_split
from harness_synthetic.zipf import make_zipf
from harness_vectors.isolet import load_isolet

PAGE = Path(__file__).resolve().parent.parent / "docs" / "threads.md"
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
TRAINS = ("svm", "label-tree", "topdown-svm", "topdown-perceptron", "oaa")
"""Learners that share out their training."""
TIMES = 3
HEAD = """# Two threads

Written by `python benchmarks/threads.py`; do not edit by hand. *Two* says how many times as fast two threads are as
one on two free cores: processor time with one thread, over what is not shared out plus the longer of two threads, each
of which takes the next share when it has done one. It is found from the processor time of each share, of the run with
the least of {times}, so that other work on the machine does not change it much; *clock* is the same by the clock, and
says little where the load is above 1. Where the load is high both are uncertain: what is above 2 shows by how much.
Aims: 1.8 for ranking, 1.6 for training of `svm`, `label-tree`, `oaa` and `hsvm`.

Ranks are the same to the last bit, whatever the number of threads; the script stops where they are not. What is not
shared out of a ranking is mostly the check that all values are finite: where a row takes under a microsecond or two,
that is a large part.

Not shared out: the passes of online learners, and `crammer-singer` and `hsvm`. There each row is scored by the weights
that the rows before it have made. What could be done side by side are the classes of one row, some microseconds of
work, for which two threads would have to wait for each other at every row, or rows by turns from old weights, which
gives other results with every number of threads. Neither was built.

Measured on {machine}."""


class Parts(NamedTuple):
    """Training and test rows, represented."""

    X: Any
    y: np.ndarray
    X_test: Any


class Span(NamedTuple):
    """Seconds of a run: of the processor, by the clock, and what it would take on as many free cores as threads."""

    cpu: float
    wall: float
    ideal: float


class Watched(ThreadPoolExecutor):
    """Threads that note the processor time of each share, in the order in which shares are taken."""

    noted: ClassVar[list[list[float]]] = []
    """By call: the shares."""

    def map(self, work: Callable[[Any], Any], shares: Any) -> Any:  # type: ignore[override]  # what in_threads calls
        shares = list(shares)
        seconds = [0.0] * len(shares)
        self.noted.append(seconds)

        def noting(number: int) -> Any:
            start = time.thread_time()
            found = work(shares[number])
            seconds[number] = time.thread_time() - start
            return found

        return super().map(noting, range(len(shares)))


def longest(shares: list[float], n_threads: int) -> float:
    """When the last thread is done, if each takes the next share as soon as it is free."""
    ends = [0.0] * n_threads
    for seconds in shares:
        ends[ends.index(min(ends))] += seconds
    return max(ends)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--classes", type=int, default=200)
    parser.add_argument("--isolet", help="a folder with the files of Isolet; without it that part is left out")
    parser.add_argument("--learners", default="", help="some of them, with commas; default: all")
    chosen = parser.parse_args()
    if not os.environ.items() >= ONE_THREAD.items():  # libraries read them when they are loaded: start again
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, *sys.argv])
    warnings.simplefilter("ignore")
    threads.ThreadPoolExecutor = Watched
    specs = [spec for spec in own_learners() if not chosen.learners or spec.name in chosen.learners.split(",")]
    made = make_zipf(classes=chosen.classes, rows=chosen.rows)
    title = f"`zipf`, {chosen.classes} classes, {chosen.rows:,} rows"
    lines = [HEAD.format(times=TIMES, machine=describe_machine()), "", *measure(title, made, "tfidf", specs)]
    if chosen.isolet:
        lines += ["", *measure("`isolet`, dense rows", load_isolet(source=chosen.isolet), "tf", specs)]
    PAGE.write_text("\n".join(lines) + "\n")
    print(PAGE.read_text())


def own_learners() -> list[LearnerSpec]:
    """All that are not built round another and need no package of their own; class trees are learned."""
    found = []
    for entry in catalog().learners:
        spec = entry.spec
        if not spec.wraps and not spec.environment and entry.origin.plugin != "peers":
            found.append(replace(spec, needs=spec.needs - {"taxonomy"}))
    return found


def measure(title: str, data: Dataset, representation: str, specs: list[LearnerSpec]) -> list[str]:
    train, test = draw_split(parse_split("holdout:0.5"), data.rows, 0, {})
    X, X_test = represented(data, representation, train, test)
    parts = Parts(X, data.y[train], X_test)
    lines = [
        f"## {title}",
        "",
        f"{X.shape[0]:,} training and {X_test.shape[0]:,} test rows. Load average {os.getloadavg()[0]:.1f}.",
        "",
        "| learner | rank, one thread | two | clock | train, one thread | two | clock |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for spec in specs:
        lines.append(line_of(spec, parts))
        print(lines[-1], flush=True)
    return lines


def line_of(spec: LearnerSpec, parts: Parts) -> str:
    alone, learner = best(lambda: build(spec).fit(parts.X, parts.y), 1, times=2 if spec.name in TRAINS else 1)
    cells = [spec.name]
    one, ranks = best(lambda: learner.rank(parts.X_test, 5), 1)
    two, others = best(lambda: learner.rank(parts.X_test, 5), 2)
    expect_same(spec, ranks, others)
    cells += [f"{one.cpu / parts.X_test.shape[0] * 1e6:.1f} µs a row", *gains(one, two)]
    if spec.name in TRAINS:
        shared, again = best(lambda: build(spec).fit(parts.X, parts.y), 2, times=2)
        expect_same(spec, ranks, again.rank(parts.X_test, 5))
        cells += [f"{alone.cpu:.2f} s", *gains(alone, shared)]
    else:
        cells += [f"{alone.cpu:.2f} s", "", ""]
    return f"| {' | '.join(cells)} |"


def gains(one: Span, two: Span) -> list[str]:
    return [f"**{one.cpu / two.ideal:.2f}**", f"{one.wall / two.wall:.2f}"]


def build(spec: LearnerSpec) -> Any:
    learner = Subject(spec, {}).build()
    names = learner.get_params()
    if "passes" in names:
        learner.set_params(passes=2)
    if "taxonomy" in names:
        learner.set_params(taxonomy="cluster")
    return learner


def best(work: Callable[[], Any], n_threads: int, times: int = TIMES) -> tuple[Span, Any]:
    """The run with the least processor time of some with so many threads, and what it gave."""
    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    spans, found = [], None
    for _ in range(times):
        Watched.noted.clear()
        wall, cpu = time.perf_counter(), time.process_time()
        found = work()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        spared = sum(sum(shares) - longest(shares, n_threads) for shares in Watched.noted)
        spans.append(Span(cpu, wall, cpu - spared))
    return min(spans), found


def expect_same(spec: LearnerSpec, one: np.ndarray, other: np.ndarray) -> None:
    if not np.array_equal(one, other):
        raise SystemExit(f"{spec.name}: the number of threads changes its ranks")


if __name__ == "__main__":
    main()
