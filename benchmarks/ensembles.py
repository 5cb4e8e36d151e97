"""One label tree, three of them, their blend with `pa`, and `C="auto"`, in one run; or built-in learners beside peers.

    python benchmarks/ensembles.py SOURCE... [--times 3] [--learners label-tree,svm] [--development]
    python benchmarks/ensembles.py SOURCE... --peers omikuji-bonsai,omikuji-parabel [--representations "words;chars"]

sources.py describes SOURCE. Prints R1, R5, and CPU time of training and of one label as ratios to the first row of
each table: that of one tree, or of the learner at its default cost. With --development, test rows are set aside and a
fifth of the other rows judges instead, as in defaults.py.

With --peers, the table has built-in learners and external ones in each representation. Differences of R1 and R5 are to
the highest value of an external learner, and ratios of time to the external learner with the highest R1. All learners
rank five classes of each row. The external learners run in the environments that `harness env build` makes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from label_trees import Measured as Ranking
from label_trees import fit as fit_ours
from label_trees import judge, measure_peer, rank_classes
from label_trees import measure as measure_ranking
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
OURS: Variants = {
    "shortlist": (Shortlist, {}),
    "label-tree": (LabelTree, {}),
    "label-tree(fanout=2)": (LabelTree, {"fanout": 2}),
    "label-tree(fanout=64, C=1)": (LabelTree, {"fanout": 64, "C": 1.0}),
    "pa": (PA, {}),
    "crammer-singer": (CrammerSinger, {}),
    "blend(label-tree(trees=1, fanout=2), pa(passes=5))": (
        Blend,
        {"learners": (LabelTree(trees=1, fanout=2), PA(passes=5))},
    ),
    "blend": (Blend, {}),
}
"""Built-in learners beside peers. Their parameters were chosen on development rows."""
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
PEER_COLUMNS = [
    Column("learner"),
    Column("representation"),
    Column("train", "s", 2),
    Column("rank a row", "µs", 1),
    Column("R1", digits=4),
    Column("R5", digits=4),
    Column("R1 - best peer", "points", 2),
    Column("R5 - best peer", "points", 2),
    Column("train / best peer", digits=2),
    Column("rank / best peer", digits=3),
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
    parser.add_argument("--peers", help="compare with these external learners instead")
    parser.add_argument("--ours", default=";".join(OURS), help="built-in learners beside peers, default: %(default)s")
    parser.add_argument("--representations", help="separated by ;, default: tfidf")
    parser.add_argument("--split", help="as in harness run, default: the first given one or holdout:0.2")
    options = parser.parse_args()
    take_one_thread()
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    for source in options.sources:
        views = read_views(source, options)
        if options.peers:
            print("\n".join(compare_peers(source, views, options).render()), flush=True)
            continue
        for view, parts in views.items():
            for table in options.learners.split(","):
                if suits(table, parts):
                    title = f"`{name_of(source)}`{view and f', {view}'}: {table}"
                    print("\n".join(compare(title, TABLES[table], parts, options.times).render()))


def read_views(source: str, options: argparse.Namespace) -> dict[str, Parts]:
    """Return the rows of a source in each representation."""
    wanted = options.representations.split(";") if options.representations else [""]
    views = {view: read_source(source, view or None, options.split) for view in wanted}
    return {view: set_aside(parts) for view, parts in views.items()} if options.development else views


def compare_peers(source: str, views: Mapping[str, Parts], options: argparse.Namespace) -> Section:
    """Measure built-in and external learners in each representation."""
    ours, theirs = {}, {}
    for view, parts in views.items():
        for name in options.ours.split(";"):
            if not (name in ONE_LABEL and issparse(parts.y)):
                ours[name, view] = measure_ours(name, parts, options.times)
        for peer in options.peers.split(","):
            theirs[peer, view] = judge(parts, *measure_peer(parts, options.times, peer, {}))
    first = max(theirs.values(), key=lambda found: found.r1)
    r5 = max(found.r5 for found in theirs.values())
    rows: list[list[Value]] = []
    for (name, view), found in (ours | theirs).items():
        points = [100 * (found.r1 - first.r1), 100 * (found.r5 - r5)]
        ratios = [found.train_seconds / first.train_seconds, found.rank_microseconds / first.rank_microseconds]
        rows.append([name, view or "tfidf", *found, *points, *ratios])
    parts = next(iter(views.values()))
    classes = parts.y.shape[1] if issparse(parts.y) else np.unique(parts.y).size
    note = f"{parts.X.shape[0]:,} training rows, {parts.X_test.shape[0]:,} test rows, {classes:,} classes."
    return Section(f"`{name_of(source)}`", [Table(PEER_COLUMNS, rows)], note)


def measure_ours(name: str, parts: Parts, times: int) -> Ranking:
    """Train a built-in learner, after a training on a few rows that compiles."""
    kind, params = OURS[name]
    kind(**params).fit(parts.X[:MOST_COMPILED_ROWS], parts.y[:MOST_COMPILED_ROWS]).rank(parts.X[:2], DEPTH)
    return measure_ranking(
        parts, times, partial(fit_ours, kind, dict(params), parts), partial(rank_classes, X=parts.X_test)
    )


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
