"""Learners with many classes: training time, time for one label and for ten, R1 and R5.

    python benchmarks/many_classes.py SOURCE... [--learners "pa;lomtree"] [--rows 5000] [--growth 1000,1000000]

sources.py describes SOURCE: syn12k.npz, noc.csv, "zipf(rows=500000, classes=100000, features=300000)". --growth adds
pages of `directory` with these numbers of classes, two pages a class: `ff` with a million classes takes 2 minutes of
CPU time and 5 GB. Writes results/benchmarks/many-classes, one section per source, and one with the growth of the costs;
learners that are not chosen keep their rows. One thread, CPU time.
"""

from __future__ import annotations

import argparse
import re
import resource
import time
from typing import Any

import numpy as np
from report import Column, Section, Table, Value, read_sections, save_section
from sources import Parts, name_of, read_source
from timing import take_one_thread

from harness.host.introspection import import_target

DEPTH = 10
GROWTH = "Growth with the classes"
GROWN = re.compile(r"directory\(rows=\d+, classes=(\d+), features=300000, words=50\)")
PA, LOMTREE = "harness_prototype.pa:PA", "harness_tree.lomtree:LOMtree"
SET_UPS: dict[str, tuple[str, dict[str, Any]]] = {
    "ff": ("harness_index.ff:FF", {}),
    "pa, one pass": (PA, {"passes": 1}),
    "pa": (PA, {}),
    "ooz, one pass": ("harness_index.ooz:OOZ", {"passes": 1}),
    "lomtree, one pass": (LOMTREE, {"passes": 1}),
    "lomtree, three passes": (LOMTREE, {"passes": 3}),
    "lomtree": (LOMTREE, {}),
    "lomtree, one pass, by leaves": (LOMTREE, {"passes": 1, "ranking": "leaves"}),
    "shortlist": ("harness_shortlist.shortlist:Shortlist", {}),
    "label-tree": ("harness_svm.label_tree:LabelTree", {}),
}
"""Learners by their name in the table, with parameters that differ from the defaults."""
COLUMNS = [
    Column("learner"),
    Column("train", "s", 1),
    Column("one label", "µs", 1),
    Column("ten labels", "µs", 1),
    Column("ten / one", digits=1),
    Column("R1", digits=3),
    Column("R5", digits=3),
    Column("weights", "M", 1),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--learners", default="ff;pa, one pass;lomtree, one pass", help="names with ; between them")
    parser.add_argument("--rows", type=int, default=5_000, help="test rows to predict at most")
    parser.add_argument("--growth", default="", help="numbers of classes of `directory`, with , between them")
    args = parser.parse_args()
    take_one_thread()
    grown = [source_of(int(classes)) for classes in args.growth.split(",") if classes]
    for source in [*args.sources, *grown]:
        parts = read_source(source)
        for name in args.learners.split(";"):
            save_section("many-classes", add_learner(f"`{name_of(source)}`", name.strip(), parts, args.rows))
    if grown:
        save_section("many-classes", describe_growth())


def source_of(classes: int) -> str:
    """Return the pages of `directory` with this number of classes."""
    return f"directory(rows={2 * classes}, classes={classes}, features=300000, words=50)"


def describe_growth() -> Section:
    """Return the exponents of the costs of a label, from the saved sections of `directory`; three sizes at least."""
    costs: dict[str, list[tuple[int, float, float]]] = {}
    for section in read_sections("many-classes"):
        if found := GROWN.search(section.title):
            for name, _, one, ten, *_ in section.tables[0].rows:
                costs.setdefault(name, []).append((int(found[1]), one, ten))
    rows: list[list[Value]] = []
    for name, points in costs.items():
        if len(points) >= 3:
            classes, one, ten = np.array(sorted(points)).T
            rows.append([name, f"{classes[0]:,.0f} to {classes[-1]:,.0f}", slope(classes, one), slope(classes, ten)])
    columns = [Column("learner"), Column("classes"), Column("one label", digits=2), Column("ten labels", digits=2)]
    note = "Exponents: 0 is a cost that is independent of the number of classes K, 0.5 grows like the root of K."
    return Section(GROWTH, [Table(columns, rows)], note)


def slope(classes: np.ndarray, costs: np.ndarray) -> float:
    """Return the slope of a line through the logarithms."""
    return float(np.polyfit(np.log(classes), np.log(costs), 1)[0])


def add_learner(title: str, name: str, parts: Parts, most_rows: int) -> Section:
    """Measure a learner; return the section of its source with the new row."""
    rows = {row[0]: row for s in read_sections("many-classes") if s.title == title for row in s.tables[0].rows}
    rows[name] = measure(name, parts, most_rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    note = (
        f"{parts.X.shape[0]:,} training rows, {parts.X.nnz / parts.X.shape[0]:.0f} non-zeros each, "
        f"{int(parts.y.max()) + 1:,} classes; {min(parts.X_test.shape[0], most_rows):,} test rows. "
        f"Peak memory {peak / 1e9:.1f} GB."
    )
    return Section(title, [Table(COLUMNS, list(rows.values()))], note)


def measure(name: str, parts: Parts, most_rows: int) -> list[Value]:
    """Train a learner, predict one label and rank ten."""
    target, params = SET_UPS[name]
    kind = import_target(target)
    some = np.argsort(parts.y)[-100:]  # the highest class numbers select the code for many classes
    kind(**params).fit(parts.X[some], parts.y[some]).rank(parts.X[some], DEPTH)  # compiles
    begun = time.process_time()
    learner = kind(random_state=0, **params).fit(parts.X, parts.y)
    train_seconds = time.process_time() - begun
    rows, truth = parts.X_test[:most_rows], parts.y_test[:most_rows]
    learner.rank(rows[:10], DEPTH)  # the first ranking lays out the weights
    one, _ = microseconds(lambda: learner.predict(rows), rows.shape[0])
    ten, ranks = microseconds(lambda: learner.rank(rows, DEPTH), rows.shape[0])
    hit = learner.classes_[ranks] == truth[:, None]
    r1, r5 = float(hit[:, 0].mean()), float(hit[:, :5].any(axis=1).mean())
    return [name, train_seconds, one, ten, ten / one, r1, r5, learner.index_size_ / 1e6]


def microseconds(call: Any, rows: int) -> tuple[float, np.ndarray]:
    """Return microseconds per row of the faster of two calls, and its result."""
    spans = []
    for _ in range(2):
        begun = time.process_time()
        found = call()
        spans.append(time.process_time() - begun)
    return min(spans) / rows * 1e6, np.asarray(found)


if __name__ == "__main__":
    main()
