"""Numbers that pages quote from results: `<!-- folder|dataset|learner|metric -->0.874` is the mean in its records.

In the cell of a table, where `|` would end the cell, the parts are separated by `;`.

    python tests/parts/quotes.py

rewrites every quoted number with its present number of digits; the tests only compare.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from internals import Record, read_records, summarise

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
QUOTE = re.compile(r"<!-- ([^|;>]+)[|;]([^|;>]+)[|;]([^|;>]+)[|;]([^|;>]+) -->(\d*\.?\d+)(%|k|M| µs| min)?")
SCALES = {"": 1.0, "%": 100.0, "k": 1e-3, "M": 1e-6, " µs": 1e6, " min": 1 / 60}


@cache
def committed_folders() -> tuple[Path, ...]:
    """Return the folders of results/ that git tracks; all of them outside a git checkout."""
    command = ["git", "ls-files", "-z", "--", RESULTS.name]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        listed = ""
    tracked = {Path(name).parts[1] for name in listed.split("\0") if name}
    folders = sorted(path for path in RESULTS.iterdir() if path.is_dir())
    return tuple(path for path in folders if path.name in tracked or not tracked)


def pages() -> Iterator[Path]:
    """Return every page that may quote."""
    yield ROOT / "README.md"
    yield from sorted(ROOT.glob("docs/**/*.md"))
    yield RESULTS / "README.md"
    for folder in committed_folders():
        yield from sorted(folder.rglob("README.md"))


@cache
def records_of(folder: str) -> tuple[Record, ...]:
    return tuple(read_records(RESULTS / folder))


def number_of(quote: re.Match[str]) -> str:
    """Return the number from the records; ValueError where no record has it."""
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
    """Return a page with its quoted numbers from the records."""

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
