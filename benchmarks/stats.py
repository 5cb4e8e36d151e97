"""What the statistics cost: a table with every test over 10,000 records. Prints it and writes docs/stats-speed.md.

    python benchmarks/stats.py

The figure stands beside its aim and beside a yardstick taken in the same run (a bare start of the interpreter).
Processor seconds, since the machine may be shared.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from timing import all_cpu_seconds, median_seconds

from harness import MetricSpec
from harness.groups import group_records
from harness.host import discover
from harness.machine import describe_machine
from harness.record import Record
from harness.record_lines import to_line
from harness.split import parse_split
from harness.stats import TESTS
from harness.store import read_records
from harness.tables.pairwise import matrix_grid, ranks_grid
from harness.tables.table import make_table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "stats-speed.md"
LEARNERS, DATASETS, TRIALS = 20, 5, 100
AIM_SECONDS = 3.0

cpu_median = partial(median_seconds, clock=all_cpu_seconds)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    yardstick = cpu_median(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 7)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_records(folder)
        rows = [
            ("reading the records", cpu_median(lambda: read_records(folder), 5)),
            *parts(read_records(folder)),
            ("**everything: reading, and a table with every test, matrix and ranks**", whole(folder)),
            *[
                (f"`harness table --{words}`", command(folder, words))
                for words in ("test sign", "test ttest", "matrix")
            ],
        ]
    lines = [f"| {what} | {seconds:.2f} s | {seconds / yardstick:.1f} |" for what, seconds in rows]
    machine = describe_machine()
    page = [
        "# What the statistics cost",
        "",
        "Written by `python benchmarks/stats.py`; do not edit by hand. "
        f"{LEARNERS * DATASETS * TRIALS:,} records: {LEARNERS} learners, {DATASETS} data sets, {TRIALS} trials.",
        f"The aim is {AIM_SECONDS:.0f} s for everything. Processor seconds, since the machine may be shared; the last",
        f"column is in units of a bare start of the interpreter in the same run ({yardstick * 1000:.0f} ms).",
        "Medians of five.",
        "",
        f"Measured on {machine.processor}, {machine.cores} cores.",
        "",
        "| what | measured | in interpreter starts |",
        "|---|---:|---:|",
        *lines,
        "",
    ]
    PAGE.write_text("\n".join(page))
    print("\n".join(page))


def write_records(folder: Path) -> None:
    """Records as a run leaves them, with values that differ between learners by little more than chance."""
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


def parts(records: list[Record]) -> list[tuple[str, float]]:
    """Each test's table of the usual columns, and the tables of R1 alone."""
    shown = columns()
    r1, lines = shown[0], group_records(records)
    found = []
    for test in TESTS:
        found.append((f"a table by the {test} test, rendered", cpu_median(partial(tabled, records, shown, test), 5)))
        found.append((f"the matrix of R1 by the {test} test", cpu_median(partial(matrix_grid, lines, r1, test), 5)))
    return [
        *found,
        ("average ranks of R1, Friedman and Nemenyi", cpu_median(partial(ranks_grid, lines, r1), 5)),
    ]


def tabled(records: list[Record], shown: list[MetricSpec], test: str) -> str:
    return make_table(group_records(records), shown, test=test, spread="t").render()


def whole(folder: Path) -> float:
    def call() -> None:
        records, shown = read_records(folder), columns()
        lines = group_records(records)
        for test in TESTS:
            tabled(records, shown, test)
            matrix_grid(lines, shown[0], test).render()
        ranks_grid(lines, shown[0]).render()

    return cpu_median(call, 5)


def command(folder: Path, words: str) -> float:
    """The whole command, from the start of the interpreter."""
    line = [sys.executable, "-m", "harness", "table", str(folder), *f"--{words}".split()]
    return cpu_median(lambda: subprocess.run(line, check=True, capture_output=True), 5)


if __name__ == "__main__":
    main()
