"""Speed of the tree learners: a pass beside Vowpal Wabbit's, prediction as classes multiply, compiling.

    pip install -r benchmarks/requirements-peers.txt
    harness data import newsgroups FILE
    python benchmarks/tree_speed.py [--parts news,zipf,growth,compile]

Writes docs/tree-speed.md. One thread (Vowpal Wabbit reads with a second one). The machine may be shared: read the
ratios, not the seconds; the load is told beside them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from flat_speed import Parts, prepare, shape, write_vw
from represented import represented
from scipy.sparse import csr_array
from sections import Part, measure_parts
from timing import best_seconds, import_seconds, take_one_thread

from harness.signature import import_target
from harness_representations.weights import Binary

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tree-speed.md"
HEAD = """# Speed of the tree learners

Written by `python benchmarks/tree_speed.py`; do not edit by hand. One thread.
"""
PASSES = 6
SIZES = (100, 1_000, 10_000, 100_000)
FEATURES, WORDS = 5_000, 24


class Timing(NamedTuple):
    """One learner on some data; a pass is what each further one adds to the first, predictions are in CPU time."""

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
    parts: dict[str, Part] = {
        "news": measure_news,
        "zipf": measure_zipf,
        "growth": measure_growth,
        "compile": measure_compiling,
    }
    measure_parts(PAGE, HEAD, [parts[name] for name in chosen.parts.split(",")])


# -- a pass beside Vowpal Wabbit's -----------------------------------------------------------------------------------


def measure_news() -> list[str]:
    data = import_target("harness_text.newsgroups:load_newsgroups")(headers="keep")
    train, test = data.splits["bydate"]
    return ["## A pass on 20 newsgroups, by date", *beside_peer(Parts(*in_order(data, train, test)))]


def in_order(data: Any, train: np.ndarray, test: np.ndarray) -> tuple[Any, ...]:
    """The parts, the training rows shuffled: Vowpal Wabbit takes them as they come."""
    train = np.random.default_rng(0).permutation(train)
    X_train, X_test = represented(data, "tfidf", train, test)
    return X_train, data.y[train], X_test, data.y[test]


def measure_zipf() -> list[str]:
    parts = prepare(import_target("harness_synthetic.zipf:make_zipf")(), "tfidf")
    return ["## A pass on `zipf`, 1,000 classes", *beside_peer(parts)]


def beside_peer(parts: Parts) -> list[str]:
    """LOMtree with the budget that the peer has, K - 1, and with its own; the peer with the losses that it offers."""
    budget = int(parts.y.max())
    own = [time_lomtree(f"lomtree, T = {budget:,}", parts, T=budget), time_lomtree("lomtree", parts)]
    losses = ("squared", "hinge", "logistic")
    peers = [timing for loss in losses if (timing := time_vowpal_wabbit(parts, loss)) is not None]
    best = max(peers, key=lambda timing: (timing.r1, -timing.pass_cpu_seconds), default=None)
    lines = ["", shape(parts) + f" {PASSES} passes; a pass is what each further one adds to the first.", ""]
    lines += ["| learner | a pass | CPU | predict a row | R1 | peer / ours | by CPU |", "|---|" + "---:|" * 6]
    for t in [*own, *peers]:
        ratios = "- | -"
        if best is not None and t not in peers:
            ratios = f"{best.pass_seconds / t.pass_seconds:.1f} | {best.pass_cpu_seconds / t.pass_cpu_seconds:.1f}"
        lines.append(
            f"| {t.name} | {t.pass_seconds:.3f} s | {t.pass_cpu_seconds:.3f} s "
            f"| {t.predict_seconds / parts.X_test.shape[0] * 1e6:.1f} µs | {t.r1:.3f} | {ratios} |"
        )
    return [
        *lines,
        "",
        "The peer is Vowpal Wabbit with the loss of its highest R1, the faster of equals, and K - 1 nodes. Aim: 2, at",
        "no lower R1. On a shared machine the ratio by CPU is the one to read; predictions are in CPU time.",
    ]


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
    return told(Timing(name, wall, cpu, predict, float(learner.score(parts.X_test, parts.y_test))))


def time_vowpal_wabbit(parts: Parts, loss: str) -> Timing | None:
    """Vowpal Wabbit's tree of the same paper, reading its own binary cache, so that parsing text is not counted."""
    try:
        import vowpalwabbit
    except ImportError:
        print("vowpalwabbit is not installed: pip install -r benchmarks/requirements-peers.txt", flush=True)
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
        for name in ("train", "test", "one"):  # writes the caches, and trains nothing that is kept
            run(f"{common} -t -d {folder}/{name} --cache_file {folder}/{name}.cache -k")
        fit = f"{common} -d {folder}/train --cache_file {folder}/train.cache -f {folder}/model"
        one, many = run(fit), run(f"{fit} --passes {PASSES}")
        predict = f"-t -i {folder}/model -p {folder}/answers"
        empty = run(f"{predict} -d {folder}/one --cache_file {folder}/one.cache")[1]
        span = run(f"{predict} -d {folder}/test --cache_file {folder}/test.cache")[1] - empty
        answers = np.loadtxt(f"{folder}/answers").astype(int) - 1
    wall, cpu = ((many[at] - one[at]) / (PASSES - 1) for at in range(2))
    return told(Timing(f"Vowpal Wabbit --log_multi, {loss}", wall, cpu, span, float((answers == parts.y_test).mean())))


