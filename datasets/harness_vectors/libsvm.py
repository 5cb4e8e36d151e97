"""What the data sets in LIBSVM form share: rows of `class feature:value ...`, features numbered from 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from harness.errors import DataError
from harness.sdk.reading.sparse_text import read_svmlight

Part = tuple[csr_array, NDArray[np.str_]]
"""Rows and the class of each, as written."""


def read_part(dataset: str, name: str, stream: IO[bytes]) -> Part:
    """The rows of a file; exactly one class a row, no feature 0."""
    text = read_svmlight(stream, name=f"data set {dataset!r}: {name}")
    for row, labels in enumerate(text.labels):
        if len(labels) != 1:
            found = ",".join(labels) or "none"
            raise DataError(f"data set {dataset!r}: {name}, row {row + 1}: expected one class, found {found}")
    if not text.labels:
        raise DataError(f"data set {dataset!r}: {name} holds no rows")
    if text.X.shape[1] and text.X[:, [0]].nnz:
        raise DataError(f"data set {dataset!r}: {name} has a feature 0; expected features numbered from 1")
    return text.X, np.array([label for (label,) in text.labels])


def joined(dataset: str, parts: Iterable[Part], features: int | None = None) -> Part:
    """All rows one after the other, feature 1 in column 0; as wide as told, or as the largest feature."""
    rows, classes = zip(*parts, strict=True)
    width = max(1, *(X.shape[1] for X in rows)) - 1
    if features is not None and width > features:
        raise DataError(f"data set {dataset!r}: found a feature {width}; expected none above {features}")
    width = features or width
    moved = [csr_array((X.data, X.indices - 1, X.indptr), shape=(X.shape[0], width)) for X in rows]
    return csr_array(vstack(moved, format="csr")), np.concatenate(classes)


def numbered(classes: NDArray[np.str_]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The names of the classes, numbers in their order, and the position of each row's class among them."""
    written: list[str] = classes.tolist()
    names = sorted(set(written), key=lambda name: (_value(name), name))
    place = {name: position for position, name in enumerate(names)}
    return tuple(names), np.array([place[name] for name in written], dtype=np.int64)


def _value(name: str) -> float:
    try:
        return float(name)
    except ValueError:
        return float("inf")
