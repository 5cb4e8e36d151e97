"""How accurate the flat learners are beside KDD 2008: runs benchmarks/flat_accuracy.toml and writes its table.

    python benchmarks/flat_accuracy.py [--raw FOLDER]

FOLDER holds the raw files in 20newsgroups, reuters21578 and austen, which are then imported; without it they must be in
the data home (`harness data list`). Every trial goes through `harness.run`, so that a second call only runs what is
missing. Learners that are not installed are left out, and the table says so.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

import harness
from harness.host import discover
from harness.record import Record
from harness.stats import summarise

HERE = Path(__file__).resolve().parent
EXPERIMENT = HERE / "flat_accuracy.toml"
PUBLISHED = HERE / "published_kdd2008.csv"
FOLDERS = {"newsgroups": "20newsgroups", "reuters21578": "reuters21578", "austen": "austen"}
FLOORS = {
    "newsgroups": {"ooz": 0.880, "ema": 0.885, "ff": 0.885, "pa": 0.860, "mmp": 0.810},
    "reuters21578": {"ooz": 0.935, "pa": 0.928, "ema": 0.920, "ff": 0.915, "mmp": 0.905},
    "austen": {"ooz": 0.270, "ema": 0.285, "ff": 0.270},
}
"""The least mean R1 that this project asks of itself."""


def main() -> None:
    options = read_options()
    if options.raw:
        bring(options.raw)
    experiment = tomllib.loads(EXPERIMENT.read_text()) | ({"trials": options.trials} if options.trials else {})
    installed = {entry.spec.name for entry in discover().learners}
    missing = [learner["name"] for learner in experiment["learners"] if learner["name"] not in installed]
    if missing:
        print(f"left out, not installed: {', '.join(missing)}", file=sys.stderr)
    parts = [part_of(experiment, dataset, installed) for dataset in experiment["datasets"]]
    chosen = [part for part in parts if part["learners"]]
    results = {part["name"]: harness.run(experiment=part, out=folder_in(options.out, part)) for part in chosen}
    idle = [str(part["datasets"][0]["name"]) for part in parts if not part["learners"]]
    page = "\n".join(
        [*opening(missing, idle), *(line for part in chosen for line in section(part, results[part["name"]]))]
    )
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "table.md").write_text(page)
    print(page)


def bring(raw: Path) -> None:
    """Take the raw files into the data home."""
    for name, folder in FOLDERS.items():
        command = [sys.executable, "-m", "harness", "data", "import", name, str(raw / folder)]
        subprocess.run(command, check=True)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The accuracy of the flat learners beside the published one.")
    parser.add_argument("--trials", type=int, help="trials of each learner (default: the experiment's)")
    parser.add_argument("--raw", type=Path, help="folder of raw files to import first")
    parser.add_argument("--out", type=Path, default=Path("results/flat-accuracy"), help="default: %(default)s")
    return parser.parse_args()


def part_of(experiment: dict[str, Any], dataset: dict[str, Any], installed: set[str]) -> dict[str, Any]:
    """The experiment on one data set: the installed learners that have parameters for it, and only those parameters."""
    name = dataset["name"]
    learners = [
        {"name": learner["name"], "params": learner.get("params", {}) | learner["datasets"][name]}
        for learner in experiment["learners"]
        if learner["name"] in installed and name in learner["datasets"]
    ]
    return experiment | {"name": f"{experiment['name']}-{name}", "datasets": [dataset], "learners": learners}


def folder_in(out: Path, part: dict[str, Any]) -> Path:
    return out / str(part["datasets"][0]["name"])


# -- the table -------------------------------------------------------------------------------------------------------


def opening(missing: Sequence[str], idle: Sequence[str]) -> list[str]:
    """What stands above the tables."""
    citation = read_published()[0]["citation"]
    return [
        "# The flat learners beside KDD 2008",
        "",
        "Written by `python benchmarks/flat_accuracy.py`; do not edit by hand. Parameters as published, untuned, in",
        "`benchmarks/flat_accuracy.toml`; means over random splits ± standard",
        "deviation. e: edges read per active feature; |I|: stored non-zero weights; floor: the least R1 that this",
        "project asks of itself.",
        "",
        f"Published: {citation}.",
        "Its data differ in detail (documents, tokens), and its times are of its own machine.",
        *(["", f"Left out, because they are not installed: {', '.join(missing)}."] if missing else []),
        *(["", f"Not run, because no learner was left for it: {', '.join(idle)}."] if idle else []),
    ]


def section(part: dict[str, Any], results: harness.Results) -> list[str]:
    """Heading, facts and table of one data set."""
    dataset, records = part["datasets"][0], results.records
    processors = {machine.processor for machine in results.machines.values()}
    first = next((record for record in records if record.status == "ok"), records[0])
    published = {row["learner"]: row for row in read_published() if row["dataset"] == dataset["name"]}
    rows = [
        row_of(learner, published[learner["name"]], [r for r in records if r.learner == learner["name"]])
        for learner in part["learners"]
    ]
    return [
        "",
        f"## {dataset['name']}",
        "",
        f"{first.n_train or 0:,} training and {first.n_test or 0:,} test rows, {first.n_features or 0:,} features, "
        f"{first.n_classes} classes; {first.representation}, {first.split}; {', '.join(sorted(processors))}.",
        "",
        tabulate(rows, headers="keys", tablefmt="pipe", disable_numparse=True, colalign=["left"] + ["right"] * 13),
        "",
    ]


def row_of(learner: dict[str, Any], published: dict[str, str], records: Sequence[Record]) -> dict[str, str]:
    """Ours beside theirs."""
    ours = {name: scores_of(records, name) for name in ("r1", "r5", "edges", "index", "train")}
    r1 = ours["r1"]
    floor = FLOORS[published["dataset"]][learner["name"]]
    passes, their_passes = learner["params"]["passes"], published["passes"] or "?"
    return {
        "learner": learner["name"],
        "trials": f"{sum(record.status == 'ok' for record in records)} of {len(records)}",
        "passes (published)": f"{passes} ({their_passes})",
        "R1": "-" if r1 is None else f"{r1.mean:.3f}" + (f" ± {r1.sd:.3f}" if r1.sd is not None else ""),
        "published": published["r1"],
        "difference": "-" if r1 is None else f"{r1.mean - float(published['r1']):+.3f}",
        "floor": f"{floor:.3f} " + ("met" if r1 is not None and r1.mean >= floor else "MISSED"),
        "R5": "-" if ours["r5"] is None else f"{ours['r5'].mean:.3f}",
        "published R5": published["r5"],
        "e": "-" if ours["edges"] is None else f"{ours['edges'].mean:.1f}",
        "published e": published["edges"],
        r"\|I\|": "-" if ours["index"] is None else f"{ours['index'].mean / 1000:,.0f}k",
        r"published \|I\|": f"{float(published['index']) / 1000:,.0f}k",
        "train (published)": f"{'-' if ours['train'] is None else format(ours['train'].mean, '.2f')} s "
        f"({float(published['train_seconds']):g} s)",
    }


def scores_of(records: Sequence[Record], name: str) -> Any:
    """The summary of a metric over the trials that have it."""
    values = [record.scores.get(name) for record in records if record.status == "ok"]
    return summarise([value for value in values if value is not None])


def read_published() -> list[dict[str, str]]:
    with open(PUBLISHED, newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