def told(timing: Timing) -> Timing:
    print(timing, flush=True)
    return timing


# -- prediction as classes multiply ----------------------------------------------------------------------------------


def measure_growth() -> list[str]:
    """Time per prediction against the number of classes, with the slopes of both learners."""
    sizes = [time_size(n_classes) for n_classes in SIZES]
    doublings, trees, flats = np.log2(SIZES), [size.tree for size in sizes], [size.flat for size in sizes]
    powers = [np.polyfit(doublings, np.log2(span), 1)[0] for span in (trees, flats)]
    lines = [
        "## Prediction as classes multiply",
        "",
        f"Made-up rows of {WORDS} words out of {FEATURES:,}, two thirds from those of their class; all classes are",
        "equally frequent. One-against-all has seen 500 rows only: its time does not depend on what it has learned.",
        "",
        "| classes | log2 | lomtree | decisions | R1 | oaa |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for n, size in zip(SIZES, sizes, strict=True):
        told = f"{size.tree:.2f} µs | {size.decisions:.1f} | {size.r1:.3f} | {size.flat:,.1f} µs"
        lines.append(f"| {n:,} | {np.log2(n):.1f} | {told} |")
    return [
        *lines,
        "",
        f"- lomtree: **{np.polyfit(doublings, trees, 1)[0]:.2f} µs** more for each doubling of the classes; as a power",
        f"  of their number, K^**{powers[0]:.2f}**",
        f"- oaa: K^**{powers[1]:.2f}**",
    ]


class Size(NamedTuple):
    """Microseconds per prediction of the tree and of one-against-all, with the decisions and R1 of the tree."""

    tree: float
    flat: float
    decisions: float
    r1: float


def time_size(n_classes: int) -> Size:
    from harness_tree import OAA, LOMtree

    X, y, X_test, y_test = made(n_classes)
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


def made(n_classes: int) -> tuple[csr_array, np.ndarray, csr_array, np.ndarray]:
    """Training rows, three a class or more, and 5,000 test rows, of length 1."""
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


def measure_compiling() -> list[str]:
    """From an empty cache, each learner alone: what importing it takes beyond importing scikit-learn and numba."""
    lines = ["## Compiling", "", "| learner | cold | of it kernels of `harness.sdk` | aim |", "|---|---:|---:|---:|"]
    base = import_seconds("sklearn.base, numba, scipy.sparse", {})
    with tempfile.TemporaryDirectory() as folder:
        shared = import_seconds("harness.sdk", {"NUMBA_CACHE_DIR": f"{folder}/online"}) - base
        for name in ("lomtree", "random_tree", "filter_tree", "oaa"):
            cold = import_seconds(f"harness_tree.{name}", {"NUMBA_CACHE_DIR": f"{folder}/{name}"}) - base
            lines.append(f"| {name.replace('_', '-')} | {cold:.1f} s | {shared:.1f} s | 10 s |")
    return lines


if __name__ == "__main__":
    main()
