"""Training on more rows than the memory limit holds: `batches(...)` beside the same learner given all rows at once.

    python benchmarks/out_of_memory.py [--rows 400000] [--memory 250MB] [--large 100MB]

Writes docs/out-of-memory.md. Makes a data set of the size asked for, keeps it, and runs both under the same limit. The
full size of the aim is `--rows 10000000 --memory 4GB --large 1GB`: it takes 25 GB of disk, and the data set is made in
memory (15 GB) before anything is limited.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.experiment.units import parse_memory
from harness.home import HOME_VARIABLE
from harness.machine import describe_machine
from harness.record import Record
from harness.store import read_records

PAGE = Path(__file__).resolve().parent.parent / "docs" / "out-of-memory.md"
MARK = "<!-- measured -->"
LEARNERS = "ff(passes=1),batches(ff(passes=1),rows=20000)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000, help="default: %(default)s")
    parser.add_argument("--memory", default="250MB", help="limit of a trial; default: %(default)s")
    parser.add_argument("--large", default="100MB", help="what is represented in blocks; default: %(default)s")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        records, kept_bytes = run(asked, Path(folder))
    write_page(asked, records, kept_bytes)


def run(asked: argparse.Namespace, folder: Path) -> tuple[list[Record], int]:
    """The records of both learners, and the bytes of the rows as their trials map them."""
    data = f"zipf(rows={asked.rows}, classes=1000, features=20000)"
    words = ["run", "--learners", LEARNERS, "--data", data, "--memory", asked.memory, "--trials", "1"]
    environment = {
        **os.environ,
        HOME_VARIABLE: str(folder / "home"),
        "HARNESS_LARGE_BYTES": str(parse_memory(asked.large)),
        "HARNESS_REPRESENTED_BYTES": str(10**12),
    }
    command = [sys.executable, "-m", "harness", *words, "--out", str(folder / "out")]
    subprocess.run(command, env=environment, check=False)  # that one of them fails is what is shown
    kept = [file.stat().st_size for file in (folder / "home").rglob("train_*.npy")]
    return read_records(folder / "out"), sum(kept)


def write_page(asked: argparse.Namespace, records: list[Record], kept_bytes: int) -> None:
    """Put the table behind the mark; the words before it are written by hand."""
    machine = describe_machine()
    lines = [
        "Written by `python benchmarks/out_of_memory.py`.",
        f"{asked.rows:,} rows of `zipf` in 1,000 classes; limit {asked.memory}.",
        f"The training rows as trials map them take **{kept_bytes / 1e6:,.0f} MB**. {machine.processor}, one thread.",
        "",
        "| learner | ended | R1 | CPU of fit |",
        "|---|---|---:|---:|",
    ]
    for record in records:
        lines.append(f"| `{record.label}` | {told_end(record)} | {told_score(record)} | {told_seconds(record)} |")
    text = PAGE.read_text() if PAGE.exists() else MARK
    PAGE.write_text(text.partition(MARK)[0] + MARK + "\n\n" + "\n".join(lines) + "\n")


def told_end(record: Record) -> str:
    return "trained" if record.status == "ok" else f"{record.status}: {record.message}"


def told_score(record: Record) -> str:
    score = record.scores.get("r1")
    return "" if score is None else f"{score:.3f}"


def told_seconds(record: Record) -> str:
    return "" if record.fit_cpu_seconds is None else f"{record.fit_cpu_seconds:.1f} s"


if __name__ == "__main__":
    main()
