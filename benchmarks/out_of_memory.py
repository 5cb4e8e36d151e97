"""Training on more rows than the memory limit holds: `batches(...)` beside the same learner on all rows at once.

    python benchmarks/out_of_memory.py [--rows 400000] [--memory 250MB] [--large 100MB]

Writes results/benchmarks/out-of-memory. Generates a dataset, caches it and runs both learners under the same limit. The
full size is `--rows 10000000 --memory 4GB --large 1GB`: it needs 25 GB of disk, and 15 GB of memory to generate the
data before the limit applies.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from report import Column, Section, Table, Value, facts, save_section

from harness.files.home import HOME_VARIABLE
from harness.records.record import Record
from harness.records.store import read_records
from harness.syntax.values import parse_memory

COLUMNS = [Column("learner"), Column("outcome"), Column("R1", digits=3), Column("CPU time of fit", "s", 1)]
LEARNERS = "ff(passes=1),batches(ff(passes=1),rows=20000)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000, help="default: %(default)s")
    parser.add_argument("--memory", default="250MB", help="memory limit of a trial; default: %(default)s")
    parser.add_argument("--large", default="100MB", help="represent larger data in blocks; default: %(default)s")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        records, mapped_bytes = run(args, Path(folder))
    save_section("out-of-memory", report(args, records, mapped_bytes))


def run(args: argparse.Namespace, folder: Path) -> tuple[list[Record], int]:
    """Return the records of both learners, and the bytes of the training rows that their trials map."""
    data = f"zipf(rows={args.rows}, classes=1000, features=20000)"
    words = ["run", "--learners", LEARNERS, "--data", data, "--memory", args.memory, "--trials", "1"]
    environment = {
        **os.environ,
        HOME_VARIABLE: str(folder / "home"),
        "HARNESS_LARGE_BYTES": str(parse_memory(args.large)),
        "HARNESS_REPRESENTED_BYTES": str(10**12),
    }
    command = [sys.executable, "-m", "harness", *words, "--out", str(folder / "out")]
    subprocess.run(command, env=environment, check=False)  # a failed trial is a result
    kept = [file.stat().st_size for file in (folder / "home").rglob("train_*.npy")]
    return read_records(folder / "out"), sum(kept)


def report(args: argparse.Namespace, records: list[Record], mapped_bytes: int) -> Section:
    note = f"{args.rows:,} rows of `zipf` in 1,000 classes, one thread; memory limit {args.memory}."
    rows: list[list[Value]] = []
    for record in records:
        end = "trained" if record.status == "ok" else f"{record.status}: {record.message}"
        rows.append([f"`{record.label}`", end, record.scores.get("r1"), record.fit_cpu_seconds])
    return Section("Training", [facts(("mapped training rows", mapped_bytes / 1e6, "MB")), Table(COLUMNS, rows)], note)


if __name__ == "__main__":
    main()
