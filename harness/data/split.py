"""Draw the training and test rows of a split, and seal the labels of the test rows.

A seed draws the same split on every machine and with every version of numpy. To ensure this, rows are ordered by a
64-bit hash of seed and row; the random generators of a library may change between releases.

The host, or the worker of a cluster, draws the split of a trial. It writes the positions of the rows and the training
labels to an unnamed file, which the trial's process inherits. The labels of the test rows stay with the host, which
scores the trial.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from harness.data.arrays import open_dataset, rows_folder
from harness.errors import ContractError, DataError
from harness.executors.base import Sealed
from harness.files.home import downloads_root, parsed_root, raw_root
from harness.host.contract import Dataset, Labels, Taxonomy
from harness.sdk.texts import Texts
from harness.syntax.split import ONE_LABEL, TUNING, Split

Positions = NDArray[np.int64]

RESERVING_SEED = 2**31
"""Beyond the seeds of trials, so the reserved rows are in no test part of any trial."""
KEPT_SPLITS = 4
"""Number of splits that the host caches in memory, because the trials of several learners share a split."""


def part_data(split: Split, data: Dataset, seed: int) -> tuple[Positions, Positions]:
    """Return the positions of the training rows, shuffled, and of the test rows of a dataset.

    Parameters
    ----------
    split : Split
        The kind of split.
    data : Dataset
        The dataset.
    seed : int
        Seed of the shuffle.

    Raises
    ------
    HarnessError
        If the dataset lacks the column, the texts or the fixed split that the split needs.
    """
    return draw_split(split, data.rows, seed, data.splits, data.y, _values(split, data))


def _values(split: Split, data: Dataset) -> Positions | None:
    """Return the values by which a split groups or orders rows, as a number for each row; None for other splits."""
    split.check_columns(data.groups, data.times, data.texts is not None)
    if split.by_text and data.texts is not None:
        return Texts.of(data.texts).codes()
    if split.by_column:
        columns = data.groups if split.kind == "grouped" else data.times
        return np.asarray(columns[split.name])
    return None


def draw_split(
    split: Split,
    rows: int,
    seed: int,
    given: Mapping[str, tuple[Positions, Positions]],
    labels: object = None,
    values: Positions | None = None,
) -> tuple[Positions, Positions]:
    """Return the positions of the training rows, shuffled, and of the test rows.

    Training rows are shuffled because data files are often sorted by class. A split with K folds and seed s tests on
    fold s mod K of the shuffle with seed s div K. K consecutive seeds that start at a multiple of K therefore test each
    row once.

    Parameters
    ----------
    split : Split
        The kind of split, its share of test rows or its number of folds.
    rows : int
        The number of rows of the dataset.
    seed : int
        Seed of the shuffle.
    given : mapping of str to tuple of 2 Rows
        The fixed splits of the dataset, by name.
    labels : object, optional
        Class positions, for stratified splits.
    values : Rows, optional
        A number for each row, for splits by group or time: equal in a group, larger for later times.

    Examples
    --------
    >>> from harness.syntax.split import parse_split
    >>> train, test = draw_split(parse_split("holdout:0.2"), 10, 0, {})
    >>> len(train), len(test)
    (8, 2)
    """
    if split.kind == "given":
        train, test = given[split.given_name(given)]
        return np.asarray(train)[shuffled(len(train), seed)], np.asarray(test)
    if split.kind == TUNING:
        pool = np.asarray(given[split.name][0]) if split.name else _reserved(split, rows)
        order = pool[shuffled(len(pool), seed)]
        n_test = round(split.share * len(pool))
        return order[n_test:], order[:n_test]
    if split.by_column:
        assert values is not None
        order = shuffled(rows, seed)
        tests = _complete_groups(split, values, seed)[order]
    elif split.folds:
        order = shuffled(rows, seed // split.folds)
        dealt = np.arange(rows)
        if split.is_stratified:
            dealt = _by_class(_one_label_a_row(labels, rows)[order])
        tests = dealt % split.folds == seed % split.folds
    elif split.is_stratified:
        order = shuffled(rows, seed)
        tests = _stratified(split.share, _one_label_a_row(labels, rows)[order], seed)
    else:
        order = shuffled(rows, seed)
        can_test = ~np.isin(order, _reserved(split, rows)) if split.reserve else np.ones(rows, dtype=np.bool_)
        tests = can_test & (np.cumsum(can_test) <= round(split.share * rows))
    return order[~tests], order[tests]


def _reserved(split: Split, rows: int) -> Positions:
    """Return the rows that a split reserves for tuning: the same for every seed."""
    return shuffled(rows, RESERVING_SEED)[: round(split.reserve * rows)]


def _complete_groups(split: Split, values: Positions, seed: int) -> NDArray[np.bool_]:
    """Return a mask of the test rows, in which rows with equal values are never separated.

    The number of test rows is as near to the share as possible, but neither part is empty. For groups, the seed draws
    the values of the test rows. For times, the latest values are taken.
    """
    distinct, value, sizes = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        raise DataError(f"split '{split}': all rows share one value, and go to one part. Choose another column.")
    order = shuffled(len(distinct), seed) if split.kind == "grouped" else np.arange(len(distinct))[::-1]
    totals = np.cumsum(sizes[order])
    nearest = int(np.abs(totals - split.share * len(values)).argmin()) + 1
    chosen = np.zeros(len(distinct), dtype=np.bool_)
    chosen[order[: min(nearest, len(distinct) - 1)]] = True
    return chosen[value]


def _one_label_a_row(labels: object, rows: int) -> NDArray[np.int64]:
    if not isinstance(labels, np.ndarray) or labels.shape != (rows,):
        raise DataError(f"a stratified split {ONE_LABEL}")
    return labels


def _by_class(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each row when rows are sorted by class, for labels in shuffled order.

    If rows are dealt to K folds in this order, the sizes of two folds differ by at most one row, for each class and in
    total. Classes are ordered by their first row, not by their position in the dataset.
    """
    _, first, name = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(len(labels), dtype=np.int64)
    place[np.argsort(first[name], kind="stable")] = np.arange(len(labels))
    return place


