"""Tables of numbers: each line of CSV, TSV, JSON lines or Parquet has the features and the label of a row."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.tables import ReadOptions, as_text, is_list
from harness_files.columns import choose_numbers
from harness_files.labels import check_missing
from harness_files.places import describe_splits
from harness_files.row_collector import Row, RowCollector, Tables, open_tables


def load_numbers(
    *,
    path: str,
    features: str | int | None = None,
    label: str | int | None = None,
    split: str | int | None = None,
    id: str | int | None = None,  # noqa: A002 (what the user calls it)
    group: str | int | None = None,
    time: str | int | None = None,
    test: str | None = None,
    separator: str | None = None,
    missing: str = "error",
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> Dataset:
    """Load numeric columns and a label column of a table.

    Parameters
    ----------
    path : str
        The file, or a folder with one training file and one test file.
    features : str, int or None, default=None
        Columns of the features, as in `features=height,width`. None means all columns without another purpose.
    label : str, int or None, default=None
        Label column, by name or by number from 1. None chooses it by its name.
    split : str, int or None, default=None
        Column with train, validation or test. None chooses it by its name.
    id : str, int or None, default=None
        Column whose values must be unique.
    group : str, int or None, default=None
        Column for `--split grouped:COLUMN`.
    time : str, int or None, default=None
        Column for `--split time:COLUMN`.
    test : str or None, default=None
        File with the test rows.
    separator : str or None, default=None
        Mark between several labels in a cell.
    missing : {"error", "drop"}, default="error"
        Treatment of rows without a label: "error", or "drop" to skip them.
    delimiter : str or None, default=None
        Mark between the cells of a CSV file. None detects it.
    header : bool or None, default=None
        Whether the first line has column names. None detects it.
    encoding : str or None, default=None
        Encoding of the file. None detects it.

    Returns
    -------
    Dataset
        The rows, in the order of the files.

    Raises
    ------
    DataError
        If the files are missing or malformed. The message has the file and the line.
    """
    check_missing(missing)
    requested = {"features": features, "label": label, "split": split, "id": id, "group": group, "time": time}
    tables = open_tables(path, test, requested, ReadOptions(delimiter=delimiter, header=header, encoding=encoding))
    return read_numbers(tables, path, requested, missing, separator)


def read_numbers(
    tables: Tables, path: str, requested: Mapping[str, Any], missing: str, separator: str | None = None
) -> Dataset:
    """Return the dataset of tables with numbers and labels."""
    collected = RowCollector(missing, separator)
    X = _matrix(collected.read(tables, partial(choose_numbers, requested=requested)))
    collected.check(path, "row of numbers")
    labels, splits = collected.labels, collected.splits()
    found = f"{collected.summary}, {X.shape[1]:,} features, {len(labels.names):,} classes{describe_splits(splits)}"
    return Dataset(
        X=X,
        y=labels.positions(),
        class_names=labels.names,
        splits=splits,
        found=found,
        **collected.parting(),
    )


def _matrix(rows: Iterator[Row]) -> csr_array:
    """Return the non-zero numbers of all rows."""
    data, indices, ends = array("f"), array("i"), array("q", [0])
    width, first = 0, ""
    for row in rows:
        numbers = [number for cell in _cells(row) for number in cell.numbers(row.where)]
        first, width = first or row.where, width or len(numbers)
        if len(numbers) != width:
            raise DataError(f"{row.where}: {len(numbers):,} features, but {first} has {width:,}")
        for place, number in enumerate(numbers):
            if number:
                data.append(number)
                indices.append(place)
        ends.append(len(data))
    pieces = (np.array(data, np.float32), np.array(indices, np.int32), np.array(ends, np.int64))
    return csr_array(pieces, shape=(len(ends) - 1, width))


@dataclass(frozen=True)
class _Cell:
    """A cell with features, and its column."""

    value: Any
    column: str
    values: Sequence[str] | None
    """The values of the column, if known; then each value is a separate feature."""

    def numbers(self, where: str) -> Iterator[float]:
        """Yield its features: one, one for each possible value, or as many as the cell's list holds."""
        if self.values is not None:
            text = as_text(self.value)
            yield from (float(text == value) for value in self.values)
            return
        cells = self.value if is_list(self.value) else [self.value]
        for cell in cells:
            yield self._number(cell, where)

    def _number(self, cell: Any, where: str) -> float:
        try:
            number = float(cell)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise DataError(
                f"{where}: the column {self.column!r} has {cell!r}: expected a number; choose columns with features="
            )
        return number


def _cells(row: Row) -> Iterator[_Cell]:
    for value, place in zip(row.cells, row.chosen.text, strict=True):
        yield _Cell(value, row.table.columns[place], row.table.values.get(place))
