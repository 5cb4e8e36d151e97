"""Compare the scores of all committed records with those of another git revision, to the last bit.

    python benchmarks/same_scores.py --base 9e95779

Reads each `records.jsonl` below results/ that git tracks, in the working tree and in the revision. A record is found
again by its trial: the learner, the data, the split and the seed. Its key and the digest of its code are not compared,
since they may change without the scores. Prints the records that differ, and how many are identical. The exit code is 1
if a record of the revision is different or missing. New records are counted and allowed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDS = "results/**/records.jsonl"
LEARNER = ("label", "learner", "params", "to_tune")
DATA = ("dataset", "dataset_params", "fingerprint", "representation", "split", "number", "seed", "depth")
"""Fields that identify a trial."""

Scores = dict[str, Any]
"""The status, the scores and the learning curve of a record."""


@dataclass(frozen=True)
class Comparison:
    """The records of a file compared with those of a revision."""

    identical: int
    differences: tuple[str, ...]
    new: int


def list_files(base: str) -> list[str]:
    """Return the files of records that git tracks now or in the revision."""
    pattern = f":(glob){RECORDS}"
    now = git("ls-files", "--", pattern).splitlines()
    folders = git("ls-tree", "-r", "--name-only", base, "--", "results/").splitlines()
    return sorted({*now, *(name for name in folders if name.endswith("/records.jsonl"))})


def git(*words: str) -> str:
    """Return the output of a git command; exit with its message if it fails."""
    ended = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(ended.stderr.strip())
    return ended.stdout


def read_now(name: str) -> list[str]:
    path = ROOT / name
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def read_then(name: str, base: str) -> list[str]:
    """Return the lines of a file in a revision; none if the revision does not have it."""
    known = git("ls-tree", "--name-only", base, "--", name)
    return git("show", f"{base}:{name}").splitlines() if known else []


def scores_by_trial(lines: Iterable[str]) -> dict[str, Scores]:
    """Return the scores of each record by its trial. The last record of a trial counts.

    Lines without a key are left out: results/defaults had such lines in its first format.
    """
    found = {}
    for line in lines:
        record = json.loads(line)
        if "key" not in record:
            continue
        trial = json.dumps([record.get(name) for name in (*LEARNER, *DATA)], sort_keys=True)
        found[trial] = {name: record.get(name) for name in ("status", "scores", "curve")}
    return found


def compare(then: dict[str, Scores], now: dict[str, Scores]) -> Comparison:
    """Compare the records of a file, trial by trial."""
    differences = []
    for trial, scores in then.items():
        if trial not in now:
            differences.append(f"{trial}: missing")
        elif now[trial] != scores:
            differences.append(f"{trial}: {describe(scores, now[trial])}")
    return Comparison(len(then) - len(differences), tuple(differences), len(now.keys() - then.keys()))


def describe(then: Scores, now: Scores) -> str:
    """Return the scores that differ; of a learning curve only that it differs."""
    before, after = then["scores"] or {}, now["scores"] or {}
    changed = [
        f"{name} {before.get(name)} -> {after.get(name)}"
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]
    changed += [f"{name} differs" for name in ("status", "curve") if then[name] != now[name]]
    return ", ".join(changed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", required=True, metavar="REVISION", help="the git revision to compare with")
    base = parser.parse_args().base
    identical = different = new = 0
    files = list_files(base)
    for name in files:
        found = compare(scores_by_trial(read_then(name, base)), scores_by_trial(read_now(name)))
        for difference in found.differences:
            print(f"{name}: {difference}")
        identical += found.identical
        different += len(found.differences)
        new += found.new
    print(f"{len(files)} files: {identical} records identical, {different} different or missing, {new} new")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
