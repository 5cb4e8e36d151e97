"""Splits without the labels of the test rows, for the learner's process.

The host, or the worker of a cluster, draws the split of a trial. It writes the positions of the rows and the training
labels to an unnamed file, which the trial's process inherits. The labels of the test rows stay with the host, which
scores the trial.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from harness.data.arrays import open_dataset, rows_folder
from harness.data.split import part_data
from harness.errors import ContractError
from harness.executors.base import Sealed
from harness.files.home import downloads_root, parsed_root, raw_root
from harness.host.contract import Dataset, Labels, Taxonomy
from harness.syntax.split import Split

KEPT_SPLITS = 4
"""Number of splits that the host caches in memory, because the trials of several learners share a split."""


@dataclass(frozen=True)
class LabelledSplit:
    """The split of a trial with all labels. It is never sent to the trial's process.

    Attributes
    ----------
    train, test : arrays of int
        Positions of the training and the test rows.
    y_train, y_test : array of int, or sparse indicator matrix
        Their labels.
    """

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    y_train: Labels
    y_test: Labels
    n_classes: int
    taxonomy: Taxonomy | None


def draw_labelled(split: Split, data: Dataset, seed: int) -> LabelledSplit:
    """Split a dataset with a seed, and return the positions and labels of both parts.

    Parameters
    ----------
    split : Split
        The kind of split.
    data : Dataset
        The dataset with all labels.
    seed : int
        Seed of the split.
    """
    train, test = part_data(split, data, seed)
    return LabelledSplit(train, test, data.y[train], data.y[test], len(data.class_names), data.taxonomy)


@lru_cache(KEPT_SPLITS)
def open_labelled(folder: str, split: Split, seed: int) -> LabelledSplit:
    """Open a stored dataset and return its split for a seed; recent splits are cached.

    Parameters
    ----------
    folder : str
        Folder of the stored dataset.
    split : Split
        The kind of split.
    seed : int
        Seed of the split.
    """
    return draw_labelled(split, open_dataset(Path(folder)), seed)


@dataclass(frozen=True)
class SealedSplit:
    """The split of a trial without the labels of the test rows: the part that the trial's process receives."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    y: Labels
    """Labels of the training rows."""


def write_sealed(drawn: LabelledSplit) -> BinaryIO:
    """Return an unnamed file with the positions of both parts and the labels of the training rows."""
    file = _unnamed_file()
    y = drawn.y_train
    labels = [y.indptr, y.indices, y.data, np.array(y.shape)] if issparse(y) else [y]
    for array in (drawn.train, drawn.test, *labels):
        np.save(file, np.ascontiguousarray(array))
    file.flush()
    return file


def read_sealed(handle: int) -> SealedSplit:
    """Return the split in a file that `write_sealed` or `seal` wrote.

    Parameters
    ----------
    handle : int
        The descriptor of the open file, which stays open.

    Raises
    ------
    ContractError
        If the split could not be drawn; the file then has the error.
    """
    with open(handle, "rb", closefd=False) as file:
        file.seek(0)
        arrays = []
        while file.peek(1):
            arrays.append(np.load(file, allow_pickle=False))
    if len(arrays) == 1:
        raise ContractError(str(arrays[0]))
    train, test, *labels = arrays
    return SealedSplit(train, test, _labels_from(labels))


def seal(payload: Any, folder: str, split: Split, seed: int) -> Sealed:
    """Return a payload with the split of a stored dataset, and the folders to hide because they have labels.

    If the split cannot be drawn, the file has the error instead, and `read_sealed` raises it in the trial's process.
    So the trial fails and the run goes on.

    Parameters
    ----------
    payload : object
        The job for the process.
    folder : str
        The folder of the stored dataset.
    split, seed : Split and int
        Decide which rows are training rows.
    """
    try:
        file = write_sealed(open_labelled(folder, split, seed))
    except Exception as error:  # a missing or damaged dataset can raise any type
        file = _unnamed_file()
        np.save(file, np.array(f"{type(error).__name__}: {error}"))
        file.flush()
    hidden = (folder, *map(str, (parsed_root(), raw_root(), downloads_root())))
    return Sealed(payload, file, hidden, (str(rows_folder(folder)),))


def _labels_from(arrays: list[NDArray[Any]]) -> Labels:
    if len(arrays) == 1:
        return arrays[0]
    indptr, indices, data, shape = arrays
    return csr_array((data, indices, indptr), shape=tuple(shape.tolist()))


def _unnamed_file() -> BinaryIO:
    """Return an empty file without a name; it is in memory if the system supports that."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("harness-split"), "w+b")
    return tempfile.TemporaryFile()
