"""Speed of the tree learners: a pass beside Vowpal Wabbit's, prediction by number of classes, compiling.

    pip install -r benchmarks/requirements-peers.txt
    harness data import newsgroups FILE
    python benchmarks/tree_speed.py [--parts news,zipf,growth,compile]

Writes results/benchmarks/tree-speed. One thread (Vowpal Wabbit reads with a second one).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from flat_speed import Parts, prepare, shape, write_vw
from report import Column, Section, Table, facts, measure_sections
from scipy.sparse import csr_array
from sources import represented
from timing import best_seconds, import_seconds, take_one_thread

from harness.host.introspection import import_target
from harness_representations.weights import Binary

PASSES = 6
SIZES = (100, 1_000, 10_000, 100_000)
FEATURES, WORDS = 5_000, 24
PASS_COLUMNS = [
    Column("learner"),
    Column("a pass, wall", "s", 3),
    Column("a pass, CPU", "s", 3),
    Column("predict a row", "µs", 1),
    Column("R1", digits=3),
    Column("VW / lomtree, wall", digits=1),
    Column("VW / lomtree, CPU", digits=1),
]
GROWTH_COLUMNS = [
    Column("classes"),
    Column("log2", digits=1),
    Column("lomtree", "µs", 2),
    Column("decisions", digits=1),
    Column("R1", digits=3),
    Column("oaa", "µs", 1),
]
COMPILE_COLUMNS = [
    Column("learner"),
    Column("cold import", "s", 1),
    Column("kernels of harness.sdk", "s", 1),
    Column("goal", "s"),
]


class Timing(NamedTuple):
    """Times of one learner: seconds of each pass after the first, CPU seconds of the predictions, and R1."""

    name: str
    pass_seconds: float
    pass_cpu_seconds: float
    predict_seconds: float
    r1: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="news,zipf,growth,compile", help="default: %(default)s")
    chosen = parser.parse_args()
    take_one_thread()
    parts: dict[str, Callable[[], Section]] = {
        "news": measure_news,
        "zipf": measure_zipf,
        "growth": measure_growth,
        "compile": measure_compiling,
    }
    measure_sections("tree-speed", [parts[name] for name in chosen.parts.split(",")])


# -- a pass beside Vowpal Wabbit ------------------------------------------------------------------------------------


def measure_news() -> Section:
    data = import_target("harness_text.newsgroups:load_newsgroups")(headers="keep")
    train, test = data.splits["bydate"]
    return beside_vowpal_wabbit("A pass on 20 newsgroups, by date", Parts(*shuffled(data, train, test)))


def shuffled(data: Any, train: np.ndarray, test: np.ndarray) -> tuple[Any, ...]:
    """Represent both parts, the training rows shuffled, since Vowpal Wabbit reads them in order."""
    train = np.random.default_rng(0).permutation(train)
    X_train, X_test = represented(data, "tfidf", train, test)
    return X_train, data.y[train], X_test, data.y[test]


def measure_zipf() -> Section:
    parts = prepare(import_target("harness_synthetic.zipf:make_zipf")(), "tfidf")
    return beside_vowpal_wabbit("A pass on `zipf`, 1,000 classes", parts)


def beside_vowpal_wabbit(title: str, parts: Parts) -> Section:
    """Compare LOMtree, with K - 1 nodes and with its default, with Vowpal Wabbit under each of its losses.

    Ratios are to Vowpal Wabbit with the loss of its highest R1, or the faster one of equal losses.
    """
    budget = int(parts.y.max())
    own = [time_lomtree(f"lomtree, T = {budget:,}", parts, T=budget), time_lomtree("lomtree", parts)]
    losses = ("squared", "hinge", "logistic")
    peers = [timing for loss in losses if (timing := time_vowpal_wabbit(parts, loss)) is not None]
    best = max(peers, key=lambda timing: (timing.r1, -timing.pass_cpu_seconds), default=None)
    rows = []
    for t in [*own, *peers]:
        ratios: list[float | None] = [None, None]
        if best is not None and t not in peers:
            ratios = [best.pass_seconds / t.pass_seconds, best.pass_cpu_seconds / t.pass_cpu_seconds]
        microseconds = t.predict_seconds / parts.X_test.shape[0] * 1e6
        rows.append([t.name, t.pass_seconds, t.pass_cpu_seconds, microseconds, t.r1, *ratios])
    return Section(title, [Table(PASS_COLUMNS, rows)], f"{shape(parts)} {PASSES} passes.")


def time_lomtree(name: str, parts: Parts, **params: Any) -> Timing:
    from harness_tree import LOMtree

    def spans(passes: int) -> tuple[float, float, Any]:
        wall, cpu = time.perf_counter(), time.process_time()
        learner = LOMtree(eta=0.1, passes=passes, random_state=0, **params).fit(parts.X, parts.y)
        return time.perf_counter() - wall, time.process_time() - cpu, learner

    one, many = spans(1), spans(PASSES)
    learner = many[2]
    predict = best_seconds(lambda: learner.predict(parts.X_test))
    wall, cpu = ((many[at] - one[at]) / (PASSES - 1) for at in range(2))
    return logged(Timing(name, wall, cpu, predict, float(learner.score(parts.X_test, parts.y_test))))


def time_vowpal_wabbit(parts: Parts, loss: str) -> Timing | None:
    """Time Vowpal Wabbit's tree of the same paper from its binary cache, without parsing text."""
    try:
        import vowpalwabbit
    except ImportError:
        print("note: skip Vowpal Wabbit: pip install -r benchmarks/requirements-peers.txt", flush=True)
        return None

    def run(words: str) -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        vowpalwabbit.Workspace(f"--quiet {words}").finish()
        return time.perf_counter() - wall, time.process_time() - cpu

    with tempfile.TemporaryDirectory() as folder:
        write_vw(Path(folder) / "train", parts.X, parts.y)
        write_vw(Path(folder) / "test", parts.X_test, parts.y_test)
        write_vw(Path(folder) / "one", parts.X_test[:1], parts.y_test[:1])
        common = f"--log_multi {parts.y.max() + 1} --loss_function {loss} -b 26 --holdout_off"
        for name in ("train", "test", "one"):  # writes the caches
            run(f"{common} -t -d {folder}/{name} --cache_file {folder}/{name}.cache -k")
        fit = f"{common} -d {folder}/train --cache_file {folder}/train.cache -f {folder}/model"
        one, many = run(fit), run(f"{fit} --passes {PASSES}")
        predict = f"-t -i {folder}/model -p {folder}/answers"
        empty = run(f"{predict} -d {folder}/one --cache_file {folder}/one.cache")[1]
        span = run(f"{predict} -d {folder}/test --cache_file {folder}/test.cache")[1] - empty
        answers = np.loadtxt(f"{folder}/answers").astype(int) - 1
    wall, cpu = ((many[at] - one[at]) / (PASSES - 1) for at in range(2))
    return logged(
        Timing(f"Vowpal Wabbit --log_multi, {loss}", wall, cpu, span, float((answers == parts.y_test).mean()))
    )


