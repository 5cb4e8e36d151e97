"""A model at work: how fast it opens and codes, and whether its confidence comes true. Writes docs/model-figures.md.

    python benchmarks/model.py titles.csv --text title --label code

The file is any of short texts and codes. Times are processor times of one thread, reading and writing included; they
stand beside a yardstick taken in the same run, the plain copy of the same file by the csv module.
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from timing import cpu_seconds

import harness
from harness.api.predicting import PredictionRequest, predict_rows
from harness.groups import Line
from harness.machine import describe_machine

PAGE = Path(__file__).resolve().parent.parent / "docs" / "model-figures.md"
RATE_AIM, OPEN_AIM = 50_000, 0.1
ROWS = {"words": 1_000_000, "chars": 200_000}
"""How many rows are coded with each representation."""
HELD_OUT = 0.2
LEARNERS = "pa,ooz,perceptron"
"""Who is compared on icd10cm."""
LEVELS = (0.5, 0.8, 0.9, 0.95)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("titles", type=Path)
    parser.add_argument("--text", default="title")
    parser.add_argument("--label", default="code")
    asked = parser.parse_args()
    texts, labels = read_titles(asked.titles, asked.text, asked.label)
    with tempfile.TemporaryDirectory() as folder:
        speed = list(measure_speed(texts, labels, Path(folder)))
        sure = list(measure_reliability(texts, labels))
        shares = list(measure_automatic(Path(folder)))
    page = "\n".join([*opening(asked.titles, texts, labels), *speed, *RELIABILITY, *sure, *AUTOMATIC, *shares, ""])
    PAGE.write_text(page)
    print(page)


def opening(path: Path, texts: list[str], labels: list[str]) -> list[str]:
    machine = describe_machine()
    return [
        "# A model in figures",
        "",
        "Written by `python benchmarks/model.py`; do not edit by hand.",
        "",
        f"{path.name}: {len(texts):,} short texts in {len(set(labels)):,} classes. {machine.processor}, one thread;",
        "processor times, with reading and writing of CSV files. The yardstick is a plain copy of the file.",
        "",
        "Files of a model are compared with their checksums when it is opened, and then mapped.",
        "",
        "| `pa` on | rows | weights read a row | rows a second | aim | by a plain copy | opens in | of | aim |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]


RELIABILITY = [
    "",
    "## Does confidence come true?",
    "",
    "Models fitted on 80% of the rows, asked about the others: the share of rows with at least this confidence,",
    "and the share of these that is right.",
    "",
    f"| representation | accuracy | expected |{''.join(f' from {level} on | right |' for level in LEVELS)}",
    f"|---|---:|---:|{'---:|---:|' * len(LEVELS)}",
]
AUTOMATIC = [
    "",
    "## How much can be coded by machine?",
    "",
    "`icd10cm`, terms of diagnoses to three-character codes, by `words`, one trial: the share of rows, the surest",
    "first, that can be left to the machine at an accuracy.",
    "",
    "| learner | R1 | at 95% | at 99% | AURC | ECE |",
    "|---|---:|---:|---:|---:|---:|",
]


def read_titles(path: Path, text: str, label: str) -> tuple[list[str], list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row[text] for row in rows], [row[label] for row in rows]


# -- speed -----------------------------------------------------------------------------------------------------------


def measure_speed(texts: list[str], labels: list[str], folder: Path) -> Iterator[str]:
    for representation, n_rows in ROWS.items():
        kept = folder / f"{representation}.model"
        harness.fit("pa", (texts, labels), representation=representation, out=kept)
        model = harness.load_model(kept)  # imports what it needs
        open_seconds = min(cpu_seconds(partial(harness.load_model, kept)) for _ in range(5))
        new = folder / "new.csv"
        write_titles(new, texts, n_rows)
        request = PredictionRequest(source=str(new), text="title", out=folder / "coded.csv")
        seconds = cpu_seconds(partial(predict_rows, model, request, lambda *_: None))
        copying = cpu_seconds(partial(copy_rows, new, folder / "copy.csv"))
        rate = f"{n_rows / seconds:,.0f} | {RATE_AIM:,} | {seconds / copying:.1f} times"
        n_bytes = sum(file.stat().st_size for file in kept.rglob("*") if file.is_file())
        opened = f"{open_seconds:.3f} s | {n_bytes / 1e6:.1f} MB | {OPEN_AIM} s"
        yield f"| `{representation}` | {n_rows:,} | {weights_read(model, texts[:1000]):,.0f} | {rate} | {opened} |"


def weights_read(model: harness.Model, texts: list[str]) -> float:
    """How many weights of the index are read for a text."""
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


def measure_reliability(texts: list[str], labels: list[str]) -> Iterator[str]:
    order = np.random.default_rng(0).permutation(len(texts))
    asked, trained = np.split(order, [int(HELD_OUT * len(order))])
    truth = np.array([labels[row] for row in asked])
    for representation in ROWS:
        given = [texts[row] for row in trained], [labels[row] for row in trained]
        model = harness.fit("pa", given, representation=representation)
        answers = model.answer([texts[row] for row in asked])
        right = answers.names[:, 0] == truth
        cells = []
        for level in LEVELS:
            sure = answers.confidence >= level
            cells.append(f" {sure.mean():.1%} | {right[sure].mean():.1%} |")
        expected = model.manifest.expected.accuracy
        yield f"| `{representation}` | {right.mean():.3f} | {expected:.3f} |{''.join(cells)}"


def measure_automatic(folder: Path) -> Iterator[str]:
    metrics = ["r1", "automatic", "automatic(accuracy=0.99)", "aurc", "ece"]
    results = harness.run(
        LEARNERS, "icd10cm", representation="words", metrics=metrics, trials=1, out=folder / "icd10cm", progress=False
    )
    for line in results.lines():
        r1, at_95, at_99, aurc, ece = (mean_of(line, name) for name in metrics)
        yield f"| `{line.title}` | {r1:.3f} | {at_95:.1%} | {at_99:.1%} | {aurc:.4f} | {ece:.4f} |"


def mean_of(line: Line, metric: str) -> float:
    summary = line.summary(metric)
    assert summary is not None, metric
    return summary.mean


if __name__ == "__main__":
    main()
