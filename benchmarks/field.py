"""What `harness suggest` goes by, drawn from results/field: a line for each learner and data set, means over trials.

Who failed has a line without numbers. Parameters are those that the first trial chose.

    python benchmarks/field.py

Needs the data sets at hand, for how many rows, classes and letters they have. Times are processor time.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from harness.api.preparing import preparer
from harness.api.session import Session
from harness.api.suggesting import SEVERAL, facts_of
from harness.choosing import Facts
from harness.experiment.dataset_ref import DatasetRef
from harness.experiment.resolve import resolve_dataset
from harness.expression import parse
from harness.groups import Line, group_records
from harness.label import plain_label
from harness.record import Record
from harness.store import read_records
from harness.trials.trial import REPRESENTATION

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "field"
MEASURED = ROOT / "plugins" / "harness_papers" / "measured" / "field.csv"
COLUMNS = (
    *("dataset", "rows", "classes", "features_a_row", "letters", "labels"),
    *("learner", "expression", "r1", "train_seconds", "answer_seconds"),
)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    session = Session()
    lines = group_records(read_records(RESULTS))
    known: dict[str, Facts] = {}
    for line in lines:
        record = line.records[0]
        if record.dataset not in known:
            ref = DatasetRef(record.dataset_source, plain_label(record.dataset), params=record.dataset_params)
            known[record.dataset] = facts_of(preparer(session)(resolve_dataset(ref, session.catalog)))
    MEASURED.parent.mkdir(exist_ok=True)
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for line in lines:
            rows.writerow(row_of(line, known[line.dataset]))
    print(MEASURED.relative_to(ROOT))


def row_of(line: Line, facts: Facts) -> list[object]:
    """A learner on a data set."""
    told = [facts.rows, facts.classes, _written(facts.features_a_row), _written(facts.letters)]
    return [line.dataset, *told, SEVERAL if facts.multilabel else "one", *fared(line)]


def fared(line: Line) -> list[str]:
    """What the records alone say: the learner, as tuning set it up, R1, processor time of training and of an answer."""
    records = line.finished
    if not records:
        return [line.label, line.label, "", "", ""]
    r1 = fmean(record.scores["r1"] or 0.0 for record in records)
    training = fmean(record.fit_cpu_seconds or 0.0 for record in records)
    answering = fmean((record.predict_cpu_seconds or 0.0) / (record.n_test or 1) for record in records)
    return [line.label, _set_up(records[0]), f"{r1:.4f}", f"{training:.4g}", f"{answering:.4g}"]


def _set_up(record: Record) -> str:
    """The learner with the parameters that validation chose; what it sees of texts is for each user's own to decide."""
    chosen = {name: value for name, value in record.tuned.items() if name != REPRESENTATION}
    plain = parse(record.label)
    return str(replace(plain, params={**plain.params, **chosen}))


def _written(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


if __name__ == "__main__":
    main()
