"""Messages of the commands that look at results or use a model: one prefix, the culprit, and the next step.

The exact messages are in tests/public/snapshots.
"""

import random
import shlex

import pytest

from command import run_harness
from messages import assert_names

WORDS = {"bakery": "bread cake dough oven", "garage": "car wheel motor brake", "harbour": "fish boat net sailor"}

FAILING = """
class Failing:
    def fit(self, X, y):
        raise ValueError("no room")

    def predict(self, X):
        return X
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, warm):
    """Return a folder with a file of titles, results of two learners on it, and a model."""
    place = tmp_path_factory.mktemp("messages")
    draw = random.Random(0)
    rows = [f"{' '.join(draw.sample(WORDS[code].split(), 2))},{code}" for code in WORDS for _ in range(20)]
    write = {
        "titles.csv": ["title,code", *rows],
        "failing.py": FAILING.splitlines(),
        "other.csv": ["name,code", "bread,bakery"],
        "unknown.csv": ["title", "zebra"],
        "torn.csv": ["title,code", '"bread,bakery', "boat,harbour"],
        "empty.csv": [],
        "more.csv": ["title,code", "bread,"],
        "twice.csv": ["title,code,class_1", "bread,bakery,bakery"],
    }
    for name, lines in write.items():
        (place / name).write_text("\n".join(lines))
    for name, command in MADE.items():
        ended = run_harness(*shlex.split(command), cwd=place, warm=warm)
        assert (place / name).is_dir(), ended.stderr
        (place / f"{name}.txt").write_text(ended.stderr)
    return place


MADE = {
    "results": "run --learners pa,ooz,failing:Failing --data titles.csv --trials 2 --out results",
    "model": "fit pa --data titles.csv --out model",
}
"""Commands by the folder that they write."""


ERRORS = {
    "no text column": ("run --learners pa --data 'titles.csv(text=titel)'", ["titel", "titles.csv", "title"]),
    "cluster": ("run --learners pa --data titles.csv --on moon", ["moon", "local:NUMBER"]),
    "unknown experiment name": ("reproduce nothing", ["nothing"]),
    "no name to reproduce": ("reproduce", ["--list"]),
    "no records": ("status model", ["model"]),
    "metric": ("rescore results --metrics zzz", ["zzz"]),
    "condition": ("table results --where colour=red", ["colour", "dataset"]),
    "no line": ("table results --where learner=zzz", ["learner=zzz"]),
    "sign": ("table results --where 'kind>tree'", ["kind"]),
    "no published file": ("table results --against nothing.csv", ["nothing.csv"]),
    "nothing published": ("table results --against published", ["results", "--against"]),
    "two tables": ("table results --ranks --matrix", ["--matrix", "--ranks"]),
    "too few to rank": ("table results --ranks", ["Failing", "3"]),
    "label": ("show results zzz", ["zzz", "ooz", "pa"]),
    "labels to compare": ("compare results results --learners pa,zzz", ["pa", "zzz"]),
    "one label to compare": ("compare results results --learners pa", ["--learners"]),
    "no curve": ("plot results --kind curve", ["--curves"]),
    "no sweep": ("plot results --kind sweep", ["--set"]),
    "no taxonomy to draw": ("plot results --kind levels", ["taxonomy"]),
    "ending of a figure": ("plot results --kind bar --out x.bmp", ["x.bmp", "svg"]),
    "nothing to show": ("page nowhere", ["nowhere"]),
    "model exists": ("fit pa --data titles.csv --out model", ["model", "--out"]),
    "nothing to fit": ("fit pa --out new", ["--data", "--from"]),
    "no option": ("fit pa --data titles.csv", ["--out"]),
    "learner twice": ("fit pa --from results --out new", ["pa", "--from"]),
    "environment": ("fit liblinear-cs --data titles.csv --out new", ["liblinear-cs"]),
    "no model": ("predict nowhere bread", ["nowhere", "harness fit"]),
    "no rows": ("predict model missing.csv", ["missing.csv"]),
    "open quote": ("predict model torn.csv", ["torn.csv", "2"]),
    "empty file": ("predict model empty.csv", ["empty.csv"]),
    "no column": ("predict model other.csv", ["other.csv", "title", "--text"]),
    "no such column": ("predict model titles.csv --text name", ["titles.csv", "name"]),
    "number of classes": ("predict model bread --top 0", ["--top", "0"]),
    "no node": ("predict model bread --backoff 0.9", ["--backoff", "--review"]),
    "no label sets": ("predict model bread --threshold 0.9", ["--threshold", "--top"]),
    "review without file": ("predict model titles.csv --review 0.9", ["--review", "--review-out"]),
    "explained file": ("predict model titles.csv --explain", ["--explain"]),
    "ending of predictions": ("predict model titles.csv --out x.bmp", ["x.bmp", ".csv"]),
    "column twice": ("predict model twice.csv", ["twice.csv", "class_1"]),
    "encoding": ("predict model titles.csv --encoding zzz", ["zzz", "utf-8"]),
    "no rows to learn": ("update model", ["--undo"]),
    "missing label": ("update model more.csv", ["more.csv", "2"]),
    "no former version": ("update model --undo", ["model"]),
    "address": ("serve model --host 192.0.2.1 --token secret", ["192.0.2.1", "--host"]),
    "unknown name": ("explain zzz", ["zzz"]),
    "name of a plugin": ("new learner 1bad", ["1bad"]),
    "folder of a plugin": ("new learner model", ["model", "--out"]),
    "no environment needed": ("env build pa", ["pa"]),
    "unknown environment": ("env remove zzz", ["zzz"]),
    "nothing to fetch": ("data fetch digits", ["digits"]),
    "grid to check": ("check pa(C=[1,2])", ["C"]),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_has_its_prefix_its_culprit_and_exit_code_2(harness, folder, snapshot, case):
    command, culprits = ERRORS[case]
    ended = harness(*shlex.split(command), cwd=folder)
    before, _, message = ended.stderr.rpartition("error: ")
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert not before or before.endswith("\n")
    assert_names(message, *culprits)
    snapshot(command.split()[0], f"error: {message}", case=f"error: {case}")


ADVICE = {
    "warning: repeated texts": ("results", "grouped:text"),
    "warning: failed trials": ("results", "--retry-failed"),
    "warning: few held-out rows": ("model", "500"),
    "warning: no similar dataset": ("suggest --data titles.csv", "similar"),
    "warning: open host": ("serve model --host 192.0.2.1", "--token"),
    "warning: no known words": ("predict model unknown.csv", "1"),
    "note: trials without ranks": ("rescore results --metrics mrr", "2"),
    "note: hidden columns": ("list learners", "--json"),
    "note: more than all classes": ("predict model bread --top 9", "--top"),
    "note: one confidence": ("predict model bread", "12"),
}


@pytest.mark.parametrize("case", ADVICE)
def test_a_warning_or_a_note_has_its_prefix(harness, folder, snapshot, case):
    command, culprit = ADVICE[case]
    prefix = case.partition(" ")[0]
    if command in MADE:
        printed = (folder / f"{command}.txt").read_text()
    else:
        printed = harness(*shlex.split(command), cwd=folder, env={"COLUMNS": "80"}).stderr
    found = [line for line in printed.splitlines() if line.startswith(prefix) and culprit in line]
    assert len(found) == 1, printed
    snapshot(MADE.get(command, command).split()[0], found, case=case)
