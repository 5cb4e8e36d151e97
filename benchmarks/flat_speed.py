"""Speed and memory of the flat learners beside other tools, in one run, on one thread.

    pip install -r benchmarks/requirements-peers.txt
    python benchmarks/flat_speed.py [--raw DIR] [--parts scoring,news,zipf,challenge,compile,directory,many]

Writes results/benchmarks/flat-speed. `--raw` names the folder with 20newsgroups/. All times are CPU seconds; short
calls are repeated and the shortest time counts. The parts `directory` and `many` compare `pa` and `perceptron` with and
without bounds; both ways must give the same index and the same ranks, else the script stops.
"""

from __future__ import annotations

import argparse
import gc
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from report import Column, Section, Table, facts, measure_sections
from scipy.sparse import csr_array
from sources import represented
from timing import REPEATS, best_seconds, import_seconds, take_one_thread

from harness.data.split import draw_split
from harness.host.introspection import import_target
from harness.syntax.split import parse_split

PARTS = "scoring,news,zipf,challenge,compile,directory"
SPEED_COLUMNS = [
    Column("learner"),
    Column("passes"),
    Column("train", "s", 2),
    Column("rows/s per pass"),
    Column("predict a row", "µs", 1),
    Column("R1", digits=3),
]
INDEX_COLUMNS = [
    Column("learner"),
    Column("rows/s, scoring alone"),
    Column("weights"),
    Column("bytes per weight", digits=1),
    Column("with feature tables", digits=1),
]
CHALLENGE_COLUMNS = [
    Column("learner"),
    Column("one pass", "s"),
    Column("predict 35,000 rows", "s"),
    Column("R1", digits=3),
    Column("weights", "M", 1),
    Column("peak memory", "GB", 1),
]
COMPILE_COLUMNS = [Column("learner"), Column("cold import", "s", 1), Column("goal", "s")]
BOUNDS_COLUMNS = [
    Column("learner"),
    Column("bounds"),
    Column("one pass", "s"),
    Column("one label", "µs"),
    Column("five labels", "µs"),
    Column("R1", digits=3),
    Column("weights", "M", 1),
]
BOUNDED = {
    "pa": ("harness_prototype.pa:PA", {"passes": 1, "random_state": 0}),
    "perceptron": ("harness_prototype.perceptron:Perceptron", {"passes": 1, "random_state": 0}),
}
RANKED_ROWS = 400
"""Test rows that are ranked with and without bounds."""


class Parts(NamedTuple):
    """Training and test rows, represented."""

    X: csr_array
    y: np.ndarray
    X_test: csr_array
    y_test: np.ndarray


class Timing(NamedTuple):
    """Times and R1 of one learner."""

    name: str
    fit_seconds: float
    predict_seconds: float
    r1: float
    passes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raw", type=Path, help="the folder that holds 20newsgroups/")
    parser.add_argument("--parts", default=PARTS, help="default: %(default)s")
    parser.add_argument("--learners", default="pa,perceptron", help="learners of the part directory")
    parser.add_argument("--rows", type=int, default=120_000, help="rows of the part directory, a sixth for testing")
    chosen = parser.parse_args()
    take_one_thread()
    parts: dict[str, Callable[[], Section]] = {
        "scoring": measure_scoring,
        "news": lambda: measure_news(chosen.raw),
        "zipf": measure_zipf,
        "challenge": measure_challenge,
        "compile": measure_compiling,
        "directory": lambda: measure_directory(chosen.learners.split(","), chosen.rows),
        "many": measure_many,
    }
    measure_sections("flat-speed", [parts[name] for name in chosen.parts.split(",")])


# -- parts ---------------------------------------------------------------------------------------------------------


