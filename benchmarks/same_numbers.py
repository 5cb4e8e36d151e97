"""Compare the numbers of two checkouts: every score of every learner, to the last bit.

    python benchmarks/same_numbers.py BEFORE AFTER

BEFORE and AFTER are `harness` commands, each of an environment in which one checkout is installed. Both run the same
trials, with the same split, into separate folders below --work; the same command resumes. The exit code is 1 if a
number differs. A number that only AFTER has is counted apart and is not a difference. Learners that need a separate
environment are skipped. A dataset that a checkout cannot read is reported and skipped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

DATASETS = ("digits", "subsample(icd10cm,classes=60)", "newsgroups")
MEASURED = ("train", "train_cpu", "predict", "rank", "rows_per_second", "peak")
"""Scores that differ from run to run: times and memory."""


def list_learners(harness: str) -> str:
    """Return the learners of a checkout that need no environment, wrappers around `pa`, as `--learners` takes them."""
    listed = subprocess.run([harness, "list", "learners", "--json"], capture_output=True, text=True, check=True)
    names = []
    for learner in json.loads(listed.stdout):
        if not learner["environment"]:
            wraps = learner["parameters"].get("learner", "") is None
            names.append(f"{learner['name']}(pa)" if wraps else learner["name"])
    return ",".join(names)


def run(harness: str, learners: str, dataset: str, out: Path, given: argparse.Namespace) -> bool:
    """Run every learner on a dataset; return whether the dataset could be read."""
    command = [harness, "run", "--learners", learners, "--datasets", dataset, "--split", given.split]
    command += ["--trials", str(given.trials), "--timeout", f"{given.timeout}s", "--out", str(out)]
    ended = subprocess.run(command, check=False)
    return ended.returncode in (0, 1)  # 1: a trial failed, or a learner cannot run on this dataset


Numbers = dict[str, object]
"""The status, the index size and the scores of a trial, by name."""


def read(folder: Path) -> dict[tuple[str, int], Numbers]:
    """Return the numbers of each trial by learner and seed."""
    found = {}
    for line in (folder / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        numbers = {"status": record["status"], "index_size": record.get("index_size")}
        numbers |= {name: value for name, value in record["scores"].items() if name not in MEASURED}
        if record.get("bytes_source") == "pickle":  # it includes the name of the module, which may change
            numbers.pop("index_bytes", None)
        found[record["label"], record["seed"]] = numbers
    return found


@dataclass(frozen=True)
class Changes:
    """The numbers of a trial that a second checkout changed, and those that only the second one has."""

    changed: tuple[str, ...]
    added: tuple[str, ...]


def compare_trial(old: Numbers, new: Numbers) -> Changes:
    """Compare two runs of a trial, number by number."""
    changed, added = [], []
    for name in {**old, **new}:
        before, after = old.get(name), new.get(name)
        if before is None and after is not None and old:
            added.append(name)
        elif before != after:
            changed.append(f"{name} {before} -> {after}")
    return Changes(tuple(changed), tuple(added))


def compare(dataset: str, before: Path, after: Path) -> int:
    """Print the trials that differ and return their number."""
    first, second = read(before), read(after)
    found = {trial: compare_trial(first.get(trial, {}), second.get(trial, {})) for trial in sorted({*first, *second})}
    for (learner, seed), changes in found.items():
        if changes.changed:
            print(f"{dataset}: {learner}, seed {seed}: {', '.join(changes.changed)}")
    differ = sum(bool(changes.changed) for changes in found.values())
    failed = sum(first[trial]["status"] != "ok" for trial, changes in found.items() if not changes.changed)
    print(f"{dataset}: {len(found) - differ} trials the same ({failed} of them failed alike), {differ} different")
    added = [name for changes in found.values() for name in changes.added]
    if added:
        trials = sum(bool(changes.added) for changes in found.values())
        print(f"{dataset}: {trials} trials have numbers that the first checkout lacks: {', '.join(sorted(set(added)))}")
    return differ


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="the harness command of the first checkout")
    parser.add_argument("after", help="that of the second")
    parser.add_argument("--work", type=Path, default=Path("results/same-numbers"))
    parser.add_argument("--timeout", type=int, default=300, metavar="SECONDS", help="of each trial")
    parser.add_argument("--trials", type=int, default=2, help="of each learner on each dataset")
    parser.add_argument("--split", default="holdout:0.2", help="of both checkouts (default: %(default)s)")
    parser.add_argument("--learners", help="all that need no environment, unless given")
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    given = parser.parse_args()
    learners = given.learners or list_learners(given.before)
    differ = 0
    for number, dataset in enumerate(given.datasets):
        folders = {side: given.work / f"{side}-{number}" for side in ("before", "after")}
        commands = {"before": given.before, "after": given.after}
        if all(run(commands[side], learners, dataset, folders[side], given) for side in folders):
            differ += compare(dataset, folders["before"], folders["after"])
        else:
            print(f"{dataset}: not run, see above")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
