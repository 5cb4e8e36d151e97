"""Draw the training and test rows of a split.

A seed draws the same split on every machine and with every version of numpy. To ensure this, rows are ordered by a
64-bit hash of seed and row; the random generators of a library may change between releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import DataError
from harness.host.contract import Dataset
from harness.sdk.texts import Texts
from harness.syntax.split import ONE_LABEL, Split

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]


def part_data(split: Split, data: Dataset, seed: int) -> tuple[Rows, Rows]:
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


def _values(split: Split, data: Dataset) -> Rows | None:
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
    given: Mapping[str, tuple[Rows, Rows]],
    labels: object = None,
    values: Rows | None = None,
) -> tuple[Rows, Rows]:
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
    if split.by_column:
        assert values is not None
        order = shuffled(rows, seed)
        tests = _whole_values(split, values, seed)[order]
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
        tests = np.arange(rows) < round(split.share * rows)
    return order[~tests], order[tests]


def _whole_values(split: Split, values: Rows, seed: int) -> NDArray[np.bool_]:
    """Return a mask of the test rows, in which rows with equal values are never separated.

    The number of test rows is as near to the share as possible, but neither part is empty. For groups, the seed draws
    the values of the test rows. For times, the latest values are taken.
    """
    distinct, value, sizes = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        raise DataError(f"split '{split}': all rows share one value, and go to one part: choose another column")
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


def shuffled(rows: int, seed: int) -> Rows:
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
