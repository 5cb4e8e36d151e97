"""What representations cost: n-grams beside scikit-learn's, and ten learners that share what they see.

    python benchmarks/representations.py FILE...

FILEs are CSV, packed or not, with a column `title`. Prints the page docs/representations-speed.md and writes it. All
figures are processor seconds of one run, ours and theirs in turn; ratios are of the best of three.
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
from sklearn.feature_extraction.text import TfidfVectorizer
from timing import best_seconds, cpu_seconds

from harness.data.represented import keep_represented, open_represented
from harness.machine import describe_machine
from harness.sdk import Texts
from harness.sdk.reading.raw import open_raw
from harness.trials.blueprint import Blueprint
from harness.trials.represent import represent
from harness_representations.chars import Chars
from harness_representations.hashed import Hashed
from harness_representations.words import Words

PAGE = Path(__file__).resolve().parent.parent / "docs" / "representations-speed.md"
ROWS, LEARNERS, REPEATS = 60_000, 10, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    texts = read_titles(parser.parse_args().files)
    lines = ["# What representations cost", "", f"{describe_machine().processor}; {len(texts):,} titles. Written by"]
    lines += ["`benchmarks/representations.py`; processor seconds, the best of three, ours and theirs in one run.", ""]
    lines += [*beside_scikit_learn(texts), "", *shared(texts)]
    text = "\n".join(lines) + "\n"
    print(text)
    PAGE.write_text(text)


def read_titles(files: list[Path]) -> list[str]:
    titles: list[str] = []
    for file in files:
        with open_raw(file) as stream:
            lines = (line.decode() for line in stream)
            titles += [row["title"] for row in csv.DictReader(lines)]
    return titles[:ROWS]


def beside_scikit_learn(texts: list[str]) -> list[str]:
    """Fit and transform, ours beside TfidfVectorizer with the same terms."""
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
    lines = ["| representation | columns | ours | TfidfVectorizer | ratio |", "|---|---|---|---|---|"]
    kept = Texts.of(texts)
    Chars().fit(texts[:100])  # what is compiled or loaded at first use is no part of it
    for name, ours, theirs in pairs:
        columns = ours().fit_transform(kept).shape[1]
        seconds = best_seconds(partial(fit_anew, ours, kept), REPEATS)
        their_seconds = best_seconds(partial(fit_anew, theirs, texts), REPEATS)
        ratio = seconds / their_seconds
        lines.append(f"| `{name}` | {columns:,} | {seconds:.2f} s | {their_seconds:.2f} s | {ratio:.2f} |")
    return lines


def fit_anew(make: Callable[[], Any], texts: Any) -> None:
    make().fit_transform(texts)


def shared(texts: list[str]) -> list[str]:
    """Ten learners that each represent by themselves, and ten that map what was represented once."""
    train, test = Texts.of(texts[: ROWS * 9 // 10]), Texts.of(texts[ROWS * 9 // 10 :])
    blueprint = Blueprint("harness_representations.chars:Chars", {})
    y = np.zeros(len(train), np.int64)
    alone = best_seconds(lambda: represent(blueprint, train, y, test), REPEATS)
    with tempfile.TemporaryDirectory() as home:
        os.environ["HARNESS_DATA_HOME"] = home
        folder = Path(home) / "represented" / "titles-0"
        once = cpu_seconds(lambda: keep_represented(represent(blueprint, train, y, test), folder))
        mapped = best_seconds(lambda: open_represented(folder), REPEATS)
    each, together = LEARNERS * alone, once + LEARNERS * mapped
    return [
        f"Ten learners on `chars(ngrams=2:5)`: {each:.1f} s where each represents the rows by itself; {together:.1f} s",
        f"where it is done once, kept ({once:.2f} s) and mapped and checked by each ({mapped:.3f} s): "
        f"{together / each:.2f} of the time.",
    ]


if __name__ == "__main__":
    main()
