"""Data of a benchmark by name: what is trained on and what is asked, represented as a trial of `harness run` has it.

A source is a CSV of short texts, each with its class (a path, with a slash; see svm_speed.py), a .npz as `harness run
--data` takes it, with rows of its own to test on, or a data set that is at hand, with parameters or without: icd10cm,
eurlex4k, "zipf(rows=500000, classes=100000, features=300000)".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from represented import represented
from scipy.sparse import csr_array, issparse
from svm_speed import Parts, read_titles

from harness.api.preparing import preparer
from harness.api.session import Session
from harness.data.arrays import open_dataset
from harness.experiment.dataset_ref import parse_dataset
from harness.experiment.resolve import resolve_dataset
from harness.split import parse_split
from harness.trials.splitting import draw_split


def name_of(source: str) -> str:
    """What a table calls it: a file without its ending, a data set as it is."""
    return source if "(" in source else Path(source).name.partition(".")[0]


def read_source(source: str) -> Parts:
    if source.endswith(".npz"):
        return read_arrays(Path(source))
    return read_titles(Path(source)) if "/" in source else read_named(source)


def read_arrays(file: Path) -> Parts:
    """Rows of an archive, those of `train` and of `test`."""
    held = np.load(file)
    X = csr_array((held["X_data"], held["X_indices"], held["X_indptr"]), shape=tuple(held["X_shape"]))
    y, train, test = held["y"], held["train"], held["test"]
    return numbered(X[train], y[train], X[test], y[test])


def read_named(name: str) -> Parts:
    """A data set by its own split, or a fifth held out, as tf-idf where it has counts or texts."""
    session = Session()
    dataset = resolve_dataset(parse_dataset(name), session.catalog)
    data = open_dataset(Path(preparer(session)(dataset).folder))
    split = f"given:{next(iter(data.splits))}" if data.splits else "holdout:0.2"
    train, test = draw_split(parse_split(split), data.rows, 0, data.splits, data.y)
    X, X_test = represented(data, "tfidf", train, test)
    return numbered(X, data.y[train], X_test, data.y[test])


def numbered(X: csr_array, y: Any, X_test: csr_array, y_test: Any) -> Parts:
    """Classes without a training row are left out of both parts, and the others numbered."""
    if issparse(y):
        y, y_test = csr_array(y), csr_array(y_test)
        seen = np.flatnonzero(y.sum(axis=0))
        return Parts(X, csr_array(y[:, seen]), X_test, csr_array(y_test[:, seen]), None)
    seen, places = np.unique(y, return_inverse=True)
    known = np.where(np.isin(y_test, seen), np.searchsorted(seen, y_test), -1)
    return Parts(X, places, X_test, known, None)
