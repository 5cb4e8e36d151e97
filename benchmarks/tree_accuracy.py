"""How accurate the trees and one-against-all are beside their paper: runs benchmarks/tree_accuracy.toml.

    harness data import isolet FOLDER; harness data import newsgroups FILE
    python benchmarks/tree_accuracy.py

Every trial goes through `harness run`, so that a second call only runs what is missing; parameters are chosen inside
each trial, on a part of its training rows. The table says what was published and what this project asks of itself.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w
from tabulate import tabulate

from harness.machine import Machine
from harness.record import Record
from harness.stats import summarise
from harness.store import read_machines, read_records

EXPERIMENTS = Path(__file__).resolve().parent / "tree_accuracy.toml"
PAPER = "A. Choromanska and J. Langford: Logarithmic time online multiclass prediction, NIPS 2015, table 4"
PUBLISHED = {
    "isolet": {
        "lomtree": "6.36 ± 1.71",
        "random-tree": "16.92 ± 2.63",
        "filter-tree": "15.10 ± 2.51",
        "oaa": "3.56 ± 1.30",
    },
}
"""Test error in percent; the published ± is 1.96 standard errors."""
CEILINGS = {"isolet": {"lomtree": 7.5, "oaa": 4.6}, "newsgroups": {"lomtree": 18.5}}
"""The highest mean test error, in percent, that this project allows itself."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="isolet,newsgroups", help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=Path("results/tree-accuracy"), help="default: %(default)s")
    options = parser.parse_args()
    experiments = tomllib.loads(EXPERIMENTS.read_text())
    for name in options.datasets.split(","):
        run(experiments[name], options.out / name)
    lines = opening()
    for name in experiments:
        lines += section(name, read_records(options.out / name), read_machines(options.out / name))
    page = "\n".join(lines)
    (options.out / "table.md").write_text(page)
    print(page)


def run(experiment: dict[str, Any], folder: Path) -> None:
    """`harness run` on one experiment; failed trials are left for the table to tell."""
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / EXPERIMENTS.name
        file.write_text(tomli_w.dumps(experiment))
        command = [sys.executable, "-m", "harness", "run", str(file), "--out", str(folder)]
        code = subprocess.run(command, check=False).returncode
    print(f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr)
    if code not in (0, 1):
        raise SystemExit(code)


def opening() -> list[str]:
    return [
        "# The tree learners beside their paper",
        "",
        "Written by `python benchmarks/tree_accuracy.py`; do not edit by hand. Mean test error in percent ± standard",
        "deviation over the trials. Every trial chooses its parameters on a tenth of its training rows, among those of",
        "`benchmarks/tree_accuracy.toml`, and then learns from all training rows; no test row takes part in a choice.",
        "",
        f"Published: {PAPER}; its ± is 1.96 standard errors of one split, and its times are of its own machine.",
    ]


def section(name: str, records: Sequence[Record], machines: dict[str, Machine]) -> list[str]:
    """Heading, facts and table of one data set."""
    done = [record for record in records if record.status == "ok"]
    if not done:
        return ["", f"## {name}", "", "Not run yet."]
    unknown = Machine("", "unknown")
    processors = {machines.get(record.machine, unknown).processor for record in done}
    learners = dict.fromkeys(record.learner for record in records)
    rows = [row_of(name, learner, [r for r in records if r.learner == learner]) for learner in learners]
    first = done[0]
    return [
        "",
        f"## {name}",
        "",
        f"{first.n_train or 0:,} training and {first.n_test or 0:,} test rows, {first.n_features or 0:,} features, "
        f"{first.n_classes} classes; {first.representation}, {first.split}; {', '.join(sorted(processors))}.",
        "",
        tabulate(
            rows, headers="keys", tablefmt="pipe", disable_numparse=True, colalign=["left"] + ["right"] * 8 + ["left"]
        ),
        "",
    ]


def row_of(name: str, learner: str, records: Sequence[Record]) -> dict[str, str]:
    """Ours beside theirs."""
    done = [record for record in records if record.status == "ok"]
    errors = summarise([100 * (1 - record.scores["r1"]) for record in done])
    ceiling = CEILINGS.get(name, {}).get(learner)
    verdict = "-" if ceiling is None else f"{ceiling:.1f} " + ("met" if errors and errors.mean <= ceiling else "MISSED")
    chosen = Counter(", ".join(f"{key} {value}" for key, value in (record.tuned or {}).items()) for record in done)

    def mean(metric: str, form: str) -> str:
        values = summarise([v for record in done if (v := record.scores.get(metric)) is not None])
        return "-" if values is None else format(values.mean, form)

    return {
        "learner": learner,
        "trials": f"{len(done)} of {len(records)}",
        "error": "-" if errors is None else f"{errors.mean:.2f} ± {errors.sd or 0:.2f}",
        "published": PUBLISHED.get(name, {}).get(learner, "-"),
        "ceiling": verdict,
        "R1": mean("r1", ".4f"),
        "R5": mean("r5", ".4f"),
        "train (20 passes)": f"{mean('train', '.2f')} s",
        "edges a feature": mean("edges", ".1f"),
        "chosen": "; ".join(f"{what} ({times})" for what, times in chosen.most_common()),
    }


if __name__ == "__main__":
    main()
