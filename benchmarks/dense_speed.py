"""Speed of learners on dense rows beside the same learners on sparse rows, in one run.

    python benchmarks/dense_speed.py [--rows 18000] [--isolet FOLDER] [--parts embeddings,isolet,digits,memory]

Writes results/benchmarks/dense-speed. One thread, CPU time. FOLDER holds the files of Isolet as published.
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
from report import Column, Section, Table, Value, facts, measure_sections
from scipy.sparse import csr_array
from sources import represented
from timing import take_one_thread

from harness.data.split import draw_split
from harness.syntax.split import parse_split
from harness_prototype import MMP, PA, Perceptron
from harness_svm import SVM
from harness_tree import OAA
from harness_vectors.digits import load_digit_images
from harness_vectors.isolet import load_isolet

PARTS = ("embeddings", "isolet", "digits", "memory")
LEARNERS = (PA, Perceptron, MMP, OAA, SVM)
DIMENSIONS, CLASSES, NOISE = 384, 500, 3.0
FEWEST_ROWS = 40_000
"""Minimal number of rows in the timed passes."""
COLUMNS = [
    Column("learner"),
    Column("train, sparse", "ms"),
    Column("train, dense", "ms"),
    Column("speed-up", digits=1),
    Column("rank, sparse", "µs", 1),
    Column("rank, dense", "µs", 1),
    Column("product", "µs", 1),
    Column("top 5", "µs", 1),
    Column("rank / top 5", digits=2),
    Column("R1, sparse", digits=4),
    Column("R1, dense", digits=4),
]
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
    """CPU seconds of a pass (or of the training, without passes), CPU seconds to rank a row, and R1."""

    train: float
    rank: float
    r1: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=18_000, help="training rows of the synthetic embeddings")
    parser.add_argument("--isolet", help="folder with the files of Isolet; skips this part if not given")
    parser.add_argument("--parts", default=",".join(PARTS), help="default: %(default)s")
    chosen = parser.parse_args()
    take_one_thread()
    parts: dict[str, Callable[[], Section]] = {
        "embeddings": lambda: measure(f"Synthetic embeddings, {CLASSES} classes", make_embeddings(chosen.rows)),
        "digits": lambda: measure("`digits`", split_dataset(load_digit_images())),
        "memory": lambda: measure_memory(chosen.rows),
    }
    if chosen.isolet:
        parts["isolet"] = lambda: measure("`isolet`", split_dataset(load_isolet(source=chosen.isolet)))
    measure_sections("dense-speed", [parts[name] for name in chosen.parts.split(",") if name in parts])


def make_embeddings(rows: int) -> Parts:
    """Return normalised rows around the centres of their classes."""
    rng = np.random.default_rng(0)
    n = rows + 2_000
    centres, y = rng.normal(size=(CLASSES, DIMENSIONS)), rng.integers(0, CLASSES, n)
    X = (centres[y] + NOISE * rng.normal(size=(n, DIMENSIONS))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return Parts(X[:rows], y[:rows], X[rows:], y[rows:])


def split_dataset(data: Any) -> Parts:
    """Represent a dataset and hold out a fifth of its rows."""
    train, test = draw_split(parse_split("holdout:0.2"), data.rows, 0, {})
    X, X_test = represented(data, "tf", train, test)
    return Parts(X.toarray(), data.y[train], X_test.toarray(), data.y[test])


def measure(title: str, parts: Parts) -> Section:
    density = np.count_nonzero(parts.X) / parts.X.size
    note = (
        f"{parts.X.shape[0]:,} training and {parts.X_test.shape[0]:,} test rows, {parts.X.shape[1]} dimensions, "
        f"{density:.0%} of the values non-zero."
    )
    rows = []
    for kind in LEARNERS:
        sparse, dense = time_learner(as_sparse(kind), parts), time_learner(kind, parts)
        rows.append(row_of(kind.__name__, sparse, dense, *time_products(parts)))
        print(rows[-1], flush=True)
    return Section(title, [Table(COLUMNS, rows)], note)


def row_of(name: str, sparse: Timing, dense: Timing, product: float, top: float) -> list[Value]:
    training = [sparse.train * 1e3, dense.train * 1e3, sparse.train / dense.train]
    ranking = [sparse.rank * 1e6, dense.rank * 1e6, product * 1e6, top * 1e6, dense.rank / top]
    return [name, *training, *ranking, sparse.r1, dense.r1]


def as_sparse(kind: type[Any]) -> type[Any]:
    """Return the learner without its support for dense rows."""
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
    """Return seconds per row of the matrix product alone, and with the top five classes."""
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


def measure_memory(rows: int) -> Section:
    """Measure the memory of training and ranking beyond the rows themselves, each in its own process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npy"
        np.save(file, make_embeddings(rows).X)
        found = {way: float(child(file, way)) for way in ("sparse", "dense")}
    note = f"`pa` trained on {rows:,} dense rows of {DIMENSIONS} dimensions, then ranking them; peak memory beyond X."
    table = facts(("dense rows", found["dense"], "times X"), ("as sparse rows", found["sparse"], "times X"))
    return Section("Memory", [table], note)


def child(file: Path, way: str) -> str:
    command = [sys.executable, "-c", MEMORY_CHILD, str(file), way]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
