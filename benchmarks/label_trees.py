"""`label-tree` beside omikuji's label trees: ratios in one run, printed and written to docs/label-trees.md.

    pip install -r benchmarks/requirements-peers.txt
    python benchmarks/label_trees.py FILE... [--times 3]

FILE is a CSV of short texts, each with its class (see svm_speed.py), or a .npz as `harness run --data` takes it, with
rows of its own to test on. One thread; processor time, which other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from svm_speed import ONE_THREAD, Parts, read_titles

from harness.machine import describe_machine
from harness_svm.label_tree import LabelTree

PAGE = Path(__file__).resolve().parent.parent / "docs" / "label-trees.md"
DEPTH = 5
HEAD = f"""# Speed and accuracy of label trees

Written by `python benchmarks/label_trees.py`; do not edit by hand. Processor time of one thread, the best of some runs;
training with defaults, ranking {DEPTH} deep. Ratios above 1: omikuji takes longer. Aims: 1.5 for training, 3 for
ranking, at no lower R1. The peer is omikuji's Parabel with one tree, asked row by row: its interface has no other
way. The bar that it draws while it trains is sent nowhere, but drawing it is in its time.

"""


class Measured(NamedTuple):
    """What one learner took, and how good it was."""

    train_seconds: float
    rank_microseconds: float
    r1: float
    r5: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--times", type=int, default=3, help="the best of so many runs counts")
    chosen = parser.parse_args()
    if not os.environ.items() >= ONE_THREAD.items():  # libraries read them when they are loaded: start again
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, *sys.argv])
    machine = describe_machine()
    lines = [f"Measured on {machine.processor}, {machine.cores} cores; load average {os.getloadavg()[0]:.1f}.", ""]
    lines += ["| file | rows | classes | learner | train | a row | R1 | R5 | train, ratio | a row, ratio |"]
    lines += ["|---|---:|---:|---|---:|---:|---:|---:|---:|---:|"]
    for file in chosen.files:
        parts = read_arrays(file) if file.suffix == ".npz" else read_titles(file)
        lines += compare(file.name.partition(".")[0], parts, chosen.times)
        print("\n".join(lines[-2:]), flush=True)
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")


def compare(name: str, parts: Parts, times: int) -> list[str]:
    """Two lines: ours and the peer's, which reads its rows from a file that is written before the clock runs."""
    size = f"{name} | {len(parts.y):,} | {int(parts.y.max()) + 1:,}"
    LabelTree().fit(parts.X[:200], parts.y[:200]).rank(parts.X[:2], DEPTH)  # whatever is made on first use
    rank_ours = partial(LabelTree.rank, X=parts.X_test, k=DEPTH)
    ours = measure(parts, times, lambda: LabelTree(random_state=0).fit(parts.X, parts.y), rank_ours)
    rows = as_pairs(parts.X_test)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.txt"
        write_rows(file, parts)
        theirs = measure(parts, times, lambda: train_omikuji(file), lambda model: rank_omikuji(model, rows))
    train, a_row = theirs.train_seconds / ours.train_seconds, theirs.rank_microseconds / ours.rank_microseconds
    ratios = f"**{train:.1f}** | **{a_row:.1f}**"
    return [f"| {size} | label-tree | {row(ours)} | {ratios} |", f"| {size} | omikuji | {row(theirs)} | | |"]


def row(found: Measured) -> str:
    return f"{found.train_seconds:.2f} s | {found.rank_microseconds:.0f} µs | {found.r1:.4f} | {found.r5:.4f}"


def measure(parts: Parts, times: int, train: Callable[[], Any], rank: Callable[[Any], np.ndarray]) -> Measured:
    """The fastest of some trainings and rankings."""
    trainings, rankings = [], []
    for _ in range(times):
        begun = time.process_time()
        model = train()
        trained = time.process_time()
        ranked = rank(model)
        rankings.append(time.process_time() - trained)
        trainings.append(trained - begun)
    hits = ranked == parts.y_test[:, np.newaxis]
    microseconds = min(rankings) / len(parts.y_test) * 1e6
    return Measured(min(trainings), microseconds, float(hits[:, 0].mean()), float(hits.any(axis=1).mean()))


def train_omikuji(file: Path) -> Any:
    """Parabel with one tree, from a file in the format of the extreme classification repository."""
    import omikuji  # the other functions need no peer

    settings = omikuji.Model.default_hyper_param()
    settings.n_trees = 1
    with silence():
        return omikuji.Model.train_on_data(str(file), settings, 1)


@contextmanager
def silence() -> Iterator[None]:
    """Send what compiled code prints nowhere: omikuji draws a bar for every row, and has no way to be told not to."""
    kept = [os.dup(stream) for stream in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        yield
    finally:
        for stream, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, stream)
            os.close(copy)
        os.close(nowhere)


def write_rows(file: Path, parts: Parts) -> None:
    X = parts.X
    with file.open("w") as out:
        out.write(f"{X.shape[0]} {X.shape[1]} {int(parts.y.max()) + 1}\n")
        for i, y in enumerate(parts.y):
            lo, hi = X.indptr[i], X.indptr[i + 1]
            values = (f"{f}:{x:.6g}" for f, x in zip(X.indices[lo:hi], X.data[lo:hi], strict=True))
            out.write(f"{y} {' '.join(values)}\n")


def as_pairs(X: csr_array) -> list[list[tuple[int, float]]]:
    """Rows as omikuji takes them."""
    rows = []
    for lo, hi in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        rows.append(list(zip(X.indices[lo:hi].tolist(), X.data[lo:hi].tolist(), strict=True)))
    return rows


def rank_omikuji(model: Any, rows: list[list[tuple[int, float]]]) -> np.ndarray:
    ranked = np.full((len(rows), DEPTH), -2)
    for i, pairs in enumerate(rows):
        found = [c for c, _ in model.predict(pairs, top_k=DEPTH)]
        ranked[i, : len(found)] = found
    return ranked


def read_arrays(file: Path) -> Parts:
    """Rows of an archive, those of `train` and of `test`."""
    held = np.load(file)
    X = csr_array((held["X_data"], held["X_indices"], held["X_indptr"]), shape=tuple(held["X_shape"]))
    y, train, test = held["y"], held["train"], held["test"]
    seen, places = np.unique(y[train], return_inverse=True)
    y_test = np.where(np.isin(y[test], seen), np.searchsorted(seen, y[test]), -1)
    return Parts(X[train], places, X[test], y_test, None)


if __name__ == "__main__":
    main()
