"""Time of the text representations beside scikit-learn's, and of ten learners that share one cached representation.

    python benchmarks/representations.py FILE...

Each FILE is a CSV, compressed or not, with a column `title`. Writes results/benchmarks/representations-speed. Times are
CPU seconds, the best of three, both tools in one run.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from report import Column, Section, Table, facts, measure_sections
from sklearn.feature_extraction.text import TfidfVectorizer
from timing import best_seconds, cpu_seconds

from harness.sdk import Texts
from harness.sdk.reading.raw import open_raw
from harness.trials.data import keep_represented, open_represented, represent
from harness.trials.trial import Blueprint, RepresentationPlan
from harness_representations.chars import Chars
from harness_representations.hashed import Hashed
from harness_representations.words import Words

ROWS, LEARNERS, REPEATS = 60_000, 10, 3
COLUMNS = [
    Column("representation"),
    Column("columns"),
    Column("harness", "s", 2),
    Column("TfidfVectorizer", "s", 2),
    Column("ratio", digits=2),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    texts = read_titles(parser.parse_args().files)
    measure_sections("representations-speed", [partial(compare, texts), partial(share, texts)])


def read_titles(files: list[Path]) -> list[str]:
    titles: list[str] = []
    for file in files:
        with open_raw(file) as stream:
            lines = (line.decode() for line in stream)
            titles += [row["title"] for row in csv.DictReader(lines)]
    return titles[:ROWS]


def compare(texts: list[str]) -> Section:
    """Time fit and transform beside TfidfVectorizer with the same terms."""
    ngrams = {"analyzer": "char_wb", "ngram_range": (2, 5), "dtype": np.float32}
    pairs: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
        ("chars(ngrams=2:5)", Chars, lambda: TfidfVectorizer(**ngrams)),
        ("hashed(bits=22)", Hashed, lambda: TfidfVectorizer(**ngrams)),
        (
            "words(ngrams=1:2)",
            lambda: Words(ngrams="1:2"),
            lambda: TfidfVectorizer(ngram_range=(1, 2), dtype=np.float32),
        ),
    ]
    rows = []
    kept = Texts.of(texts)
    Chars().fit(texts[:100])  # compiles
    for name, ours, theirs in pairs:
        columns = ours().fit_transform(kept).shape[1]
        seconds = best_seconds(partial(fit_anew, ours, kept), REPEATS)
        their_seconds = best_seconds(partial(fit_anew, theirs, texts), REPEATS)
        rows.append([f"`{name}`", columns, seconds, their_seconds, seconds / their_seconds])
    return Section("Beside TfidfVectorizer", [Table(COLUMNS, rows)], f"{len(texts):,} titles.")


def fit_anew(make: Callable[[], Any], texts: Any) -> None:
    make().fit_transform(texts)


def share(texts: list[str]) -> Section:
    """Time ten learners that each compute the representation, and ten that map the cached one."""
    train, test = Texts.of(texts[: ROWS * 9 // 10]), Texts.of(texts[ROWS * 9 // 10 :])
    plan = RepresentationPlan(Blueprint("harness_representations.chars:Chars", {}), takes_text=True)
    y = np.zeros(len(train), np.int64)
    alone = best_seconds(lambda: represent(plan, train, y, test), REPEATS)
    with tempfile.TemporaryDirectory() as home:
        os.environ["HARNESS_DATA_HOME"] = home
        folder = Path(home) / "represented" / "titles-0"
        once = cpu_seconds(lambda: keep_represented(represent(plan, train, y, test), folder))
        mapped = best_seconds(lambda: open_represented(folder), REPEATS)
    each, together = LEARNERS * alone, once + LEARNERS * mapped
    table = facts(
        ("each learner computes it", each, "s"),
        ("computed once, mapped by each", together, "s"),
        ("share of the time", together / each, ""),
        ("compute and cache once", once, "s"),
        ("map and verify", mapped, "s"),
    )
    return Section("Ten learners on `chars(ngrams=2:5)`", [table], f"{len(texts):,} titles.")


if __name__ == "__main__":
    main()