def logged(timing: Timing) -> Timing:
    print(timing, flush=True)
    return timing


# -- prediction by number of classes ---------------------------------------------------------------------------------


def measure_growth() -> Section:
    """Time predictions by the number of classes, with the exponents of both learners."""
    sizes = [time_size(n_classes) for n_classes in SIZES]
    doublings, trees, flats = np.log2(SIZES), [size.tree for size in sizes], [size.flat for size in sizes]
    exponents = [float(np.polyfit(doublings, np.log2(span), 1)[0]) for span in (trees, flats)]
    rows = []
    for n, size in zip(SIZES, sizes, strict=True):
        rows.append([n, float(np.log2(n)), size.tree, size.decisions, size.r1, size.flat])
    slopes = facts(
        ("lomtree, for each doubling of the classes", float(np.polyfit(doublings, trees, 1)[0]), "µs"),
        ("lomtree, exponent of the classes", exponents[0], ""),
        ("oaa, exponent of the classes", exponents[1], ""),
    )
    note = f"Synthetic rows of {WORDS} of {FEATURES:,} words, two thirds typical of the class; balanced classes."
    return Section("Prediction by number of classes", [Table(GROWTH_COLUMNS, rows), slopes], note)


class Size(NamedTuple):
    """Microseconds per prediction of the tree and of one-against-all; decisions per row and R1 of the tree."""

    tree: float
    flat: float
    decisions: float
    r1: float


def time_size(n_classes: int) -> Size:
    from harness_tree import OAA, LOMtree

    X, y, X_test, y_test = generate(n_classes)
    tree = LOMtree(eta=0.1, passes=2, store="hashed", random_state=0).fit(X, y)
    flat = OAA(loss="squared", eta=1.0).partial_fit(X[:500], y[:500], classes=np.arange(n_classes))
    few = X_test[: max(50, 200_000 // n_classes)]
    size = Size(
        tree=best_seconds(lambda: tree.predict(X_test)) / X_test.shape[0] * 1e6,
        flat=best_seconds(lambda: flat.predict(few)) / few.shape[0] * 1e6,
        decisions=tree.edges_touched(X_test),
        r1=float(tree.score(X_test, y_test)),
    )
    print(n_classes, size, flush=True)
    return size


def generate(n_classes: int) -> tuple[csr_array, np.ndarray, csr_array, np.ndarray]:
    """Return normalised training rows, at least three per class, and 5,000 test rows."""
    rng = np.random.default_rng(n_classes)
    own = rng.integers(0, FEATURES, (n_classes, WORDS))
    parts: list[Any] = []
    for n_rows in (max(30_000, 3 * n_classes), 5_000):
        y = rng.integers(0, n_classes, n_rows)
        words = np.where(rng.random((n_rows, WORDS)) < 2 / 3, own[y], rng.integers(0, FEATURES, (n_rows, WORDS)))
        ends = np.arange(0, n_rows * WORDS + 1, WORDS)
        X = csr_array((np.ones(words.size, np.float32), words.ravel(), ends), shape=(n_rows, FEATURES))
        X.sum_duplicates()
        parts += [Binary().fit_transform(X), y]
    return parts[0], parts[1], parts[2], parts[3]


# -- compiling -------------------------------------------------------------------------------------------------------


def measure_compiling() -> Section:
    """Time the import of each learner with an empty kernel cache."""
    rows = []
    base = import_seconds("sklearn.base, numba, scipy.sparse", {})
    with tempfile.TemporaryDirectory() as folder:
        shared = import_seconds("harness.sdk", {"NUMBA_CACHE_DIR": f"{folder}/online"}) - base
        for name in ("lomtree", "random_tree", "filter_tree", "oaa"):
            cold = import_seconds(f"harness_tree.{name}", {"NUMBA_CACHE_DIR": f"{folder}/{name}"}) - base
            rows.append([name.replace("_", "-"), cold, shared, 10])
    return Section("Compiling", [Table(COMPILE_COLUMNS, rows)], "Beyond importing scikit-learn and numba.")


if __name__ == "__main__":
    main()