def measure_scoring() -> Section:
    """Time the scoring kernel on an index of the size of the LSHTC challenge, beside the memory bandwidth."""
    from harness.sdk.kernels.edges import Edges, as_rows, sort_by_class
    from harness.sdk.kernels.instances import as_instances
    from harness.sdk.kernels.rank import rank_by_index

    classes, features, instances, active = 12_000, 350_000, 300, 250
    rng = np.random.default_rng(0)
    frequency = np.arange(1, features + 1)
    length = np.minimum(classes, np.maximum(1, classes * 1.4 / frequency**0.68)).astype(np.int64)
    drawn = [
        np.unique(rng.choice(features, 3 * active, p=(1 / frequency) / (1 / frequency).sum())) for _ in range(instances)
    ]
    chosen = [rng.permutation(row)[:active] for row in drawn]
    name = rng.permutation(features)  # frequent features are anywhere among the others
    length = length[name]
    each = [rng.choice(classes, n, replace=False) if n > 1 else rng.integers(0, classes, 1) for n in length]
    weights = rng.random(int(length.sum()), dtype=np.float32)
    indptr = np.concatenate([[0], np.cumsum(length)])
    rows = as_rows(sort_by_class(Edges(indptr, np.concatenate(each).astype(np.uint32), weights)))  # as after fit
    place = np.argsort(name)
    indices = np.concatenate([np.sort(place[row]) for row in chosen]).astype(np.int32)
    ends = np.concatenate([[0], np.cumsum([len(row) for row in chosen])])
    X = as_instances(
        csr_array((rng.random(indices.size, dtype=np.float32), indices, ends), shape=(instances, features))
    )
    edges = int(length[indices].sum())
    memory = np.ones(300_000_000, np.float32)
    rounds = []  # kernel and bandwidth in turn, since the load may change
    for _ in range(9):
        bandwidth = memory.nbytes / best_seconds(lambda: np.max(memory))  # numpy's own vectorised maximum
        seconds = best_seconds(lambda: rank_by_index(rows, X, np.zeros(classes), 1))
        rounds.append((8 * edges / seconds / bandwidth, bandwidth))
    share, bandwidth = sorted(rounds)[len(rounds) // 2]
    rate = share * bandwidth / 8
    note = f"{classes:,} classes, {active} features per row, {edges // instances:,} weights per row, 8 bytes each."
    table = facts(
        ("weights read", rate / 1e6, "million/s"),
        ("rows scored", rate * instances / edges, "rows/s"),
        ("bandwidth used", 8 * rate / 1e9, "GB/s"),
        ("sequential read bandwidth", bandwidth / 1e9, "GB/s"),
        ("share of the bandwidth", 100 * share, "%"),
        ("share, lowest round", 100 * min(rounds)[0], "%"),
        ("share, highest round", 100 * max(rounds)[0], "%"),
        ("goal", 50, "%"),
    )
    return Section("Scoring kernel", [table], note)


def measure_news(raw: Path | None) -> Section:
    """Train and predict on 20 newsgroups beside scikit-learn and Vowpal Wabbit."""
    if raw is None:
        raise SystemExit("error: the part news needs --raw FOLDER with 20newsgroups/ in it")
    from sklearn.linear_model import SGDClassifier

    parts = prepare(import_target("harness_text.newsgroups:load_newsgroups")(source=str(raw / "20newsgroups")), "tf")
    fitted = [fit_and_time(label, import_target(t)(**p), parts, p["passes"]) for label, t, p in own_learners()]
    one_pass = {"max_iter": 1, "tol": None, "random_state": 0}
    sgd = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa2", eta0=1.0, **one_pass)
    peers = [fit_and_time("SGDClassifier, pa2", sgd, parts, 1), *fit_svms(parts)]
    return Section("20 newsgroups", [*compare(fitted, peers, parts), index_table(fitted, parts)], shape(parts))


def measure_zipf() -> Section:
    """Train and predict with a thousand classes, beside LIBLINEAR and Vowpal Wabbit."""
    parts = prepare(import_target("harness_synthetic.zipf:make_zipf")(), "tfidf")
    fitted = [fit_and_time(label, import_target(t)(**p), parts, p["passes"]) for label, t, p in own_learners()]
    return Section("`zipf`, 1,000 classes", compare(fitted, fit_svms(parts), parts), shape(parts))


def measure_challenge() -> Section:
    """Make one pass over data of the size of the LSHTC challenge, and predict 35,000 rows."""
    load = import_target("harness_synthetic.zipf:make_zipf")
    data = load(rows=155_000, classes=12_000, features=350_000, words=235, noise=0.5)
    parts = prepare(data, "tfidf", test_share=35_000 / 155_000)
    del data
    gc.collect()
    rows = []
    for label, target, params in own_learners(d=100):
        timing, learner = fit_and_time(label, import_target(target)(**{**params, "passes": 1}), parts, 1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        times = [timing.fit_seconds, timing.predict_seconds]
        rows.append([label, *times, timing.r1, learner.index_size_ / 1e6, peak / 1e9])
        del learner
        gc.collect()
    return Section("`zipf` of the size of the LSHTC challenge", [Table(CHALLENGE_COLUMNS, rows)], shape(parts))


def measure_compiling() -> Section:
    """Time imports with an empty kernel cache, each learner alone, and with a warm cache, all together."""
    rows = []
    base = import_seconds("sklearn.base, numba, scipy.sparse", {})
    with tempfile.TemporaryDirectory() as folder:
        for label, target, _ in own_learners():
            cold = import_seconds(target.partition(":")[0], {"NUMBA_CACHE_DIR": f"{folder}/{label}"}) - base
            rows.append([label, cold, 10])
        together = ", ".join(target.partition(":")[0] for _, target, _ in own_learners())
        import_seconds(together, {"NUMBA_CACHE_DIR": f"{folder}/all"})
        warm = import_seconds(together, {"NUMBA_CACHE_DIR": f"{folder}/all"}) - base
    tables = [Table(COMPILE_COLUMNS, rows), facts(("warm import of all", warm, "s"), ("goal", 1, "s"))]
    return Section("Compiling", tables, "Beyond importing scikit-learn and numba.")


def measure_directory(learners: list[str], n_rows: int) -> Section:
    """Train and rank with 12,000 classes, with bounds and without."""
    make = import_target("harness_synthetic.directory:make_directory")
    parts = prepare(make(rows=n_rows, classes=12_000, features=300_000, words=240), "tfidf", test_share=1 / 6)
    rows = []
    for label in learners:
        found = []
        for bounded in (False, True):
            with bounds(bounded):
                learner, seconds = train_bounded(label, parts)
                ranks = time_ranking(learner, parts)
            found.append((learner, ranks))
            rows.append([label, "yes" if bounded else "no", seconds, *ranking_cells(learner, ranks, parts)])
        check_same(*found)
    return Section("Bounds with 12,000 classes (`directory`)", [Table(BOUNDS_COLUMNS, rows)], shape(parts))


def measure_many() -> Section:
    """Train `pa` with bounds on 100,000 classes; rank with bounds and without."""
    data = import_target("harness_synthetic.zipf:make_zipf")(rows=500_000, classes=100_000, features=300_000)
    parts = prepare(data, "tfidf", test_share=0.1)
    del data
    learner, seconds = train_bounded("pa", parts)
    found, rows = [], []
    for bounded in (False, True):
        with bounds(bounded):
            ranks = time_ranking(learner, parts)
        found.append((learner, ranks))
        cells = ranking_cells(learner, ranks, parts)
        rows.append(["pa", "yes" if bounded else "no", seconds if bounded else None, *cells])
    check_same(*found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    tables = [Table(BOUNDS_COLUMNS, rows), facts(("peak memory", peak / 1e9, "GB"), ("goal, one pass", 300, "s"))]
    return Section("Bounds with 100,000 classes (`zipf`)", tables, shape(parts))


# -- learners and peers ----------------------------------------------------------------------------------------------


def own_learners(d: int | None = None) -> list[tuple[str, str, dict[str, Any]]]:
    """Return (label, target, parameters) of the measured learners; d is the degree limit of ooz."""
    return [
        ("pa", "harness_prototype.pa:PA", {"C": 1.0, "passes": 5, "random_state": 0}),
        ("ooz", "harness_index.ooz:OOZ", {"passes": 5, "beta": 0.1, "delta": 0.5, "d": d, "random_state": 0}),
    ]


def fit_and_time(name: str, estimator: Any, parts: Parts, passes: int) -> tuple[Timing, Any]:
    fit_seconds = best_seconds(lambda: estimator.fit(parts.X, parts.y))
    predict_seconds = best_seconds(lambda: estimator.predict(parts.X_test))
    r1 = float((estimator.predict(parts.X_test) == parts.y_test).mean())
    timing = Timing(name, fit_seconds, predict_seconds, r1, passes)
    print(timing, flush=True)
    return timing, estimator


def fit_svms(parts: Parts) -> list[tuple[Timing, Any]]:
    from sklearn.svm import LinearSVC

    singer = LinearSVC(multi_class="crammer_singer", random_state=0)
    return [
        fit_and_time("LinearSVC", LinearSVC(dual=True, random_state=0), parts, 0),
        fit_and_time("Crammer-Singer (liblinear)", singer, parts, 0),
    ]


def compare(own: list[tuple[Timing, Any]], peers: list[tuple[Timing, Any]], parts: Parts) -> list[Table]:
    """Return the tables of times and ratios. The learners predict in turn, since the load may change."""
    spans: list[list[float]] = [[] for _ in (*own, *peers)]
    for _ in range(REPEATS):
        for span, (_, estimator) in zip(spans, (*own, *peers), strict=True):
            start = time.process_time()
            estimator.predict(parts.X_test)
            span.append(time.process_time() - start)
    timings = [t._replace(predict_seconds=min(span)) for (t, _), span in zip((*own, *peers), spans, strict=True)]
    return tables(timings[: len(own)], [*timings[len(own) :], *time_vowpal_wabbit(parts)], parts)


def time_vowpal_wabbit(parts: Parts) -> list[Timing]:
    """Time one pass of Vowpal Wabbit's one-against-all from its binary cache, without parsing text."""
    try:
        import vowpalwabbit
    except ImportError:
        print("note: skip Vowpal Wabbit: pip install -r benchmarks/requirements-peers.txt", flush=True)
        return []

    def run(words: str) -> None:
        vowpalwabbit.Workspace(f"--quiet {words}").finish()

    with tempfile.TemporaryDirectory() as folder:
        for name, X, y in (("train", parts.X, parts.y), ("test", parts.X_test, parts.y_test)):
            write_vw(Path(folder) / name, X, y)
        write_vw(Path(folder) / "one", parts.X_test[:1], parts.y_test[:1])
        common = f"--oaa {parts.y.max() + 1} -b 26"
        for name in ("train", "test", "one"):  # writes the caches
            run(f"{common} -t -d {folder}/{name} --cache_file {folder}/{name}.cache -k")
        train = f"{common} -d {folder}/train --cache_file {folder}/train.cache -f {folder}/model"
        fit = best_seconds(lambda: run(train))
        predict = f"-t -i {folder}/model -p {folder}/answers"
        empty = best_seconds(lambda: run(f"{predict} -d {folder}/one --cache_file {folder}/one.cache"))
        span = best_seconds(lambda: run(f"{predict} -d {folder}/test --cache_file {folder}/test.cache")) - empty
        answers = np.loadtxt(f"{folder}/answers").astype(int) - 1
    timing = Timing("Vowpal Wabbit --oaa", fit, span, float((answers == parts.y_test).mean()), 1)
    print(timing, flush=True)
    return [timing]


def write_vw(path: Path, X: csr_array, y: np.ndarray) -> None:
    with open(path, "w") as file:
        for i in range(X.shape[0]):
            lo, hi = X.indptr[i], X.indptr[i + 1]
            words = " ".join(f"{f}:{x:.6g}" for f, x in zip(X.indices[lo:hi], X.data[lo:hi], strict=True))
            file.write(f"{y[i] + 1} | {words}\n")


# -- data and tables -------------------------------------------------------------------------------------------------


def prepare(data: Any, representation: str, test_share: float = 0.2) -> Parts:
    train, test = draw_split(parse_split(f"holdout:{test_share}"), data.rows, 0, {})
    X_train, X_test = represented(data, representation, train, test)
    return Parts(X_train, data.y[train], X_test, data.y[test])


def shape(parts: Parts) -> str:
    per_row = parts.X.nnz / parts.X.shape[0]
    return (
        f"{parts.X.shape[0]:,} training and {parts.X_test.shape[0]:,} test rows, {per_row:.0f} non-zeros per row, "
        f"{int(parts.y.max()) + 1:,} classes."
    )


def tables(own: list[Timing], peers: list[Timing], parts: Parts) -> list[Table]:
    """Return the times of all learners, and the ratios of other tools to each of ours.

    A tool that makes one pass is compared with one pass, the others with the whole fit.
    """
    rows = []
    for t in [*own, *peers]:
        rate = parts.X.shape[0] * t.passes / t.fit_seconds if t.passes else None
        microseconds = t.predict_seconds / parts.X_test.shape[0] * 1e6
        rows.append([t.name, t.passes or None, t.fit_seconds, rate, microseconds, t.r1])
    columns, ratios = [Column("other tool")], []
    for t in own:
        columns += [Column(f"train / {t.name}", digits=1), Column(f"predict / {t.name}", digits=1)]
    for peer in peers:
        cells: list[float] = []
        for t in own:
            ours = t.fit_seconds / t.passes if peer.passes == 1 else t.fit_seconds
            cells += [peer.fit_seconds / ours, peer.predict_seconds / t.predict_seconds]
        ratios.append([peer.name, *cells])
    return [Table(SPEED_COLUMNS, rows), Table(columns, ratios)]


def index_table(fitted: list[tuple[Timing, Any]], parts: Parts) -> Table:
    """Return the size of each index, and the rate of training if it only scored rows."""
    from harness.sdk.kernels.instances import as_instances
    from harness.sdk.kernels.rank import rank_by_index
    from harness.sdk.kernels.touched import rank_touched

    instances, n_classes = as_instances(parts.X), int(parts.y.max()) + 1
    table = []
    for timing, learner in fitted:
        rows, size = learner.rows_, learner.index_size_
        if learner.ranks_untouched:
            seconds = best_seconds(partial(rank_by_index, rows, instances, np.zeros(n_classes), 1))
        else:
            seconds = best_seconds(partial(rank_touched, rows, instances, np.empty(0), 1, n_classes=n_classes))
        own = (rows.classes.nbytes + rows.weights.nbytes) / size
        table.append([timing.name, parts.X.shape[0] / seconds, size, own, learner.index_bytes_ / size])
    return Table(INDEX_COLUMNS, table)


# -- bounds ----------------------------------------------------------------------------------------------------------


@contextmanager
def bounds(allowed: bool) -> Iterator[None]:
    """Allow or forbid bounds in training and ranking."""
    from harness.sdk import index
    from harness_index import many_classes
    from harness_prototype import hybrid

    held = {(hybrid, "MET_SHARE"), (many_classes, "LEAST_MET"), (index, "KNOWN_SHARE"), (index, "KNOWN_SHARE_OF_MANY")}
    before = [(module, name, getattr(module, name)) for module, name in held]
    if not allowed:
        for module, name, _ in before:
            setattr(module, name, np.inf)
    yield
    for module, name, value in before:
        setattr(module, name, value)


def train_bounded(label: str, parts: Parts) -> tuple[Any, float]:
    target, params = BOUNDED[label]
    learner = import_target(target)(**params)
    rows = np.argsort(parts.y)[-100:]
    learner.fit(parts.X[rows], parts.y[rows])  # compiles; the highest class numbers select the code for many classes
    start = time.process_time()
    learner.fit(parts.X, parts.y)
    seconds = time.process_time() - start
    print(label, seconds, flush=True)
    return learner, seconds


def time_ranking(learner: Any, parts: Parts) -> dict[int, tuple[np.ndarray, float]]:
    """Return ranks of some test rows and microseconds per row, by the number of classes."""
    found = {}
    for k in (1, 5):
        start = time.process_time()
        ranks = learner.rank(parts.X_test[:RANKED_ROWS], k)
        found[k] = ranks, (time.process_time() - start) / RANKED_ROWS * 1e6
        print(k, found[k][1], flush=True)
    return found


def ranking_cells(learner: Any, ranks: dict[int, tuple[np.ndarray, float]], parts: Parts) -> list[float]:
    first = learner.classes_[ranks[1][0][:, 0]]
    r1 = float((first == parts.y_test[:RANKED_ROWS]).mean())
    return [ranks[1][1], ranks[5][1], r1, learner.index_size_ / 1e6]


def check_same(plain: tuple[Any, Any], bounded: tuple[Any, Any]) -> None:
    """Raise AssertionError unless index and ranks are equal to the last bit."""
    for before, after in zip(plain[0].rows_, bounded[0].rows_, strict=True):
        np.testing.assert_array_equal(after, before)
    for k in plain[1]:
        np.testing.assert_array_equal(bounded[1][k][0], plain[1][k][0])


if __name__ == "__main__":
    main()
