"""Training speed of the support vector machines beside LIBLINEAR, in one run.

    harness data import newsgroups FILE
    python benchmarks/svm_speed.py [--parts news,titles,zipf,compile,large] [--classes 1000 --rows 40000]
        [--titles FILE...]

FILE is a CSV of short texts with their classes; a tenth of its rows is held out. Writes results/benchmarks/svm-speed.
One thread and CPU time, except for the speed-up by two threads: it is in wall time and needs an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from report import Column, Section, Table, Value, facts, measure_sections
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC
from sources import Parts, read_titles, represented
from timing import import_seconds, take_one_thread

from harness.data.split import draw_split
from harness.host.introspection import import_target
from harness.sdk.kernels.edges import as_edges
from harness.sdk.outcomes import class_paths
from harness.syntax.split import parse_split

COMPILED = (
    *("harness_svm.ovr", "harness_svm.crammer_singer", "harness_svm.hierarchical", "harness_svm.topdown_svm"),
    *("harness_svm.topdown_perceptron", "harness_svm.label_tree", "harness_shortlist.shortlist"),
)
BESIDE = [
    Column("train", "s", 2),
    Column("objective", digits=2),
    Column("R1", digits=4),
    Column("LIBLINEAR: train", "s", 2),
    Column("LIBLINEAR: objective", digits=2),
    Column("LIBLINEAR: R1", digits=4),
    Column("LIBLINEAR / ours", digits=2),
    Column("goal"),
]
TOL = Column("tol", digits=None)
NEWS_COLUMNS = [Column("learner"), TOL, *BESIDE]
NEWS_TREE_COLUMNS = [
    TOL,
    Column("hsvm: train", "s", 2),
    Column("R1", digits=4),
    Column("hsvm / crammer-singer", digits=1),
]
TITLES_COLUMNS = [Column("file"), TOL, Column("rows"), Column("classes"), *BESIDE]
TREE_COLUMNS = [
    Column("file"),
    TOL,
    Column("hsvm: train", "s", 2),
    Column("R1", digits=4),
    Column("hsvm / crammer-singer", digits=1),
    Column("goal"),
    Column("crammer-singer, equally hard: train", "s", 2),
    Column("hsvm / equally hard", digits=2),
]
ZIPF_COLUMNS = [
    Column("learner"),
    TOL,
    Column("train", "s", 1),
    Column("R1", digits=4),
    Column("LIBLINEAR: train", "s", 1),
    Column("LIBLINEAR: R1", digits=4),
    Column("LIBLINEAR / ours", digits=2),
    Column("goal"),
]
COMPILE_COLUMNS = [Column("module"), Column("cold import", "s", 1), Column("goal", "s")]
LARGE_COLUMNS = [
    Column("learner"),
    Column("train", "min", 1),
    Column("peak memory", "GiB", 1),
    Column("goal", "GB"),
    Column("non-zero weights", "M"),
    Column("threshold", digits=2),
    Column("R1", digits=3),
]


class Timing(NamedTuple):
    """Times, objective and R1 of one fit."""

    cpu: float
    wall: float
    objective: float
    r1: float


LARGE = (30_000, 12_000, 350_000)
LARGE_CHILD = """
import json, sys, time
from harness.host.introspection import import_target
from harness_representations.weights import TfIdf
from harness.syntax.split import parse_split
from harness.data.split import draw_split
from harness_synthetic.zipf import make_zipf
rows, classes, features = map(int, sys.argv[2:])
data = make_zipf(rows=rows, classes=classes, features=features)
train, test = draw_split(parse_split("holdout:0.2"), rows, 0, {})
weights = TfIdf().fit(data.X[train])
X, X_test = weights.transform(data.X[train]), weights.transform(data.X[test])
learner = import_target("harness_svm." + sys.argv[1])(C=1.0, random_state=0)
extra = {"taxonomy": data.taxonomy} if hasattr(learner, "taxonomy") else {}
begun = time.perf_counter()
learner.fit(X, data.y[train], **extra)
seconds = time.perf_counter() - begun
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
print(json.dumps({"seconds": seconds, "peak_bytes": peak, "weights": learner.index_size_, "prune": learner.prune_,
                  "r1": float((learner.predict(X_test) == data.y[test]).mean())}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="news,zipf,compile,large")
    parser.add_argument("--titles", type=Path, nargs="*", default=[], help="CSV files for the part titles")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--times", type=int, default=3, help="fits of each learner; the fastest counts")
    chosen = parser.parse_args()
    take_one_thread()
    parts: dict[str, Callable[[], Section]] = {
        "news": lambda: measure_news(chosen.times),
        "titles": lambda: measure_titles(chosen.titles, chosen.times),
        "zipf": lambda: measure_zipf(chosen.rows, chosen.classes),
        "compile": measure_compiling,
        "large": measure_large,
    }
    measure_sections("svm-speed", [parts[name] for name in chosen.parts.split(",")])


# -- parts -----------------------------------------------------------------------------------------------------------


def measure_news(times: int) -> Section:
    """Train one-vs-rest, Crammer-Singer and hierarchical SVMs on 20 newsgroups, with two tolerances."""
    from harness_text.newsgroups import load_newsgroups

    parts = prepare(load_newsgroups(headers="keep"), "bydate")
    rows, trees = [], []
    for tol in (0.1, 0.01):
        flat = best(own("ovr:SVM", tol), parts, times, ovr_loss)
        rows.append(["svm", tol, *beside(flat, best(liblinear(tol), parts, times, ovr_loss), 1)])
        joint = best(own("crammer_singer:CrammerSinger", tol), parts, times, all_loss)
        rows.append(["crammer-singer", tol, *beside(joint, best(singer(tol), parts, times, all_loss), 2)])
        tree = best(own("hierarchical:HSVM", tol), parts, times, None)
        trees.append([tol, tree.cpu, tree.r1, tree.cpu / joint.cpu])
    tables = [Table(NEWS_COLUMNS, rows), Table(NEWS_TREE_COLUMNS, trees), two_threads(parts, times)]
    return Section("20 newsgroups by date", tables, f"{shape(parts)} The best of {times} fits each.")


def measure_titles(files: list[Path], times: int) -> Section:
    """Train the Crammer-Singer and the hierarchical SVM on short texts."""
    rows, trees = [], []
    for file in files:
        parts = read_titles(file)
        name = f"`{file.name.partition('.')[0]}`"
        for tol in (0.1, 0.01):
            ours = best(own("crammer_singer:CrammerSinger", tol), parts, times, all_loss)
            theirs = best(singer(tol), parts, times, all_loss)
            rows.append([name, tol, len(parts.y), int(parts.y.max()) + 1, *beside(ours, theirs, 2)])
            trees.append([name, tol, *beside_flat(parts, tol, times, ours)])
    note = f"`crammer-singer`, then `hsvm`. The best of {times} fits each."
    return Section("Short texts", [Table(TITLES_COLUMNS, rows), Table(TREE_COLUMNS, trees)], note)


def beside_flat(parts: Parts, tol: float, times: int, flat: Timing) -> list[Value]:
    """Time hsvm beside Crammer-Singer, and beside Crammer-Singer on an equally hard problem.

    In hsvm a mistake costs up to the depth D of the taxonomy. Crammer-Singer with C=D and tol/D is about as hard.
    """
    tree = best(own("hierarchical:HSVM", tol), parts, times, None)
    depth = class_paths(parts.taxonomy).shape[1]
    hard = best(own("crammer_singer:CrammerSinger", tol / depth, float(depth)), parts, times, None)
    return [tree.cpu, tree.r1, tree.cpu / flat.cpu, 2, hard.cpu, tree.cpu / hard.cpu]


def measure_zipf(n_rows: int, classes: int) -> Section:
    """Train the one-vs-rest SVM with many classes."""
    from harness_synthetic.zipf import make_zipf

    parts = prepare(make_zipf(rows=n_rows, classes=classes), "")
    ours, theirs = best(own("ovr:SVM", 0.1), parts, 1, None), best(liblinear(0.1), parts, 1, None)
    row = ["svm", 0.1, ours.cpu, ours.r1, theirs.cpu, theirs.r1, theirs.cpu / ours.cpu, 2]
    return Section(f"`zipf`, {classes:,} classes, {n_rows:,} rows", [Table(ZIPF_COLUMNS, [row])], shape(parts))


def two_threads(parts: Parts, times: int) -> Table:
    """Return the speed-up of `svm` by a second thread, in wall time."""
    spans = []
    for threads in (1, 2):
        os.environ["OMP_NUM_THREADS"] = str(threads)
        spans.append(best(own("ovr:SVM", 0.01), parts, times, None).wall)
    os.environ["OMP_NUM_THREADS"] = "1"
    return facts(("speed-up of `svm` by a second thread", spans[0] / spans[1], ""), ("goal", 1.6, ""))


def measure_compiling() -> Section:
    """Time the import of each learner with an empty kernel cache."""
    rows = []
    base = import_seconds("sklearn.base, numba, scipy.sparse", {})
    with tempfile.TemporaryDirectory() as folder:
        for name in COMPILED:
            cold = import_seconds(name, {"NUMBA_CACHE_DIR": f"{folder}/{name}"}) - base
            rows.append([f"`{name}`", cold, 10])
    return Section("Compiling", [Table(COMPILE_COLUMNS, rows)], "Beyond importing scikit-learn and numba.")


def measure_large() -> Section:
    """Measure peak memory where a dense weight matrix would take 17 to 34 GB, each learner in its own process."""
    n_rows, classes, features = LARGE
    rows = []
    for name, target in (
        ("svm", "ovr:SVM"),
        ("crammer-singer", "crammer_singer:CrammerSinger"),
        ("hsvm", "hierarchical:HSVM"),
    ):
        command = [sys.executable, "-c", LARGE_CHILD, target, *map(str, LARGE)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(name, found, flush=True)
        size = [found["peak_bytes"] / 2**30, 16, found["weights"] / 1e6, found["prune"]]
        rows.append([name, found["seconds"] / 60, *size, found["r1"]])
    note = (
        f"`zipf`: {n_rows:,} rows, {classes:,} classes, {features:,} features; tol 0.1, one thread. Peak memory "
        "includes the data. Weights up to the threshold are not stored."
    )
    return Section("Classes and features of the LSHTC challenge", [Table(LARGE_COLUMNS, rows)], note)


# -- learners --------------------------------------------------------------------------------------------------------


def own(target: str, tol: float, C: float = 1.0) -> Callable[[], Any]:
    return lambda: import_target(f"harness_svm.{target}")(C=C, tol=tol, max_sweeps=1000, random_state=0)


def liblinear(tol: float) -> Callable[[], Any]:
    return lambda: LinearSVC(dual=True, tol=tol, random_state=0)


def singer(tol: float) -> Callable[[], Any]:
    return lambda: LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, tol=tol, max_iter=10_000, random_state=0
    )


def best(build: Callable[[], Any], parts: Parts, times: int, objective: Callable[..., float] | None) -> Timing:
    """Return the fastest of several fits, which other load distorts least."""
    learner = build()
    theirs = isinstance(learner, LinearSVC)
    X = parts.X.astype(np.float64) if theirs else parts.X  # the type that each takes without a copy
    extra = {"taxonomy": parts.taxonomy} if hasattr(learner, "taxonomy") else {}
    if not theirs:
        learner.fit(X[:50], parts.y[:50], **extra)  # compiles
    spans = []
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        learner = build().fit(X, parts.y, **extra)
        spans.append((time.process_time() - cpu, time.perf_counter() - wall))
    r1 = float((learner.predict(parts.X_test) == parts.y_test).mean())
    value = float("nan")
    if objective is not None:
        W = learner.coef_.T if theirs else matrix_of(learner)
        value = objective(parts, W, getattr(learner, "intercept_", getattr(learner, "base_", None)))
    timing = Timing(min(span[0] for span in spans), min(span[1] for span in spans), value, r1)
    print(type(learner).__name__, timing, flush=True)
    return timing


def matrix_of(learner: Any) -> np.ndarray:
    indptr, classes, weights = as_edges(learner.rows_)
    found = (weights.astype(np.float64), classes.astype(np.int64), indptr)
    return np.asarray(csr_array(found, shape=(learner.n_features_in_, learner.classes_.size)).toarray())


def ovr_loss(parts: Parts, W: np.ndarray, bias: np.ndarray) -> float:
    """Return the sum of the objectives of all classes: C = 1, squared hinge."""
    sign = np.where(parts.y[:, np.newaxis] == np.arange(W.shape[1]), 1, -1)
    losses = np.maximum(0, 1 - sign * (parts.X @ W + bias)) ** 2
    return float(((W**2).sum() + (bias**2).sum()) / 2 + losses.sum())


def all_loss(parts: Parts, W: np.ndarray, _: Any) -> float:
    """Return the Crammer-Singer objective with C = 1."""
    scores = parts.X @ W
    lead = scores[np.arange(len(parts.y)), parts.y][:, np.newaxis] - scores
    wrong = np.where(np.arange(W.shape[1]) == parts.y[:, np.newaxis], 0, 1 - lead)
    return float((W**2).sum() / 2 + np.maximum(0, wrong.max(axis=1)).sum())


# -- data and tables -------------------------------------------------------------------------------------------------


def prepare(data: Any, split: str) -> Parts:
    train, test = data.splits[split] if split else draw_split(parse_split("holdout:0.2"), data.rows, 0, {})
    train = np.random.default_rng(0).permutation(train)
    X_train, X_test = represented(data, "tfidf", train, test)
    return Parts(X_train, data.y[train], X_test, data.y[test], data.taxonomy)


def shape(parts: Parts) -> str:
    per_row = parts.X.nnz / parts.X.shape[0]
    return (
        f"{parts.X.shape[0]:,} training and {parts.X_test.shape[0]:,} test rows, {per_row:.0f} non-zeros per row, "
        f"{int(parts.y.max()) + 1:,} classes."
    )


def beside(ours: Timing, theirs: Timing, goal: int) -> list[Value]:
    """Return the cells of a comparison with LIBLINEAR."""
    cells: list[Value] = [ours.cpu, ours.objective, ours.r1, theirs.cpu, theirs.objective, theirs.r1]
    return [*cells, theirs.cpu / ours.cpu, goal]


if __name__ == "__main__":
    main()
