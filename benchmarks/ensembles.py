"""One label tree, three of them, their blend with `pa`, and `C="auto"`, in one run.

    python benchmarks/ensembles.py SOURCE... [--times 3] [--learners label-tree,blend] [--development]

sources.py describes SOURCE. Prints R1, R5, and CPU time of training and of one label as ratios to the first row of
each table: that of one tree, or of the learner at its default cost. With --development, test rows are set aside and a
fifth of the other rows judges instead, as in defaults.py.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from report import Column, Section, Table, Value
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning
from sources import Parts, name_of, read_source
from timing import cpu_seconds, take_one_thread

from harness.data.split import draw_split
from harness.syntax.split import parse_split
from harness_committee import Blend
from harness_prototype import PA
from harness_shortlist import Shortlist
from harness_svm import HSVM, SVM, CrammerSinger, LabelTree, TopDownSVM

DEPTH = 5
MOST_COMPILED_ROWS = 300
Variants = Mapping[str, tuple[Any, Mapping[str, Any]]]
AUTO = {"C": "auto"}
TABLES: dict[str, Variants] = {
    "label-tree": {
        "label-tree(trees=1)": (LabelTree, {"trees": 1}),
        "label-tree(trees=1, C=auto)": (LabelTree, {"trees": 1, **AUTO}),
        "label-tree(trees=3)": (LabelTree, {"trees": 3}),
        "label-tree(trees=3, C=auto)": (LabelTree, {"trees": 3, **AUTO}),
        "pa": (PA, {}),
        "blend": (Blend, {}),
    },
    "shortlist": {"shortlist": (Shortlist, {}), "shortlist(C=auto)": (Shortlist, AUTO)},
    "crammer-singer": {"crammer-singer": (CrammerSinger, {}), "crammer-singer(C=auto)": (CrammerSinger, AUTO)},
    "svm": {"svm": (SVM, {}), "svm(C=auto)": (SVM, AUTO)},
    "topdown-svm": {"topdown-svm": (TopDownSVM, {}), "topdown-svm(C=auto)": (TopDownSVM, AUTO)},
    "hsvm": {"hsvm": (HSVM, {}), "hsvm(C=auto)": (HSVM, AUTO)},
}
"""Each with its default cost, and with the cost chosen by the data."""
NEED_TAXONOMY = ("topdown-svm", "hsvm")
ONE_LABEL = ("crammer-singer", "hsvm")
COLUMNS = [
    Column("learner"),
    Column("R1", digits=4),
    Column("R5", digits=4),
    Column("train", "s", 3),
    Column("one label", "µs", 1),
    Column("train, ratio", digits=2),
    Column("one label, ratio", digits=2),
    Column("C"),
]


class Measured(NamedTuple):
    """Accuracy, and the CPU time of the fastest training and prediction."""

    r1: float
    r5: float
    train_seconds: float
    microseconds: float
    cost: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--times", type=int, default=3, help="runs with other seeds; R1 is their mean, times the least")
    parser.add_argument("--learners", default=",".join(TABLES), help="default: %(default)s")
    parser.add_argument("--development", action="store_true", help="judge on a fifth of the training rows")
    options = parser.parse_args()
    take_one_thread()
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    for source in options.sources:
        parts = read_source(source)
        if options.development:
            parts = set_aside(parts)
        for table in options.learners.split(","):
            if suits(table, parts):
                print("\n".join(compare(f"`{name_of(source)}`: {table}", TABLES[table], parts, options.times).render()))


def set_aside(parts: Parts) -> Parts:
    """Return the training rows alone, a fifth of them as test rows."""
    train, judging = draw_split(parse_split("holdout:0.2"), parts.X.shape[0], 0, {})
    return Parts(parts.X[train], parts.y[train], parts.X[judging], parts.y[judging], parts.taxonomy)


def suits(table: str, parts: Parts) -> bool:
    """Return whether the learners of a table take these rows."""
    if table in NEED_TAXONOMY and parts.taxonomy is None:
        return False
    return not (table in ONE_LABEL and issparse(parts.y))


def compare(title: str, variants: Variants, parts: Parts, times: int) -> Section:
    """Measure all variants on the same rows; ratios are to the first one."""
    found = {name: measure(kind, params, parts, times) for name, (kind, params) in variants.items()}
    first = next(iter(found.values()))
    rows: list[list[Value]] = []
    for name, each in found.items():
        ratios = [each.train_seconds / first.train_seconds, each.microseconds / first.microseconds]
        rows.append([name, each.r1, each.r5, each.train_seconds, each.microseconds, *ratios, each.cost])
    classes = parts.y.shape[1] if issparse(parts.y) else np.unique(parts.y).size
    return Section(title, [Table(COLUMNS, rows)], f"{parts.X.shape[0]:,} training rows, {classes:,} classes.")


def measure(kind: Any, params: Mapping[str, Any], parts: Parts, times: int) -> Measured:
    """Train with several seeds, after a training on a few rows that compiles."""
    given = {"taxonomy": parts.taxonomy} if kind in (HSVM, TopDownSVM) else {}
    few = parts.X[:MOST_COMPILED_ROWS]
    kind(**params).fit(few, parts.y[:MOST_COMPILED_ROWS], **given).predict(few[:2])
    recalls, trainings, predictions, costs = [], [], [], set()
    for seed in range(times):
        learner = kind(**params, random_state=seed)
        trainings.append(cpu_seconds(fit(learner, parts, given)))
        predictions.append(cpu_seconds(partial(learner.predict, parts.X_test)))
        recalls.append(recall(learner, parts))
        costs.add(getattr(learner, "C_", None))
    r1, r5 = np.mean(recalls, axis=0).tolist()
    used = ", ".join(f"{cost:g}" for cost in sorted(cost for cost in costs if cost is not None))
    return Measured(r1, r5, min(trainings), min(predictions) / parts.X_test.shape[0] * 1e6, used)


def fit(learner: Any, parts: Parts, given: Mapping[str, Any]) -> Callable[[], object]:
    return partial(learner.fit, parts.X, parts.y, **given)


def recall(learner: Any, parts: Parts) -> tuple[float, float]:
    """Return R1 and R5."""
    ranks = learner.rank(parts.X_test, DEPTH)
    classes = np.where(ranks >= 0, learner.classes_[np.maximum(ranks, 0)], -1)
    if issparse(parts.y_test):
        marks = csr_array(parts.y_test).toarray()
        hits = np.take_along_axis(marks, np.maximum(classes, 0), axis=1).astype(bool) & (classes >= 0)
    else:
        hits = (classes == parts.y_test[:, np.newaxis]) & (classes >= 0)
    return float(hits[:, 0].mean()), float(hits.any(axis=1).mean())


if __name__ == "__main__":
    main()
