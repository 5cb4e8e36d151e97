"""Speed and memory of the flat learners beside their peers, in one run, on one thread; writes docs/flat-speed.md.

    pip install -r benchmarks/requirements-peers.txt
    python benchmarks/flat_speed.py [--raw DIR] [--parts scoring,news,zipf,challenge,compile]

The machine may be shared: read the ratios, not the seconds. All seconds are CPU seconds; what is short is repeated, and
the shortest time counts.
`--raw` names the folder with 20newsgroups/.
"""

from __future__ import annotations

import argparse
import gc
import resource
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from represented import represented
from scipy.sparse import csr_array
from sections import Part, measure_parts
from timing import REPEATS, best_seconds, import_seconds, take_one_thread

from harness.signature import import_target
from harness.split import parse_split
from harness.trials.splitting import draw_split

PAGE = Path(__file__).resolve().parent.parent / "docs" / "flat-speed.md"
HEAD = """# Speed of the flat learners

Written by `python benchmarks/flat_speed.py`; do not edit by hand.
One thread, CPU seconds. Ratios are taken within one run, since the machine may be shared.
"""

SCORING_NOTES = """
One long row alone is scored at 1,200 to 1,700 million edges a second; what is lost is lost at the start of each of the
many short rows, a cache miss that asking for memory ahead hides in part. Tried on a machine at a load of 1.4, as shares
of 17.8 GB/s: before 36%, with memory asked for ahead 44%, with rows in the order of their classes too 48%. Sums in
float32 gave 52%, but ranks that are not those of exact sums; 6 bytes an edge gave 3 to 10% more edges a second, too
little for a second set of kernels. The busier the machine, the lower the share: others take the shared cache.
""".splitlines()


class Parts(NamedTuple):
    """Training and test rows, represented."""

    X: csr_array
    y: np.ndarray
    X_test: csr_array
    y_test: np.ndarray


class Timing(NamedTuple):
    """What one learner took on some data."""

    name: str
    fit_seconds: float
    predict_seconds: float
    r1: float
    passes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raw", type=Path, help="the folder that holds 20newsgroups/")
    parser.add_argument("--parts", default="scoring,news,zipf,challenge,compile")
    chosen = parser.parse_args()
    take_one_thread()
    parts: dict[str, Part] = {
        "scoring": measure_scoring,
        "news": lambda: measure_news(chosen.raw),
        "zipf": measure_zipf,
        "challenge": measure_challenge,
        "compile": measure_compiling,
    }
    measure_parts(PAGE, HEAD, [parts[name] for name in chosen.parts.split(",")])


# -- what is measured ------------------------------------------------------------------------------------------------


