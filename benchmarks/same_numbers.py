"""Whether two checkouts give the same numbers: R1, R5 and |I| of every learner, to the last bit.

    python benchmarks/same_numbers.py BEFORE AFTER

BEFORE and AFTER are `harness` commands, each of an environment in which one checkout is installed. Both run the same
trials into a folder of their own below --work, which the same command resumes; exit code 1 where a number differs.
Newsgroups must be in the data home (`harness data import newsgroups FILE`); without it that part is left out and said.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

LEARNERS = (
    "pa,ooz,ema,ff,mmp,perceptron,winnow,ovr-perceptron,svm,crammer-singer,hsvm,topdown-svm,topdown-perceptron,"
    "lomtree,random-tree,filter-tree,oaa,committee(pa),sparsify(pa),oversample(pa)"
)
DATASETS = ("digits", "newsgroups", "icd10cm")


def run(harness: str, dataset: str, out: Path, seconds: int) -> bool:
    """Run every learner on a data set, two seeds each; whether there was anything to run on."""
    command = [harness, "run", "--learners", LEARNERS, "--datasets", dataset, "--trials", "2"]
    ended = subprocess.run([*command, "--timeout", f"{seconds}s", "--out", str(out)], check=False)
    return ended.returncode in (0, 1)  # 1 says that a trial failed, or that a learner cannot run on this data


def read(folder: Path) -> dict[tuple[str, int], dict[str, object]]:
    """The numbers of each trial, by learner and seed."""
    found = {}
    for line in (folder / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        numbers = {"status": record["status"], "index_size": record.get("index_size")}
        numbers |= {name: record["scores"].get(name) for name in ("r1", "r5")}
        found[record["label"], record["seed"]] = numbers
    return found


def compare(dataset: str, before: Path, after: Path) -> int:
    """Print what differs, and give how many trials do."""
    first, second = read(before), read(after)
    differ = 0
    timed_out = 0
    for trial in sorted({*first, *second}):
        old, new = first.get(trial), second.get(trial)
        if old is not None and old == new:
            timed_out += old["status"] != "ok"
            continue
        differ += 1
        print(f"{dataset}: {trial[0]}, seed {trial[1]}: {old} -> {new}")
    same = len({*first, *second}) - differ
    print(f"{dataset}: {same} trials the same ({timed_out} of them failed alike), {differ} different")
    return differ


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="the harness command of the first checkout")
    parser.add_argument("after", help="that of the second")
    parser.add_argument("--work", type=Path, default=Path("results/same-numbers"))
    parser.add_argument("--timeout", type=int, default=300, metavar="SECONDS", help="of each trial")
    given = parser.parse_args()
    differ = 0
    for dataset in DATASETS:
        folders = {side: given.work / f"{side}-{dataset}" for side in ("before", "after")}
        commands = {"before": given.before, "after": given.after}
        if all(run(commands[side], dataset, folders[side], given.timeout) for side in folders):
            differ += compare(dataset, folders["before"], folders["after"])
        else:
            print(f"{dataset}: not run, see above")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
