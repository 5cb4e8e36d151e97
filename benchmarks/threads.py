"""What a second thread brings: ranking of every learner, and training of those that share it out.

    python benchmarks/threads.py [--rows 20000] [--classes 500] [--isolet FOLDER] [--learners svm,pa]

Writes docs/threads.md. By the clock, one thread and two in turn, so two cores must be free: the script says how many
processors others keep busy, and the page has it. Whether one thread and two give the same ranks is looked at too.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from represented import catalog, represented
from timing import take_one_thread

from harness import LearnerSpec
from harness.checks.subject import Subject
from harness.contract import Dataset
from harness.machine import describe_machine
from harness.quiet import busy_processors
from harness.split import parse_split
from harness.trials.splitting import draw_split
from harness_synthetic.zipf import make_zipf
from harness_vectors.isolet import load_isolet

PAGE = Path(__file__).resolve().parent.parent / "docs" / "threads.md"
TRAINS = ("svm", "label-tree", "topdown-svm", "topdown-perceptron", "oaa", "shortlist")
"""Learners that share out their training."""
DEFAULT_INSIDE = ("shortlist",)
"""Built round another learner, and with one of their own where none is named."""
TIMES = 5
HEAD = """# Two threads

Written by `python benchmarks/threads.py`; do not edit by hand. *Two* says how many times as fast two threads are as
one, by the clock: the fastest of {times} rankings with one and of {times} with two, in turn, and of two trainings each.
Aims: 1.8 for ranking, 1.6 for training of `svm`, `label-tree`, `oaa` and `shortlist`; that for `hsvm` was given up, see
below. Measured on {machine}; others kept {busy:.1f} processors busy when it began.

Ranks are the same to the last bit, whatever the number of threads; the script stops where they are not. What is not
shared out of a ranking is mostly the check that all values are finite: where a row takes under a microsecond or two,
that is a large part.

Not shared out: the passes of online learners, and `crammer-singer` and `hsvm`. There each row is scored by the weights
that the rows before it have made. What could be done side by side are the classes of one row, some microseconds of
work, for which two threads would have to wait for each other at every row, or rows by turns from old weights, which
gives other results with every number of threads. Neither was built."""


class Parts(NamedTuple):
    """Training and test rows, represented."""

    X: Any
    y: np.ndarray
    X_test: Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--classes", type=int, default=500)
    parser.add_argument("--isolet", help="a folder with the files of Isolet; without it that part is left out")
    parser.add_argument("--learners", default="", help="some of them, with commas; default: all")
    chosen = parser.parse_args()
    take_one_thread()
    warnings.simplefilter("ignore")
    specs = [spec for spec in own_learners() if not chosen.learners or spec.name in chosen.learners.split(",")]
    made = make_zipf(classes=chosen.classes, rows=chosen.rows)
    title = f"`zipf`, {chosen.classes} classes, {chosen.rows:,} rows"
    head = HEAD.format(times=TIMES, machine=describe_machine(), busy=busy_processors())
    lines = [head, "", *measure(title, made, "tfidf", specs)]
    if chosen.isolet:
        lines += ["", *measure("`isolet`, dense rows", load_isolet(source=chosen.isolet), "tf", specs)]
    PAGE.write_text("\n".join(lines) + "\n")
    print(PAGE.read_text())


def own_learners() -> list[LearnerSpec]:
    """All that are not built round another and need no package of their own; class trees are learned."""
    found = []
    for entry in catalog().learners:
        spec = entry.spec
        stands_alone = not spec.wraps or spec.name in DEFAULT_INSIDE
        if stands_alone and not spec.environment and entry.origin.plugin != "peers":
            found.append(replace(spec, needs=spec.needs - {"taxonomy"}))
    return found


def measure(title: str, data: Dataset, representation: str, specs: list[LearnerSpec]) -> list[str]:
    train, test = draw_split(parse_split("holdout:0.5"), data.rows, 0, {})
    X, X_test = represented(data, representation, train, test)
    parts = Parts(X, data.y[train], X_test)
    lines = [
        f"## {title}",
        "",
        f"{X.shape[0]:,} training and {X_test.shape[0]:,} test rows.",
        "",
        "| learner | rank, one thread | two | train, one thread | two |",
        "|---|---:|---:|---:|---:|",
    ]
    for spec in specs:
        lines.append(line_of(spec, parts))
        print(lines[-1], flush=True)
    return lines


def line_of(spec: LearnerSpec, parts: Parts) -> str:
    build(spec).fit(parts.X[:200], parts.y[:200])  # compiles
    (learner, again), trained = in_turn(lambda: build(spec).fit(parts.X, parts.y), 2 if spec.name in TRAINS else 0)
    (ranks, others), ranked = in_turn(lambda: learner.rank(parts.X_test, 5), TIMES)
    expect_same(spec, ranks, others)
    expect_same(spec, ranks, again.rank(parts.X_test, 5))
    a_row = f"{ranked[0] / parts.X_test.shape[0] * 1e6:.1f} µs a row"
    gain = f"**{trained[0] / trained[1]:.2f}**" if spec.name in TRAINS else ""
    return f"| {spec.name} | {a_row} | **{ranked[0] / ranked[1]:.2f}** | {trained[0]:.2f} s | {gain} |"


def build(spec: LearnerSpec) -> Any:
    inside = {spec.wraps: Subject(spec).told_parameters()[spec.wraps]} if spec.wraps else {}
    learner = Subject(spec, inside).build()
    names = learner.get_params()
    if "passes" in names:
        learner.set_params(passes=2)
    if "taxonomy" in names:
        learner.set_params(taxonomy="cluster")
    return learner


def in_turn(work: Callable[[], Any], times: int) -> tuple[tuple[Any, Any], tuple[float, float]]:
    """What it gives with one thread and with two, and the seconds of the fastest of so many runs each.

    Without a number of times it is run once, with one thread.
    """
    found: dict[int, Any] = {}
    seconds = {1: math.inf, 2: math.inf}
    for n_threads in (1, 2) * times or (1,):
        os.environ["OMP_NUM_THREADS"] = str(n_threads)
        begun = time.perf_counter()
        found[n_threads] = work()
        seconds[n_threads] = min(seconds[n_threads], time.perf_counter() - begun)
    return (found[1], found.get(2, found[1])), (seconds[1], seconds[2])


def expect_same(spec: LearnerSpec, one: np.ndarray, other: np.ndarray) -> None:
    if not np.array_equal(one, other):
        raise SystemExit(f"{spec.name}: the number of threads changes its ranks")


if __name__ == "__main__":
    main()
