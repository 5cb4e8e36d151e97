"""Speed-up by a second thread: ranking of every learner, and training of those that parallelise it.

    python benchmarks/threads.py [--rows 20000] [--classes 500] [--isolet FOLDER] [--learners svm,pa]

Writes results/benchmarks/threads, or prints only if --learners is given, since the report is about all learners. Wall
time, one thread and two in turn, so two cores must be free. The report names the load of other work. The script stops
if the number of threads changes the ranks.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from report import Column, Section, Table, save_section
from sources import catalog, represented
from timing import take_one_thread

from harness import LearnerSpec
from harness.checks.subject import Subject
from harness.data.split import draw_split
from harness.host.contract import Dataset
from harness.syntax.split import parse_split
from harness.system.machine import busy_processors, describe_machine
from harness_synthetic.zipf import make_zipf
from harness_vectors.isolet import load_isolet

TRAINS = ("svm", "label-tree", "topdown-svm", "topdown-perceptron", "oaa", "shortlist", "blend")
"""Learners with parallel training."""
DEFAULT_INSIDE = ("shortlist", "blend")
"""Learners that wrap another one and have a default for it."""
TIMES = 5
COLUMNS = [
    Column("learner"),
    Column("rank a row, one thread", "µs", 1),
    Column("ranking speed-up", digits=2),
    Column("train, one thread", "s", 2),
    Column("training speed-up", digits=2),
]


class Parts(NamedTuple):
    """Training and test rows, represented."""

    X: Any
    y: np.ndarray
    X_test: Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--classes", type=int, default=500)
    parser.add_argument("--isolet", help="folder with the files of Isolet; skips this part if not given")
    parser.add_argument("--learners", default="", help="names, separated by commas; prints their figures only")
    chosen = parser.parse_args()
    take_one_thread()
    warnings.simplefilter("ignore")
    specs = own_learners()
    if chosen.learners:
        specs = choose(specs, chosen.learners.split(","))
    made = make_zipf(classes=chosen.classes, rows=chosen.rows)
    title = f"`zipf`, {chosen.classes} classes, {chosen.rows:,} rows"
    machine = f"{describe_machine()}; other work kept {busy_processors():.1f} processors busy."
    publish(measure(title, made, "tfidf", specs, machine), only_print=bool(chosen.learners))
    if chosen.isolet:
        data = load_isolet(source=chosen.isolet)
        publish(measure("`isolet`, dense rows", data, "tf", specs, machine), only_print=bool(chosen.learners))


def publish(section: Section, *, only_print: bool) -> None:
    """Print a section, and save it unless it has only some of the learners: the report quotes all of them."""
    if only_print:
        print("\n".join(section.render()), flush=True)
    else:
        save_section("threads", section)


def choose(specs: list[LearnerSpec], names: list[str]) -> list[LearnerSpec]:
    """Return the learners with these names; exits if there is no such learner."""
    known = [spec.name for spec in specs]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"error: no learner {', '.join(unknown)}; there are {', '.join(known)}")
    return [spec for spec in specs if spec.name in names]


def own_learners() -> list[LearnerSpec]:
    """Return the built-in learners that need no other learner; taxonomies are learned from data."""
    found = []
    for entry in catalog().learners:
        spec = entry.spec
        is_complete = not spec.wraps or spec.name in DEFAULT_INSIDE
        if is_complete and not spec.environment and entry.origin.plugin != "peers":
            found.append(replace(spec, needs=spec.needs - {"taxonomy"}))
    return found


def measure(title: str, data: Dataset, representation: str, specs: list[LearnerSpec], machine: str) -> Section:
    train, test = draw_split(parse_split("holdout:0.5"), data.rows, 0, {})
    X, X_test = represented(data, representation, train, test)
    parts = Parts(X, data.y[train], X_test)
    rows = []
    for spec in specs:
        rows.append(time_learner(spec, parts))
        print(rows[-1], flush=True)
    note = f"{X.shape[0]:,} training and {X_test.shape[0]:,} test rows."
    return Section(title, [Table(COLUMNS, rows)], note, machine)


def time_learner(spec: LearnerSpec, parts: Parts) -> list[str | float | None]:
    build(spec).fit(parts.X[:200], parts.y[:200])  # compiles
    (learner, again), trained = in_turn(lambda: build(spec).fit(parts.X, parts.y), 2 if spec.name in TRAINS else 0)
    (ranks, others), ranked = in_turn(lambda: learner.rank(parts.X_test, 5), TIMES)
    expect_same(spec, ranks, others)
    expect_same(spec, ranks, again.rank(parts.X_test, 5))
    microseconds = ranked[0] / parts.X_test.shape[0] * 1e6
    speed_up = trained[0] / trained[1] if spec.name in TRAINS else None
    return [spec.name, microseconds, ranked[0] / ranked[1], trained[0], speed_up]


def build(spec: LearnerSpec) -> Any:
    inside = {spec.wraps: Subject(spec).declared_parameters()[spec.wraps]} if spec.wraps else {}
    learner = Subject(spec, inside).build()
    names = learner.get_params()
    if "passes" in names:
        learner.set_params(passes=2)
    if "taxonomy" in names:
        learner.set_params(taxonomy="cluster")
    return learner


def in_turn(work: Callable[[], Any], times: int) -> tuple[tuple[Any, Any], tuple[float, float]]:
    """Return the results with one thread and with two, and the seconds of the fastest run of each.

    With `times=0` the work runs once, with one thread.
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
        raise SystemExit(f"error: the ranks of {spec.name} depend on the number of threads")


if __name__ == "__main__":
    main()
