"""Training and test rows of the benchmarks, represented as in a trial.

A source is a path to a CSV of short texts with their classes, a .npz file of `harness run --data` with its own test
rows, or a dataset with or without parameters: icd10cm, "zipf(rows=500000, classes=100000, features=300000)".
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse
from sklearn.feature_extraction.text import TfidfVectorizer

from harness import Taxonomy
from harness.data.arrays import header_of, open_dataset
from harness.data.load import checked
from harness.data.split import draw_split
from harness.experiment.references import find_representation, parse_dataset, plan_representation
from harness.experiment.resolve import preparer, resolve_dataset
from harness.host.catalog import Catalog
from harness.host.contract import Dataset
from harness.host.discovery import Session, discover
from harness.syntax.split import parse_split
from harness.trials.data import represent, rows_for
from harness_text.classes import tree_of_paths


class Parts(NamedTuple):
    """Represented training and test rows; classes or a label indicator matrix; the taxonomy if there is one."""

    X: csr_array
    y: Any
    X_test: csr_array
    y_test: Any
    taxonomy: Any


def name_of(source: str) -> str:
    """Return the name of a source in tables: a file without its suffix, a dataset as given."""
    return source if "(" in source else Path(source).name.partition(".")[0]


def read_source(source: str, representation: str | None = None, split: str | None = None) -> Parts:
    """Read a source. A representation and a split are those of `harness run`; neither applies to a .npz file."""
    if source.endswith(".npz"):
        return read_arrays(Path(source))
    if representation or split:
        return read_named(source, representation or "tfidf", split)
    return read_titles(Path(source)) if "/" in source else read_named(source)


def read_arrays(file: Path) -> Parts:
    """Read the rows `train` and `test` of an archive."""
    held = np.load(file)
    X = csr_array((held["X_data"], held["X_indices"], held["X_indptr"]), shape=tuple(held["X_shape"]))
    y, train, test = held["y"], held["train"], held["test"]
    return renumber(X[train], y[train], X[test], y[test])


def read_named(name: str, representation: str = "tfidf", split: str | None = None) -> Parts:
    """Read a dataset, by default as tf-idf, with its own first split or a fifth held out."""
    session = Session()
    dataset = resolve_dataset(parse_dataset(name), session.catalog)
    data = open_dataset(Path(preparer(session)(dataset).folder))
    split = split or (f"given:{next(iter(data.splits))}" if data.splits else "holdout:0.2")
    train, test = draw_split(parse_split(split), data.rows, 0, data.splits, data.y)
    X, X_test = represented(data, representation, train, test)
    return renumber(X, data.y[train], X_test, data.y[test])


def renumber(X: csr_array, y: Any, X_test: csr_array, y_test: Any) -> Parts:
    """Drop classes without a training row from both parts, and number the others."""
    if issparse(y):
        y, y_test = csr_array(y), csr_array(y_test)
        seen = np.flatnonzero(y.sum(axis=0))
        return Parts(X, csr_array(y[:, seen]), X_test, csr_array(y_test[:, seen]), None)
    seen, places = np.unique(y, return_inverse=True)
    known = np.where(np.isin(y_test, seen), np.searchsorted(seen, y_test), -1)
    return Parts(X, places, X_test, known, None)


def read_titles(file: Path) -> Parts:
    """Read a CSV of texts as tf-idf of words, a tenth held out; drop classes without a training row."""
    table = pd.read_csv(file, dtype=str)
    y = pd.factorize(table.iloc[:, 1], sort=True)[0]
    train, test = draw_split(parse_split("holdout:0.1"), y.size, 0, {})
    words = TfidfVectorizer(dtype=np.float32)
    X, X_test = (words.fit_transform(table.iloc[train, 0]), words.transform(table.iloc[test, 0]))
    seen, places = np.unique(y[train], return_inverse=True)
    y_test = np.where(np.isin(y[test], seen), np.searchsorted(seen, y[test]), -1)
    return Parts(csr_array(X), places, csr_array(X_test), y_test, tree_of(pd.unique(table.iloc[train, 1]).tolist()))


def tree_of(codes: list[str]) -> Taxonomy:
    """Return the taxonomy of codes such as 11/111/1111, classes in the order of the codes."""
    return tree_of_paths("codes", [tuple(code.split("/")) for code in sorted(codes)])


def represented(data: Dataset, name: str, train: np.ndarray, test: np.ndarray) -> tuple[csr_array, csr_array]:
    """Return the training and the test rows of a dataset in a representation."""
    sound = checked("data", data)
    counting = find_representation(sound.counting, catalog()) if sound.counting else None
    plan = plan_representation(find_representation(name, catalog()), header_of(sound, ""), counting)
    rows = rows_for(sound, plan.takes_text)
    seen: Any = represent(plan, rows[train], sound.y[train], rows[test])
    return seen.train, seen.test


@cache
def catalog() -> Catalog:
    """Return the catalog of the installed plugins."""
    return discover()
