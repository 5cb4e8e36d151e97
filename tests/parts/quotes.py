"""Numbers that pages quote from results: `<!-- folder|data set|learner|metric -->0.874` is the mean in its records.

    python tests/parts/quotes.py

writes every quoted number anew, with as many digits as stand there; the tests only compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from harness.record import Record
from harness.stats import summarise
from harness.store import read_records

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
QUOTE = re.compile(r"<!-- ([^|>]+)\|([^|>]+)\|([^|>]+)\|([^|>]+) -->(\d*\.?\d+)(%|k|M| µs| min)?")
SCALES = {"": 1.0, "%": 100.0, "k": 1e-3, "M": 1e-6, " µs": 1e6, " min": 1 / 60}


def pages() -> Iterator[Path]:
    """Every page that may quote."""
    yield ROOT / "README.md"
    yield from sorted(ROOT.glob("docs/*.md"))
    yield from sorted(RESULTS.rglob("README.md"))


@cache
def records_of(folder: str) -> tuple[Record, ...]:
    return tuple(read_records(RESULTS / folder))


def number_of(quote: re.Match[str]) -> str:
    """What should stand there; ValueError where no record has it."""
    folder, dataset, learner, metric, number, unit = quote.groups()
    values = []
    for record in records_of(folder.strip()):
        if (record.dataset, record.label) == (dataset, learner) and record.status == "ok":
            values.append(record.scores.get(metric))
    summary = summarise([value for value in values if value is not None])
    if summary is None:
        raise ValueError(f"{quote[0]}: no record has it")
    decimals = len(number.partition(".")[2])
    text = f"{summary.mean * SCALES[unit or '']:.{decimals}f}"
    return text.removeprefix("0") if number.startswith(".") else text


def fill(text: str) -> str:
    """A page with its quoted numbers as the records have them."""

    def filled(quote: re.Match[str]) -> str:
        head = quote[0].partition("-->")[0]
        return f"{head}-->{number_of(quote)}{quote[6] or ''}"

    return QUOTE.sub(filled, text)


if __name__ == "__main__":
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = fill(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(page.relative_to(ROOT))