def measure_scoring() -> list[str]:
    """Edges per second of the scoring kernel on an index of the challenge's shape, against the memory's bandwidth."""
    from harness.sdk.kernels.edges import Edges, as_rows, sort_by_class
    from harness.sdk.kernels.instances import as_instances
    from harness.sdk.kernels.ranking import rank_by_index

    classes, features, instances, active = 12_000, 350_000, 300, 250
    rng = np.random.default_rng(0)
    frequency = np.arange(1, features + 1)
    length = np.minimum(classes, np.maximum(1, classes * 1.4 / frequency**0.68)).astype(np.int64)
    drawn = [
        np.unique(rng.choice(features, 3 * active, p=(1 / frequency) / (1 / frequency).sum())) for _ in range(instances)
    ]
    chosen = [rng.permutation(row)[:active] for row in drawn]
    name = rng.permutation(features)  # frequent features lie anywhere among the others
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
    rounds = []  # the two in turn, since others may come and go
    for _ in range(9):
        bandwidth = memory.nbytes / best_seconds(lambda: np.max(memory))  # numpy's own vectorised maximum
        seconds = best_seconds(lambda: rank_by_index(rows, X, np.zeros(classes), 1))
        rounds.append((8 * edges / seconds / bandwidth, bandwidth))
    share, bandwidth = sorted(rounds)[len(rounds) // 2]
    rate = share * bandwidth / 8
    return [
        "## Scoring kernel",
        "",
        f"{classes:,} classes, {active} features a row, {edges // instances:,} edges an instance, 8 bytes an edge.",
        "",
        f"- {rate / 1e6:,.0f} million edges a second, {rate * instances / edges:,.0f} instances a second",
        f"- {8 * rate / 1e9:.1f} GB/s of {bandwidth / 1e9:.1f} GB/s sequential read bandwidth (one thread, 1.2 GB in "
        f"order): **{share:.0%}** (aim 50%); the median of {len(rounds)} rounds, {min(rounds)[0]:.0%} to "
        f"{max(rounds)[0]:.0%}",
        *SCORING_NOTES,
    ]


def measure_news(raw: Path | None) -> list[str]:
    """One pass on 20 newsgroups beside scikit-learn's, and prediction beside all peers."""
    if raw is None:
        return ["## 20 newsgroups", "", "Not measured: give --raw with the folder that holds 20newsgroups/."]
    from sklearn.linear_model import SGDClassifier

    parts = prepare(import_target("harness_text.newsgroups:load_newsgroups")(source=str(raw / "20newsgroups")), "tf")
    fitted = [fit_and_time(label, import_target(t)(**p), parts, p["passes"]) for label, t, p in own_learners()]
    one_pass = {"max_iter": 1, "tol": None, "random_state": 0}
    sgd = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa2", eta0=1.0, **one_pass)
    peers = [fit_and_time("SGDClassifier, pa2", sgd, parts, 1), *fit_svms(parts)]
    lines = compare(fitted, peers, parts)
    return ["## 20 newsgroups", "", shape(parts), "", *lines, "", *index_table(fitted, parts)]


def measure_zipf() -> list[str]:
    """A thousand classes: training and prediction beside liblinear's and Vowpal Wabbit's."""
    parts = prepare(import_target("harness_synthetic.zipf:make_zipf")(), "tfidf")
    fitted = [fit_and_time(label, import_target(t)(**p), parts, p["passes"]) for label, t, p in own_learners()]
    return ["## `zipf`, 1,000 classes", "", shape(parts), "", *compare(fitted, fit_svms(parts), parts)]


def measure_challenge() -> list[str]:
    """The size of the LSHTC challenge: one pass each, and classifying 35,000 rows."""
    load = import_target("harness_synthetic.zipf:make_zipf")
    data = load(rows=155_000, classes=12_000, features=350_000, words=235, noise=0.5)
    parts = prepare(data, "tfidf", test_share=35_000 / 155_000)
    del data
    gc.collect()
    lines = ["## The size of the LSHTC challenge (`zipf`)", "", shape(parts), ""]
    lines += ["| learner | one pass | classify 35,000 | R1 | weights | peak memory |", "|---|---:|---:|---:|---:|---:|"]
    for label, target, params in own_learners(d=100):
        timing, learner = fit_and_time(label, import_target(target)(**{**params, "passes": 1}), parts, 1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        lines.append(
            f"| {label} | {timing.fit_seconds:.0f} s | {timing.predict_seconds:.0f} s | {timing.r1:.3f} "
            f"| {learner.index_size_ / 1e6:.1f}M | {peak / 1e9:.1f} GB |"
        )
        del learner
        gc.collect()
    lines += [
        "",
        "Aims: ooz (d = 100) under 2 minutes, pa under 10 minutes, under 16 GB, 35,000 rows in under a minute.",
    ]
    lines += [
        "Published for the challenge's own data, on machines of its time: 1 to 2.5 hours a pass (OOZ, d = 100), 12 to"
    ]
    lines += [
        "35 hours (PA); classifying took 3 minutes and 3 hours (Large-Scale Many-Class Prediction via Flat Techniques)."
    ]
    return lines


def measure_compiling() -> list[str]:
    """Cold: an empty cache, each learner alone. Warm: all of them in one process, beyond importing scikit-learn."""
    lines = ["## Compiling", "", "| learner | cold | aim |", "|---|---:|---:|"]
    base = import_seconds("sklearn.base, numba, scipy.sparse", {})
    with tempfile.TemporaryDirectory() as folder:
        for label, target, _ in own_learners():
            cold = import_seconds(target.partition(":")[0], {"NUMBA_CACHE_DIR": f"{folder}/{label}"}) - base
            lines.append(f"| {label} | {cold:.1f} s | 10 s |")
        together = ", ".join(target.partition(":")[0] for _, target, _ in own_learners())
        import_seconds(together, {"NUMBA_CACHE_DIR": f"{folder}/all"})
        warm = import_seconds(together, {"NUMBA_CACHE_DIR": f"{folder}/all"}) - base
    return [*lines, "", f"Warm, all together, beyond importing scikit-learn and numba: **{warm:.2f} s** (aim 1 s)."]


# -- learners and peers ----------------------------------------------------------------------------------------------


def own_learners(d: int | None = None) -> list[tuple[str, str, dict[str, Any]]]:
    """(label, target, parameters) of the learners measured; d is the degree limit of ooz."""
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


def compare(own: list[tuple[Timing, Any]], peers: list[tuple[Timing, Any]], parts: Parts) -> list[str]:
    """All of them in one table. They predict in turn, so that whoever shares the machine disturbs them alike."""
    spans: list[list[float]] = [[] for _ in (*own, *peers)]
    for _ in range(REPEATS):
        for span, (_, estimator) in zip(spans, (*own, *peers), strict=True):
            start = time.process_time()
            estimator.predict(parts.X_test)
            span.append(time.process_time() - start)
    timings = [t._replace(predict_seconds=min(span)) for (t, _), span in zip((*own, *peers), spans, strict=True)]
    return table(timings[: len(own)], [*timings[len(own) :], *time_vowpal_wabbit(parts)], parts)


def time_vowpal_wabbit(parts: Parts) -> list[Timing]:
    """Vowpal Wabbit's one-against-all, one pass, reading its own binary cache, so that parsing text is not counted."""
    try:
        import vowpalwabbit
    except ImportError:
        print("vowpalwabbit is not installed: pip install -r benchmarks/requirements-peers.txt", flush=True)
        return []

    def run(words: str) -> None:
        vowpalwabbit.Workspace(f"--quiet {words}").finish()

    with tempfile.TemporaryDirectory() as folder:
        for name, X, y in (("train", parts.X, parts.y), ("test", parts.X_test, parts.y_test)):
            write_vw(Path(folder) / name, X, y)
        write_vw(Path(folder) / "one", parts.X_test[:1], parts.y_test[:1])
        common = f"--oaa {parts.y.max() + 1} -b 26"
        for name in ("train", "test", "one"):  # writes the caches, and trains nothing that is kept
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


# -- telling ---------------------------------------------------------------------------------------------------------


def prepare(data: Any, representation: str, test_share: float = 0.2) -> Parts:
    train, test = draw_split(parse_split(f"holdout:{test_share}"), data.rows, 0, {})
    X_train, X_test = represented(data, representation, train, test)
    return Parts(X_train, data.y[train], X_test, data.y[test])


def shape(parts: Parts) -> str:
    per_row = parts.X.nnz / parts.X.shape[0]
    return (
        f"{parts.X.shape[0]:,} training and {parts.X_test.shape[0]:,} test rows, {per_row:.0f} non-zeros a row, "
        f"{int(parts.y.max()) + 1:,} classes."
    )


def table(own: list[Timing], peers: list[Timing], parts: Parts) -> list[str]:
    """Every learner with its rates, and how many times longer it takes than the fastest of ours would let it."""
    rows = ["| learner | train | training rows/s a pass | predict a row | R1 |", "|---|---:|---:|---:|---:|"]
    for t in [*own, *peers]:
        rate = f"{parts.X.shape[0] * t.passes / t.fit_seconds:,.0f}" if t.passes else "-"
        span = f"{t.predict_seconds / parts.X_test.shape[0] * 1e6:.1f} µs"
        passes = f" ({t.passes} passes)" if t.passes > 1 else ""
        rows.append(f"| {t.name} | {t.fit_seconds:.2f} s{passes} | {rate} | {span} | {t.r1:.3f} |")
    rows += ["", "| peer | " + " | ".join(f"train / {t.name} | predict / {t.name}" for t in own) + " |"]
    rows.append("|---|" + "---:|---:|" * len(own))
    for peer in peers:
        ratios = []
        for t in own:
            ours = t.fit_seconds / t.passes if peer.passes == 1 else t.fit_seconds
            ratios += [f"{peer.fit_seconds / ours:.1f}", f"{peer.predict_seconds / t.predict_seconds:.1f}"]
        rows.append(f"| {peer.name} | " + " | ".join(ratios) + " |")
    rows += [
        "",
        "Above 1: the peer takes longer. A peer of one pass is compared with one pass, others with the whole fit.",
    ]
    return rows


def index_table(fitted: list[tuple[Timing, Any]], parts: Parts) -> list[str]:
    """What the index takes, and how fast training could be if it only had to score by it."""
    from harness.sdk.kernels.instances import as_instances
    from harness.sdk.kernels.ranking import rank_by_index
    from harness.sdk.kernels.touched import rank_touched

    instances, n_classes = as_instances(parts.X), int(parts.y.max()) + 1
    lines = ["| learner | scoring alone, rows/s | edges | bytes an edge | with what is kept by feature |"]
    lines.append("|---|---:|---:|---:|---:|")
    for timing, learner in fitted:
        rows, size = learner.rows_, learner.index_size_
        if learner.ranks_untouched:
            seconds = best_seconds(partial(rank_by_index, rows, instances, np.zeros(n_classes), 1))
        else:
            seconds = best_seconds(partial(rank_touched, rows, instances, np.empty(0), 1, n_classes=n_classes))
        own = (rows.classes.nbytes + rows.weights.nbytes) / size
        rate = f"{parts.X.shape[0] / seconds:,.0f}"
        lines.append(f"| {timing.name} | {rate} | {size:,} | {own:.1f} | {learner.index_bytes_ / size:.1f} |")
    return lines


if __name__ == "__main__":
    main()
