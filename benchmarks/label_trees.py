"""`label-tree` and `shortlist` beside the label trees of other tools, in one run.

    python benchmarks/label_trees.py SOURCE... [--times 3] [--peers omikuji,PECOS,napkinXC]

sources.py describes SOURCE. Writes results/benchmarks/label-trees, one section per source. One thread, CPU time. The
other tools run as the wrappers of `harness_peers`, in the environments that `harness env build` makes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from report import Column, Section, Table, Value, save_section
from scipy.sparse import csr_array, issparse, save_npz
from sources import Parts, name_of, read_source
from timing import take_one_thread

from harness.cli.data import build_environments
from harness.experiment.resolve import NullProgress
from harness.host.discovery import Session
from harness_shortlist import Shortlist
from harness_svm.label_tree import LabelTree

DEPTH = 5
OURS: dict[str, tuple[Any, dict[str, Any]]] = {
    "shortlist": (Shortlist, {}),
    "shortlist, 20 candidates": (Shortlist, {"candidates": 20}),
    "label-tree": (LabelTree, {}),
}
"""Our learners, with their defaults and with half as many candidates."""
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "omikuji": ("omikuji-parabel", {"n_trees": 1}),
    "PECOS": ("pecos-xr-linear", {}),
    "napkinXC": ("napkinxc-plt", {}),
}
"""Other tools: the name of the learner, and parameters that differ from the tool's defaults."""
COLUMNS = [
    Column("learner"),
    Column("train", "s", 2),
    Column("rank a row", "µs"),
    Column("R1", digits=4),
    Column("R5", digits=4),
    Column("fastest other / ours, train", digits=1),
    Column("fastest other / ours, rank", digits=1),
]
CHILD = """
import json, sys, time
import numpy as np
from scipy.sparse import csr_array, load_npz
from harness.host.introspection import import_target
from harness.sdk.wrappers import positions_by

folder, target, params, times, depth = sys.argv[1:]
X, Y, X_test = (csr_array(load_npz(f"{folder}/{name}.npz")) for name in ("X", "Y", "X_test"))
y = Y if Y.nnz != Y.shape[0] or (np.diff(Y.indptr) != 1).any() else Y.indices.astype(np.int64)
trainings, rankings = [], []
for _ in range(int(times)):
    learner = import_target(target)(**json.loads(params))
    staged = learner.stage(X, y)
    begun = time.process_time()
    learner.fit(X, y, staged=staged)
    trained = time.process_time()
    ranked = positions_by(learner, X_test, int(depth))
    rankings.append(time.process_time() - trained)
    trainings.append(trained - begun)
ranked = np.where(ranked >= 0, np.asarray(learner.classes_)[np.maximum(ranked, 0)], -1)
np.savez(f"{folder}/found.npz", ranked=ranked, train=min(trainings), rank=min(rankings))
"""


class Measured(NamedTuple):
    """Times and accuracy of one learner."""

    train_seconds: float
    rank_microseconds: float
    r1: float
    r5: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--times", type=int, default=3, help="runs of each learner; the fastest counts")
    parser.add_argument("--peers", default=",".join(PEERS), help="default: %(default)s")
    chosen = parser.parse_args()
    take_one_thread()
    for source in chosen.sources:
        parts = read_source(source)
        save_section("label-trees", compare(f"`{name_of(source)}`", parts, chosen.times, chosen.peers.split(",")))


def compare(title: str, parts: Parts, times: int, peers: list[str]) -> Section:
    """Time our learners and the other tools; ratios are those of the fastest other tool to ours."""
    ours = {}
    for own, (kind, params) in OURS.items():
        kind(**params).fit(parts.X[:200], parts.y[:200]).rank(parts.X[:2], DEPTH)  # compiles
        ours[own] = measure(parts, times, partial(fit, kind, params, parts), partial(rank_classes, X=parts.X_test))
    theirs = {peer: judge(parts, *measure_peer(parts, times, *PEERS[peer])) for peer in peers}
    train = min(found.train_seconds for found in theirs.values())
    rank = min(found.rank_microseconds for found in theirs.values())
    rows: list[list[Value]] = []
    for own, found in ours.items():
        rows.append([own, *found, train / found.train_seconds, rank / found.rank_microseconds])
    rows += [[other, *found, None, None] for other, found in theirs.items()]
    classes = parts.y.shape[1] if issparse(parts.y) else int(parts.y.max()) + 1
    return Section(title, [Table(COLUMNS, rows)], f"{parts.X.shape[0]:,} training rows, {classes:,} classes.")


def fit(kind: Any, params: dict[str, Any], parts: Parts) -> Any:
    return kind(random_state=0, **params).fit(parts.X, parts.y)


def rank_classes(model: Any, X: csr_array) -> np.ndarray:
    """Return the classes that a model ranks first, -1 pads."""
    ranks = model.rank(X, DEPTH)
    return np.where(ranks >= 0, model.classes_[np.maximum(ranks, 0)], -1)


def measure(parts: Parts, times: int, train: Callable[[], Any], rank: Callable[[Any], np.ndarray]) -> Measured:
    """Return the fastest training and ranking of several."""
    trainings, rankings = [], []
    for _ in range(times):
        begun = time.process_time()
        model = train()
        trained = time.process_time()
        ranked = rank(model)
        rankings.append(time.process_time() - trained)
        trainings.append(trained - begun)
    return judge(parts, min(trainings), min(rankings), ranked)


def judge(parts: Parts, train_seconds: float, rank_seconds: float, ranked: np.ndarray) -> Measured:
    """Return times and accuracy by the classes that each row ranks first."""
    if issparse(parts.y_test):
        hits = np.take_along_axis(parts.y_test.toarray(), np.maximum(ranked, 0), axis=1).astype(bool) & (ranked >= 0)
    else:
        hits = (ranked == parts.y_test[:, np.newaxis]) & (ranked >= 0)
    microseconds = rank_seconds / ranked.shape[0] * 1e6
    return Measured(train_seconds, microseconds, float(hits[:, 0].mean()), float(hits.any(axis=1).mean()))


def measure_peer(parts: Parts, times: int, name: str, params: Mapping[str, Any]) -> tuple[float, float, np.ndarray]:
    """Return seconds of the fastest training and ranking, and the ranked classes. Converting the rows is not timed."""
    session = Session()
    python = build_environments([name], session, NullProgress())[name].python
    target = session.catalog.learner(name).spec.load
    with tempfile.TemporaryDirectory() as folder:
        for file, matrix in (("X", parts.X), ("Y", indicator(parts.y)), ("X_test", parts.X_test)):
            save_npz(Path(folder) / f"{file}.npz", csr_array(matrix).astype(np.float32))
        words = [str(python), "-c", CHILD, folder, str(target), json.dumps(dict(params)), str(times), str(DEPTH)]
        subprocess.run(
            words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )  # the tools print progress bars
        found = np.load(Path(folder) / "found.npz")
        return float(found["train"]), float(found["rank"]), found["ranked"]


def indicator(y: Any) -> csr_array:
    """Return labels as an indicator matrix, rows by classes."""
    return csr_array(y) if issparse(y) else csr_array((np.ones(y.size), (np.arange(y.size), y)))


if __name__ == "__main__":
    main()
