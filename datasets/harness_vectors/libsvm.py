"""Helpers of the datasets in LIBSVM format: rows of `class feature:value ...`, features numbered from 1."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import IO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from harness.errors import DataError
from harness.sdk.reading.raw import RawFiles
from harness.sdk.reading.sparse_text import read_svmlight

Part = tuple[csr_array, NDArray[np.str_]]
"""Rows and the class of each, as written."""


def read_part(raw: RawFiles, name: str, stream: IO[bytes]) -> Part:
    """Read the rows of a file; DataError unless each row has exactly one class and no feature 0.

    Parameters
    ----------
    raw : RawFiles
        The files of the dataset, for error messages.
    name : str
        Name of the file.
    stream : binary file
        Content of the file.
    """
    try:
        text = read_svmlight(stream, name=name)
    except DataError as error:
        raise raw.error(error.trouble) from error
    for row, labels in enumerate(text.labels, 1):
        if len(labels) != 1:
            found = ",".join(labels) or "none"
            raise raw.error(f"{name}, row {row}: expected one class, found {found}")
    if not text.labels:
        raise raw.error(f"{name} holds no rows")
    if text.X.shape[1] and text.X[:, [0]].nnz:
        raise raw.error(f"{name} has a feature 0; expected features numbered from 1")
    return text.X, np.array(list(itertools.chain(*text.labels)))


def joined(raw: RawFiles, parts: Iterable[Part], features: int | None = None) -> Part:
    """Return all rows one after the other, with feature 1 in column 0.

    Parameters
    ----------
    raw : RawFiles
        The files of the dataset, for error messages.
    parts : iterable of Part
        Rows and classes of each file.
    features : int or None, default=None
        Number of columns. None means the largest feature.
    """
    rows, classes = zip(*parts, strict=True)
    width = max(1, *(X.shape[1] for X in rows)) - 1
    if features is not None and width > features:
        raise raw.error(f"found a feature {width}; expected none above {features}")
    width = features or width
    moved = []
    for X in rows:
        moved.append(csr_array((X.data, X.indices - 1, X.indptr), shape=(X.shape[0], width)))
    return csr_array(vstack(moved, format="csr")), np.concatenate(classes)


def numbered(classes: NDArray[np.str_]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of the classes, numbers in their order, and the position of each row's class."""
    written: list[str] = classes.tolist()
    names = sorted(set(written), key=_value_and_name)
    place = {name: position for position, name in enumerate(names)}
    return tuple(names), np.array([place[name] for name in written], dtype=np.int64)


def _value_and_name(name: str) -> tuple[float, str]:
    try:
        return float(name), name
    except ValueError:
        return float("inf"), name
