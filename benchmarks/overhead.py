"""What the host itself costs, beyond fit and rank: prints it and writes docs/overhead.md.

    python benchmarks/overhead.py

Each figure stands beside its aim and beside a yardstick taken in the same run (a bare start of the interpreter), since
the machine may be shared: compare ratios between runs, not seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from timing import median_seconds

from harness.data.arrays import Header
from harness.experiment.building import build
from harness.experiment.plan import plan
from harness.experiment.resolve import resolve
from harness.host import discover
from harness.machine import describe_machine
from harness.record_lines import from_line, to_line

PAGE = Path(__file__).resolve().parent.parent / "docs" / "overhead.md"
MANY = 10_000


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    yardstick = median_seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 7)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder))
    lines = [
        f"| {what} | {seconds:.3f} s | {aim} s | {seconds / aim:.2f} | {seconds / yardstick:.1f} |"
        for what, seconds, aim in rows
    ]
    machine = describe_machine()
    page = "\n".join(
        [
            "# What the host costs",
            "",
            "Written by `python benchmarks/overhead.py`; do not edit by hand. The last column is in units of a bare",
            f"start of the interpreter in the same run ({yardstick * 1000:.0f} ms), which makes runs on a shared",
            "machine comparable. Medians; kernels and data warm unless said otherwise.",
            "",
            f"Measured on {machine.processor}, {machine.cores} cores.",
            "",
            "| what | measured | aim | measured / aim | in interpreter starts |",
            "|---|---:|---:|---:|---:|",
            *lines,
            "",
        ]
    )
    PAGE.write_text(page)
    print(page)


def measure(folder: Path) -> list[tuple[str, float, float]]:
    """(what, seconds, aim) of each figure."""
    os.environ["HARNESS_DATA_HOME"] = str(folder / "data")
    cold = start_to_first_trial(folder / "cold", {"NUMBA_CACHE_DIR": str(folder / "numba")})
    warm = statistics.median(
        start_to_first_trial(folder / f"warm{i}", {"NUMBA_CACHE_DIR": str(folder / "numba")}) for i in range(5)
    )
    return [
        ("a trial on `digits`, beyond fit and rank", trial_overhead(folder / "trials"), 0.1),
        ("`harness run` to its first trial, warm", warm, 2.0),
        ("of which importing what its learner needs, in a bare interpreter", bare_imports(), 2.0),
        ("`harness run` to its first trial, first ever: kernels compiled, data parsed", cold, 30.0),
        ("`harness list learners`", median_seconds(lambda: harness("list", "learners"), 7), 0.25),
        ("`harness plugins`", median_seconds(lambda: harness("plugins"), 7), 0.5),
        (f"planning {MANY:,} trials", planning(), 1.0),
        (f"`harness table` of {MANY:,} records", tabling(folder), 2.0),
    ]


def harness(*words: str, **environment: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "harness", *words], check=True, capture_output=True, env=os.environ | environment
    )


def start_to_first_trial(out: Path, environment: dict[str, str]) -> float:
    """Seconds from the command's start to the start of its first trial's process."""
    command = [sys.executable, "-m", "harness", "run", "--learners", "pa", "--datasets", "digits", "--trials", "1"]
    start = time.perf_counter()
    with subprocess.Popen(
        [*command, "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if " 1/1 " in line:
                ended = time.perf_counter() - start
    record = json.loads((out / "records.jsonl").read_text())
    return ended - float(record["total_seconds"])


def bare_imports() -> float:
    """The floor of a start: what the first trial's process has imported, without a host."""
    modules = "harness.trials.running, sklearn.base, harness_prototype.pa"
    command = [sys.executable, "-c", f"import gc; gc.disable(); import {modules}"]
    return median_seconds(lambda: subprocess.run(command, check=True), 5)


def trial_overhead(out: Path) -> float:
    """Median of what a trial's process takes beyond fit and rank."""
    harness("run", "--learners", "pa", "--datasets", "digits", "--trials", "20", "--out", str(out))
    records = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    return float(statistics.median(r["total_seconds"] - r["fit_seconds"] - r["rank_seconds"] for r in records))


def planning() -> float:
    """Resolving and planning many trials, the data sets' headers at hand."""
    experiment = build({"learners": "pa,b=pa(C=2)", "datasets": "digits,topics", "trials": MANY // 4}, "benchmark")
    catalog = discover()
    facts = Header(
        folder="",
        fingerprint="d",
        rows=1797,
        features=64,
        classes=10,
        nonzeros=1,
        text_bytes=None,
        empty_rows=0,
        negative=False,
        multilabel=False,
        largest_class=180,
        taxonomy_depth=None,
        splits={},
        found="",
    )
    headers = {"digits": facts, "topics": replace(facts, fingerprint="t")}

    def call() -> None:
        assert len(plan(resolve(experiment, catalog), headers)) == MANY

    return median_seconds(call, 5)


def tabling(folder: Path) -> float:
    """The whole command, from reading the lines to the rendered table."""
    first = from_line((folder / "trials" / "records.jsonl").read_text().splitlines()[0])
    many = folder / "many"
    many.mkdir()
    learners, trials = 20, MANY // 100
    with open(many / "records.jsonl", "w") as file:
        for i in range(MANY):
            learner, dataset, trial = i % learners, i // learners % 5, i // (learners * 5)
            assert trial < trials
            scores = {name: (value or 0.0) * (1 + (i * 7919 % 101) / 1000) for name, value in first.scores.items()}
            trial_of = replace(first, key=str(i), label=f"learner{learner}", dataset=f"data{dataset}")
            file.write(to_line(replace(trial_of, seed=trial, number=trial, params={"C": learner}, scores=scores)))
    return median_seconds(lambda: harness("table", str(many)), 5)


if __name__ == "__main__":
    main()