def _stratified(share: float, labels: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """Return a mask of the test rows with the same share of each class, for labels in shuffled order.

    Classes that are too small to have a row in both parts are pooled and treated as one class. The share of each class
    is rounded down. The test rows that are then missing from the share of all rows are taken from the classes with the
    largest remainders, ties in random order.
    """
    counts = np.bincount(labels)
    enough = counts * min(share, 1 - share) >= 1
    stratum = np.where(enough, np.arange(len(counts)), len(counts))[labels]
    sizes = np.bincount(stratum, minlength=len(counts) + 1)
    wanted = share * sizes
    tests = np.floor(wanted).astype(np.int64)
    left = max(0, round(share * len(labels)) - int(tests.sum()))
    chance = shuffled(len(sizes), seed)
    by_remainder = chance[np.argsort(-(wanted - tests)[chance], kind="stable")]
    tests[by_remainder[:left]] += 1
    together = np.argsort(stratum, kind="stable")
    first = np.cumsum(sizes) - sizes
    place = np.empty(len(labels), dtype=np.int64)
    place[together] = np.arange(len(labels)) - first[stratum[together]]
    return np.asarray(place < tests[stratum])


def shuffled(rows: int, seed: int) -> Positions:
    """Return a permutation of range(rows) that depends on the seed only: rows sorted by their splitmix64 hash.

    Parameters
    ----------
    rows : int
        The number of rows.
    seed : int
        Any integer; equal seeds give equal permutations on every machine.

    Examples
    --------
    >>> sorted(shuffled(4, seed=0).tolist())
    [0, 1, 2, 3]
    """
    mask = (1 << 64) - 1
    start = np.uint64((seed * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) & mask)
    with np.errstate(over="ignore"):
        z = start + np.arange(1, rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return np.argsort(z, kind="stable").astype(np.int64)


# -- sealed splits ---------------------------------------------------------------------------------------------------


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
    """Split a dataset with a seed, and return the positions and labels of both parts."""
    train, test = part_data(split, data, seed)
    return LabelledSplit(train, test, data.y[train], data.y[test], len(data.class_names), data.taxonomy)


@lru_cache(KEPT_SPLITS)
def open_labelled(folder: str, split: Split, seed: int) -> LabelledSplit:
    """Open a stored dataset and return its split for a seed; recent splits are cached."""
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
    payload
        The job for the process.
    folder : str
        The folder of the stored dataset.
    split, seed
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
