"""How fast learners are on dense rows, beside the same learners on sparse ones: ratios in one run.

    python benchmarks/dense_speed.py [--rows 18000] [--isolet FOLDER] [--parts embeddings,isolet,digits,memory]

Writes docs/dense-speed.md. One thread, processor time, which other work on the machine disturbs least. FOLDER has the
files of Isolet as they are served.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from represented import represented
from scipy.sparse import csr_array
from sections import Part, measure_parts
from timing import take_one_thread

from harness.split import parse_split
from harness.trials.splitting import draw_split
from harness_prototype import MMP, PA, Perceptron
from harness_svm import SVM
from harness_tree import OAA
from harness_vectors.digits import load_digit_images
from harness_vectors.isolet import load_isolet

PAGE = Path(__file__).resolve().parent.parent / "docs" / "dense-speed.md"
PARTS = ("embeddings", "isolet", "digits", "memory")
LEARNERS = (PA, Perceptron, MMP, OAA, SVM)
DIMENSIONS, CLASSES, NOISE = 384, 500, 3.0
FEWEST_ROWS = 40_000
"""Passes go through as many rows at least, so that the clock says something."""
AIM_TRAINING, AIM_RANKING = 5.0, 1.5
HEAD = """# Speed on dense rows

Written by `python benchmarks/dense_speed.py`; do not edit by hand. One thread, processor time, ratios within one run.
*Sparse* is the same learner with the same rows as a sparse matrix, as it learned from them before it took dense ones. A
pass is what one more pass adds; `svm` has none, and is timed whole. *Product* is `X @ W` by the BLAS alone, for as many
rows and classes, *top 5* the same with the five best of each row by numpy's `argpartition` and a sort of these. Aims:
training {training:g} times as fast as sparse, ranking within {ranking:g} times of product and top 5.

Updates are those of the sparse kernels, in the same order, but for `svm`. Sums are in float32 and added up in another
order, so that R1 may differ by a row where two classes score alike to the sixth digit. With few weights (features
times classes, under 4,096) rows are gone through as sparse ones, which is faster there: both columns are then of the
same code.

`svm` trains eight classes side by side, so that a row is fetched once for all of them: rows fit no cache near the
processor, and to fetch them is what one class alone takes. The eight meet the rows in one order; each ends by itself.

What limits `oaa`: its sparse kernel goes through a matrix of all weights already, and gains from dense rows only what
the BLAS does better. The product alone takes half of the time of a pass.

On `digits` rows that come as an array are made sparse first, and the time of that counts. On `isolet`, with 26 classes,
the product is the smaller part of a ranking: beside it the largest value is looked for, by which all are known to be
finite, and the five best classes, block by block.
"""
MEMORY_CHILD = """
import sys
import numpy as np
from harness.system import SYSTEM
from harness_prototype import PA
X = np.load(sys.argv[1])
y = np.arange(X.shape[0]) % 500
PA(passes=1, random_state=0).fit(X[:600], y[:600]).rank(X[:600], 5)
PA.takes_dense = sys.argv[2] == "dense"
before = SYSTEM.reset_peak()
PA(passes=1, random_state=0).fit(X, y).rank(X, 5)
print((SYSTEM.read_peak() - before) / X.nbytes)
"""


class Parts(NamedTuple):
    """Training and test rows, dense."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class Timing(NamedTuple):
    """Processor seconds of a pass, or of all training where there is none, and of ranking a row; how good it is."""

    train: float
    rank: float
    r1: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=18_000, help="training rows of the made-up embeddings")
    parser.add_argument("--isolet", help="a folder with the files of Isolet; without it that part is left out")
    parser.add_argument("--parts", default=",".join(PARTS), help="default: %(default)s")
    chosen = parser.parse_args()
    take_one_thread()
    parts: dict[str, Part] = {
        "embeddings": lambda: measure(f"Made-up embeddings, {CLASSES} classes", make_embeddings(chosen.rows)),
        "digits": lambda: measure("`digits`", kept_parts(load_digit_images())),
        "memory": lambda: measure_memory(chosen.rows),
    }
    if chosen.isolet:
        parts["isolet"] = lambda: measure("`isolet`", kept_parts(load_isolet(source=chosen.isolet)))
    head = HEAD.format(training=AIM_TRAINING, ranking=AIM_RANKING)
    measure_parts(PAGE, head, [parts[name] for name in chosen.parts.split(",") if name in parts])


