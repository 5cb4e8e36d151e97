"""Overhead of the harness beyond fit and rank: trials, starts of commands, planning, tables.

    python benchmarks/overhead.py

Prints each figure and writes results/benchmarks/overhead. The yardstick is a bare start of the interpreter in the same
run: on a shared machine, compare ratios to it rather than seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from report import Column, Section, Table, measure_sections
from timing import median_seconds

from harness.data.arrays import Header
from harness.experiment.load import build
from harness.experiment.plan import plan
from harness.experiment.resolve import resolve
from harness.host.discovery import discover
from harness.records.record import from_line, to_line

MANY = 10_000
COLUMNS = [
    Column("operation"),
    Column("time", "s", 3),
    Column("goal", "s", 2),
    Column("time / goal", digits=2),
    Column("interpreter starts", digits=1),
]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    measure_sections("overhead", [measure_all])


def measure_all() -> Section:
    yardstick = median_seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 7)
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder))
    rows = []
    for what, seconds, goal in measured:
        rows.append([what, seconds, goal, seconds / goal, seconds / yardstick])
    rows.append(["start of a bare interpreter", yardstick, None, None, 1.0])
    return Section("Commands and trials", [Table(COLUMNS, rows)])


def measure(folder: Path) -> list[tuple[str, float, float]]:
    """Return (operation, seconds, goal) of each figure."""
    os.environ["HARNESS_DATA_HOME"] = str(folder / "data")
    cold = start_to_first_trial(folder / "cold", {"NUMBA_CACHE_DIR": str(folder / "numba")})
    warm = statistics.median(
        start_to_first_trial(folder / f"warm{i}", {"NUMBA_CACHE_DIR": str(folder / "numba")}) for i in range(5)
    )
    return [
        ("a trial on `digits`, without fit and rank", trial_overhead(folder / "trials"), 0.1),
        ("`harness run` until its first trial, warm", warm, 2.0),
        ("imports of the first trial, in a bare interpreter", bare_imports(), 2.0),
        ("`harness run` until its first trial, cold: kernels compiled, data parsed", cold, 30.0),
        ("`harness list learners`", median_seconds(lambda: harness("list", "learners"), 7), 0.25),
        ("`harness plugins`", median_seconds(lambda: harness("plugins"), 7), 0.5),
        (f"planning {MANY:,} trials", planning(), 1.0),
        (f"`harness table` of {MANY:,} records", tabling(folder), 2.0),
    ]


def harness(*words: str, **environment: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "harness", *words], check=True, capture_output=True, env=os.environ | environment
    )


def start_to_first_trial(out: Path, environment: dict[str, str]) -> float:
    """Return the seconds from the start of the command to the start of its first trial."""
    command = [sys.executable, "-m", "harness", "run", "--learners", "pa", "--datasets", "digits", "--trials", "1"]
    start = time.perf_counter()
    with subprocess.Popen(
        [*command, "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if " 1/1 " in line:
                ended = time.perf_counter() - start
    record = json.loads((out / "records.jsonl").read_text())
    return ended - float(record["total_seconds"])


def bare_imports() -> float:
    """Return the seconds that importing the modules of a first trial takes: the least that a start can take."""
    modules = "harness.trials.run, sklearn.base, harness_prototype.pa"
    command = [sys.executable, "-c", f"import gc; gc.disable(); import {modules}"]
    return median_seconds(lambda: subprocess.run(command, check=True), 5)


def trial_overhead(out: Path) -> float:
    """Return the median seconds of a trial without fit and rank."""
    harness("run", "--learners", "pa", "--datasets", "digits", "--trials", "20", "--out", str(out))
    records = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    return float(statistics.median(r["total_seconds"] - r["fit_seconds"] - r["rank_seconds"] for r in records))


def planning() -> float:
    """Time the resolution and the plan of many trials, with cached dataset headers."""
    experiment = build({"learners": "pa,b=pa(C=2)", "datasets": "digits,topics", "trials": MANY // 4}, "benchmark")
    catalog = discover()
    facts = Header(
        folder="",
        fingerprint="d",
        rows=1797,
        features=64,
        classes=10,
        nonzeros=1,
        text_bytes=None,
        empty_rows=0,
        negative=False,
        multilabel=False,
        largest_class=180,
        taxonomy_depth=None,
        splits={},
        found="",
    )
    headers = {"digits": facts, "topics": replace(facts, fingerprint="t")}

    def call() -> None:
        assert len(plan(resolve(experiment, catalog), headers).trials) == MANY

    return median_seconds(call, 5)


def tabling(folder: Path) -> float:
    """Time `harness table`, from reading records to the rendered table."""
    first = from_line((folder / "trials" / "records.jsonl").read_text().splitlines()[0])
    many = folder / "many"
    many.mkdir()
    learners, trials = 20, MANY // 100
    with open(many / "records.jsonl", "w") as file:
        for i in range(MANY):
            learner, dataset, trial = i % learners, i // learners % 5, i // (learners * 5)
            assert trial < trials
            scores = {name: (value or 0.0) * (1 + (i * 7919 % 101) / 1000) for name, value in first.scores.items()}
            trial_of = replace(first, key=str(i), label=f"learner{learner}", dataset=f"data{dataset}")
            file.write(to_line(replace(trial_of, seed=trial, number=trial, params={"C": learner}, scores=scores)))
    return median_seconds(lambda: harness("table", str(many)), 5)


if __name__ == "__main__":
    main()
