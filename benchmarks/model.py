"""A fitted model: time to open and to predict, and the reliability of its confidence.

    python benchmarks/model.py titles.csv --text title --label code

The file has short texts and codes. Writes results/benchmarks/model-figures. Times are CPU seconds of one thread with
reading and writing; the yardstick is a plain copy of the same file by the csv module in the same run.
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from report import Column, Section, Table, measure_sections
from timing import cpu_seconds

import harness
from harness.models.predict import PredictionRequest, predict_rows
from harness.report.lines import Line

RATE_GOAL, OPEN_GOAL = 50_000, 0.1
ROWS = {"words": 1_000_000, "chars": 200_000}
"""Rows to predict with each representation."""
HELD_OUT = 0.2
LEARNERS = "pa,ooz,perceptron"
"""Learners compared on icd10cm."""
LEVELS = (0.5, 0.8, 0.9, 0.95)
SPEED_COLUMNS = [
    Column("representation"),
    Column("rows"),
    Column("weights read per row"),
    Column("rows per second"),
    Column("goal, rows per second"),
    Column("times a plain copy", digits=1),
    Column("time to open", "s", 3),
    Column("model size", "MB", 1),
    Column("goal, time to open", "s", 1),
]
RELIABILITY_COLUMNS = [
    Column("representation"),
    Column("accuracy", digits=3),
    Column("expected accuracy", digits=3),
    *(
        column
        for level in LEVELS
        for column in (Column(f"rows from {level}", "%", 1), Column(f"correct from {level}", "%", 1))
    ),
]
AUTOMATIC_COLUMNS = [
    Column("learner"),
    Column("R1", digits=3),
    Column("rows at 95% accuracy", "%", 1),
    Column("rows at 99% accuracy", "%", 1),
    Column("AURC", digits=4),
    Column("ECE", digits=4),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("titles", type=Path)
    parser.add_argument("--text", default="title")
    parser.add_argument("--label", default="code")
    args = parser.parse_args()
    texts, labels = read_titles(args.titles, args.text, args.label)
    data = f"{args.titles.name}: {len(texts):,} short texts in {len(set(labels)):,} classes."
    with tempfile.TemporaryDirectory() as folder:
        parts = [
            partial(measure_speed, texts, labels, data, Path(folder)),
            partial(measure_reliability, texts, labels, data),
            partial(measure_automatic, Path(folder)),
        ]
        measure_sections("model-figures", parts)


def read_titles(path: Path, text: str, label: str) -> tuple[list[str], list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row[text] for row in rows], [row[label] for row in rows]


# -- speed -----------------------------------------------------------------------------------------------------------


def measure_speed(texts: list[str], labels: list[str], data: str, folder: Path) -> Section:
    """Time the opening of a model of `pa` and its predictions."""
    rows = []
    for representation, n_rows in ROWS.items():
        saved = folder / f"{representation}.model"
        harness.fit("pa", (texts, labels), representation=representation, out=saved)
        model = harness.load_model(saved)  # imports what it needs
        open_seconds = min(cpu_seconds(partial(harness.load_model, saved)) for _ in range(5))
        new = folder / "new.csv"
        write_titles(new, texts, n_rows)
        request = PredictionRequest(source=str(new), text="title", out=folder / "coded.csv")
        seconds = cpu_seconds(partial(predict_rows, model, request, lambda *_: None))
        copying = cpu_seconds(partial(copy_rows, new, folder / "copy.csv"))
        megabytes = sum(file.stat().st_size for file in saved.rglob("*") if file.is_file()) / 1e6
        weights = weights_read(model, texts[:1000])
        rates = [n_rows / seconds, RATE_GOAL, seconds / copying]
        rows.append([f"`{representation}`", n_rows, weights, *rates, open_seconds, megabytes, OPEN_GOAL])
    return Section("Speed of `pa`", [Table(SPEED_COLUMNS, rows)], data)


def weights_read(model: harness.Model, texts: list[str]) -> float:
    """Return the mean number of weights read for a text."""
    seen = model.representation.transform(texts)
    return float(model.classifier.learner.edges_touched(seen) * seen.nnz / len(texts))


def write_titles(path: Path, texts: list[str], n_rows: int) -> None:
    chance = random.Random(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title"])
        writer.writerows((number, chance.choice(texts)) for number in range(n_rows))


def copy_rows(source: Path, target: Path) -> None:
    with source.open(newline="", encoding="utf-8") as read, target.open("w", newline="", encoding="utf-8") as written:
        csv.writer(written).writerows(csv.reader(read))


# -- confidence ------------------------------------------------------------------------------------------------------


def measure_reliability(texts: list[str], labels: list[str], data: str) -> Section:
    """Compare confidence with accuracy on the rows that a model was not fitted on."""
    order = np.random.default_rng(0).permutation(len(texts))
    test, train = np.split(order, [int(HELD_OUT * len(order))])
    truth = np.array([labels[row] for row in test])
    rows = []
    for representation in ROWS:
        given = [texts[row] for row in train], [labels[row] for row in train]
        model = harness.fit("pa", given, representation=representation)
        answers = model.answer([texts[row] for row in test])
        correct = answers.names[:, 0] == truth
        cells = [float(correct.mean()), model.manifest.expected.accuracy]
        for level in LEVELS:
            assert answers.confidence is not None  # pa has scores
            sure = answers.confidence >= level
            cells += [100 * float(sure.mean()), 100 * float(correct[sure].mean())]
        rows.append([f"`{representation}`", *cells])
    return Section("Reliability of the confidence", [Table(RELIABILITY_COLUMNS, rows)], data)


def measure_automatic(folder: Path) -> Section:
    """Find the share of rows of icd10cm that can be coded automatically at a given accuracy."""
    metrics = ["r1", "automatic", "automatic(accuracy=0.99)", "aurc", "ece"]
    results = harness.run(
        LEARNERS, "icd10cm", representation="words", metrics=metrics, trials=1, out=folder / "icd10cm", progress=False
    )
    rows = []
    for line in results.lines():
        r1, at_95, at_99, aurc, ece = (mean_of(line, name) for name in metrics)
        rows.append([f"`{line.title}`", r1, 100 * at_95, 100 * at_99, aurc, ece])
    return Section("Automatic coding of `icd10cm`", [Table(AUTOMATIC_COLUMNS, rows)], "One trial with `words`.")


def mean_of(line: Line, metric: str) -> float:
    summary = line.summary(metric)
    assert summary is not None, metric
    return summary.mean


if __name__ == "__main__":
    main()