def make_embeddings(rows: int) -> Parts:
    """Rows of length 1 near the centres of their classes."""
    rng = np.random.default_rng(0)
    n = rows + 2_000
    centres, y = rng.normal(size=(CLASSES, DIMENSIONS)), rng.integers(0, CLASSES, n)
    X = (centres[y] + NOISE * rng.normal(size=(n, DIMENSIONS))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return Parts(X[:rows], y[:rows], X[rows:], y[rows:])


def kept_parts(data: Any) -> Parts:
    """A data set in its own representation, a fifth held out."""
    train, test = draw_split(parse_split("holdout:0.2"), data.rows, 0, {})
    X, X_test = represented(data, "tf", train, test)
    return Parts(X.toarray(), data.y[train], X_test.toarray(), data.y[test])


def measure(title: str, parts: Parts) -> list[str]:
    density = np.count_nonzero(parts.X) / parts.X.size
    lines = [
        f"## {title}",
        "",
        f"{parts.X.shape[0]:,} training and {parts.X_test.shape[0]:,} test rows, {parts.X.shape[1]} dimensions, "
        f"{density:.0%} of the values other than 0.",
        "",
        "| learner | sparse: train | dense: train | times as fast | sparse: rank | dense: rank | product | top 5 "
        "| rank / top 5 | R1 sparse | R1 dense |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind in LEARNERS:
        sparse, dense = time_learner(as_sparse(kind), parts), time_learner(kind, parts)
        product, best = time_products(parts)
        times = sparse.train / dense.train
        lines.append(
            f"| {kind.__name__} | {sparse.train * 1e3:,.0f} ms | {dense.train * 1e3:,.0f} ms | **{times:.1f}** "
            f"| {sparse.rank * 1e6:.1f} µs | {dense.rank * 1e6:.1f} µs | {product * 1e6:.1f} µs "
            f"| {best * 1e6:.1f} µs | **{dense.rank / best:.2f}** | {sparse.r1:.4f} | {dense.r1:.4f} |"
        )
        print(lines[-1], flush=True)
    return lines


def as_sparse(kind: type[Any]) -> type[Any]:
    """The same learner, to which all rows are sparse."""
    return type(kind.__name__, (kind,), {"takes_dense": False})


def time_learner(kind: type[Any], parts: Parts) -> Timing:
    X, X_test = (parts.X, parts.X_test) if kind.takes_dense else (csr_array(parts.X), csr_array(parts.X_test))
    if kind.__name__ == "SVM":
        learner, train = timed(lambda: kind(random_state=0).fit(X, parts.y))
    else:
        more = 1 + max(2, FEWEST_ROWS // parts.X.shape[0])
        _, one = timed(lambda: kind(passes=1, random_state=0).fit(X, parts.y))
        learner, several = timed(lambda: kind(passes=more, random_state=0).fit(X, parts.y))
        train = (several - one) / (more - 1)
    ranks, rank = min((timed(lambda: learner.rank(X_test, 5)) for _ in range(5)), key=lambda found: found[1])
    r1 = float((learner.classes_[ranks[:, 0]] == parts.y_test).mean())
    return Timing(train, rank / X_test.shape[0], r1)


def time_products(parts: Parts) -> tuple[float, float]:
    """Seconds a row of the scores alone, and with the five best of each row."""
    weights = np.random.default_rng(0).normal(size=(parts.X.shape[1], np.unique(parts.y).size)).astype(np.float32)

    def find_best() -> np.ndarray:
        scores = parts.X_test @ weights
        best = np.argpartition(scores, -5, axis=1)[:, -5:]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
        return np.take_along_axis(best, order, axis=1)

    rows = parts.X_test.shape[0]
    product = min(timed(lambda: parts.X_test @ weights)[1] for _ in range(7)) / rows
    return product, min(timed(find_best)[1] for _ in range(7)) / rows


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def measure_memory(rows: int) -> list[str]:
    """What training and ranking take beyond the rows themselves, in processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npy"
        np.save(file, make_embeddings(rows).X)
        found = {way: float(child(file, way)) for way in ("sparse", "dense")}
    return [
        "## Memory",
        "",
        f"`pa` trained on {rows:,} dense rows of {DIMENSIONS} dimensions and asked about them: what it takes at most",
        f"beside them, in sizes of X: **{found['dense']:.2f}**, and {found['sparse']:.2f} as sparse ones.",
    ]


def child(file: Path, way: str) -> str:
    command = [sys.executable, "-c", MEMORY_CHILD, str(file), way]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
