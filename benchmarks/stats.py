"""Time of the statistics: tables, matrices and average ranks with every test over 10,000 records.

    python benchmarks/stats.py

Prints each figure and writes results/benchmarks/stats-speed. Times are CPU seconds, also in units of a bare start of
the interpreter in the same run.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from report import Column, Section, Table, measure_sections
from timing import all_cpu_seconds, median_seconds

from harness import MetricSpec
from harness.host.discovery import discover
from harness.records.record import Record, to_line
from harness.records.store import read_records
from harness.report.lines import Line, group_records
from harness.report.tables.pairwise import compare_pairs, matrix_grid, ranks_grid
from harness.report.tables.table import make_table
from harness.stats import TESTS
from harness.syntax.split import parse_split

LEARNERS, DATASETS, TRIALS = 20, 5, 100
GOAL_SECONDS = 3.0
COLUMNS = [
    Column("operation"),
    Column("CPU time", "s", 2),
    Column("goal", "s", 0),
    Column("interpreter starts", digits=1),
]

cpu_median = partial(median_seconds, clock=all_cpu_seconds)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    measure_sections("stats-speed", [measure])


def measure() -> Section:
    yardstick = cpu_median(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 7)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_records(folder)
        measured = [
            ("read the records", cpu_median(lambda: read_records(folder), 5), None),
            *time_parts(read_records(folder)),
            ("everything above, once", everything(folder), GOAL_SECONDS),
        ]
        for words in ("--test sign", "--test ttest", "--matrix"):
            measured.append((f"`harness table {words}`", command(folder, words), None))
    rows = [[what, seconds, goal, seconds / yardstick] for what, seconds, goal in measured]
    rows.append(["start of a bare interpreter", yardstick, None, 1.0])
    return Section(f"{LEARNERS * DATASETS * TRIALS:,} records", [Table(COLUMNS, rows)])


def write_records(folder: Path) -> None:
    """Write records of a run whose learners differ by little more than chance."""
    chance = random.Random(0)
    names = [entry.spec.name for entry in discover().metrics if entry.spec.always]
    with open(folder / "records.jsonl", "w") as file:
        for dataset in range(DATASETS):
            for learner in range(LEARNERS):
                for seed in range(TRIALS):
                    scores = {name: 0.5 + learner / 500 + chance.gauss(0, 0.02) for name in names}
                    file.write(to_line(make_record(f"learner{learner}", f"data{dataset}", seed, scores)))


def make_record(label: str, dataset: str, seed: int, scores: dict[str, float]) -> Record:
    return Record(
        key=f"{label}-{dataset}-{seed}",
        status="ok",
        label=label,
        family=label,
        learner=label,
        learner_kind="flat",
        learner_distribution="dist",
        learner_version="1",
        params={"C": 1.0, "random_state": seed},
        dataset=dataset,
        dataset_family=dataset,
        dataset_params={},
        fingerprint=dataset,
        representation="tfidf",
        split=parse_split("holdout:0.1"),
        number=seed,
        seed=seed,
        depth=10,
        scores=dict(scores),
        n_train=900,
        n_test=100,
        n_classes=20,
        n_features=5000,
    )


def columns() -> list[MetricSpec]:
    return [entry.spec for entry in discover().metrics if entry.spec.shown]


def time_parts(records: list[Record]) -> list[tuple[str, float, float | None]]:
    """Time the table and the matrix of R1 with each test, and the average ranks."""
    shown = columns()
    r1, lines = shown[0], group_records(records)
    found: list[tuple[str, float, float | None]] = []
    for test in TESTS:
        seconds = cpu_median(partial(render_table, records, shown, test), 5)
        found.append((f"table with the {test} test", seconds, None))
        seconds = cpu_median(partial(render_matrix, lines, r1, test), 5)
        found.append((f"matrix of R1 with the {test} test", seconds, None))
    return [
        *found,
        ("average ranks of R1 with Friedman and Nemenyi tests", cpu_median(partial(ranks_grid, lines, r1), 5), None),
    ]


def render_table(records: list[Record], shown: list[MetricSpec], test: str) -> str:
    return make_table(group_records(records), shown, test=test, spread="t").render()


def render_matrix(lines: list[Line], metric: MetricSpec, test: str) -> str:
    return matrix_grid(compare_pairs(lines, metric, test), metric, test).render()


def everything(folder: Path) -> float:
    def call() -> None:
        records, shown = read_records(folder), columns()
        lines = group_records(records)
        for test in TESTS:
            render_table(records, shown, test)
            render_matrix(lines, shown[0], test)
        ranks_grid(lines, shown[0]).render()

    return cpu_median(call, 5)


def command(folder: Path, words: str) -> float:
    """Time a command from the start of the interpreter."""
    line = [sys.executable, "-m", "harness", "table", str(folder), *words.split()]
    return cpu_median(lambda: subprocess.run(line, check=True, capture_output=True), 5)


if __name__ == "__main__":
    main()
