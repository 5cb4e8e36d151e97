"""Which rows train and which test. The same for a seed on every machine and with every numpy.

The order comes from a hash of (seed, row), in plain 64-bit integers, not from a library's random stream, which may
change between releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from harness.contract import Dataset
from harness.errors import DataError
from harness.sdk.texts import Texts
from harness.split import ONE_LABEL, Split

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]


def part_data(split: Split, data: Dataset, seed: int) -> tuple[Rows, Rows]:
    """Training and test rows of a data set."""
    return draw_split(split, data.rows, seed, data.splits, data.y, _values(split, data))


def _values(split: Split, data: Dataset) -> Rows | None:
    """A number for each row, by the value that the split goes by; None for a split that goes by none."""
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
    """Training and test rows. The training part comes shuffled: data files are often sorted by class.

    A k-fold split with seed s tests on fold s mod K of shuffle s div K, so that K seeds from a multiple of K on test
    every row once. A stratified one needs the labels: class positions, one a row. One by a column needs its values: a
    number for each row, of a column of times in their order.
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
    """Which rows test: all rows of some values, as many as come nearest to the share, never none and never all.

    The values are drawn by the seed; of times they are the latest, whatever the seed.
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
    """The place of each row, given the labels in shuffled order, when the rows of a class stand together.

    Dealt to K folds from there in turn, the rows of a class are spread within one, and so are all rows. Classes stand
    in the order in which they are met, so that what they are called decides nothing.
    """
    _, first, name = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty(len(labels), dtype=np.int64)
    place[np.argsort(first[name], kind="stable")] = np.arange(len(labels))
    return place


def _stratified(share: float, labels: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """Which rows test, given the labels in shuffled order: of every class its share, up or down to a whole number.

    A class too small to have a row on either side by its share goes into one pool with all such, which is treated like
    a class. What rounding down leaves over goes to the largest remainders, ties by chance, so that the total is that
    of a plain hold-out.
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
    """A permutation of range(rows) decided by the seed alone: rows sorted by their splitmix64 hash."""
    mask = (1 << 64) - 1
    start = np.uint64((seed * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) & mask)
    with np.errstate(over="ignore"):
        z = start + np.arange(1, rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return np.argsort(z, kind="stable").astype(np.int64)
