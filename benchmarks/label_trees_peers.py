"""The other tools of label_trees.py: omikuji in this process, PECOS in one of an environment that has it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, save_npz
from svm_speed import Parts

PECOS_CHILD = """
import sys, time
import numpy as np, scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
folder, times, depth = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
X, Y, X_test = (sp.csr_matrix(sp.load_npz(f"{folder}/{name}.npz")) for name in ("X", "Y", "X_test"))
trainings, rankings = [], []
for _ in range(times):
    begun = time.process_time()
    clusters = Indexer.gen(LabelEmbeddingFactory.create(Y, X, method="pifa"), threads=1)
    model = XLinearModel.train(X, Y, C=clusters, threads=1)
    trained = time.process_time()
    found = model.predict(X_test, only_topk=depth, beam_size=10, threads=1)
    rankings.append(time.process_time() - trained)
    trainings.append(trained - begun)
ranked = np.full((X_test.shape[0], depth), -1)
for i in range(X_test.shape[0]):
    lo, hi = found.indptr[i], found.indptr[i + 1]
    order = np.argsort(-found.data[lo:hi], kind="stable")
    ranked[i, : hi - lo] = found.indices[lo:hi][order]
np.savez(f"{folder}/found.npz", ranked=ranked, train=min(trainings), rank=min(rankings))
"""


def measure_pecos(parts: Parts, times: int, python: str, depth: int) -> tuple[float, float, np.ndarray]:
    """Seconds of the fastest training and ranking, and the ranks."""
    with tempfile.TemporaryDirectory() as folder:
        for name, matrix in (("X", parts.X), ("Y", indicator(parts.y)), ("X_test", parts.X_test)):
            save_npz(Path(folder) / f"{name}.npz", csr_array(matrix).astype(np.float32))
        subprocess.run([python, "-c", PECOS_CHILD, folder, str(times), str(depth)], check=True)
        found = np.load(Path(folder) / "found.npz")
        return float(found["train"]), float(found["rank"]), found["ranked"]


def indicator(y: Any) -> csr_array:
    """Rows x classes, whatever y is."""
    return csr_array(y) if issparse(y) else csr_array((np.ones(y.size), (np.arange(y.size), y)))


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
    """Rows in that format; one without a feature, which omikuji refuses, gets the last one with next to nothing."""
    X, Y = parts.X, indicator(parts.y)
    with file.open("w") as out:
        out.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for i in range(X.shape[0]):
            lo, hi = X.indptr[i], X.indptr[i + 1]
            pairs = zip(X.indices[lo:hi], X.data[lo:hi], strict=True)
            values = " ".join(f"{f}:{x:.6g}" for f, x in pairs) or f"{X.shape[1] - 1}:1e-6"
            labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
            out.write(f"{labels} {values}\n")


def as_pairs(X: csr_array) -> list[list[tuple[int, float]]]:
    """Rows as omikuji takes them."""
    rows = []
    for lo, hi in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        rows.append(list(zip(X.indices[lo:hi].tolist(), X.data[lo:hi].tolist(), strict=True)))
    return rows


def rank_omikuji(model: Any, rows: list[list[tuple[int, float]]], depth: int) -> np.ndarray:
    ranked = np.full((len(rows), depth), -1)
    for i, pairs in enumerate(rows):
        found = [c for c, _ in model.predict(pairs, top_k=depth)]
        ranked[i, : len(found)] = found
    return ranked
