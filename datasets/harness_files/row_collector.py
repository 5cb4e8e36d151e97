"""Reads the rows of tables one at a time: keeps labels, splits, groups and times, and yields the other cells."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness import TableLayout
from harness.errors import DataError
from harness.sdk.reading.tables import ReadOptions, Table, as_text, is_list, open_table
from harness_files.columns import ColumnChoice, looks_like_names
from harness_files.labels import MISSING, LabelRows, present, without_label
from harness_files.places import find_parts, option, option_of, split_of

PARTS = {
    **dict.fromkeys(("train", "training", "tr"), "train"),
    **dict.fromkeys(("valid", "validation", "val", "dev", "development"), "validation"),
    **dict.fromkeys(("test", "testing", "te"), "test"),
}
"""Values of a split column. Validation rows are training rows, of which tuning uses a part."""

Tables = Sequence[AbstractContextManager[Table]]
"""Tables with the same columns, each opened when its rows are read."""


def open_tables(path: str, test: str | None, requested: Mapping[str, Any], options: ReadOptions) -> Tables:
    """Return the table at `path`, and the test table if there is one, as context managers.

    Parameters
    ----------
    path : str
        The file, or a folder with a training file and a test file.
    test : str or None
        The test file.
    requested : mapping
        Columns set by the user, by purpose.
    options : ReadOptions
        Format of the file.
    """
    options = replace(options, set_option=option_of(path))
    return [_open_table(file, requested, options) for file in find_parts(path, test)]


@contextmanager
def _open_table(file: Path, requested: Mapping[str, Any], options: ReadOptions) -> Iterator[Table]:
    """Open a table; DataError if columns are set by number and the first line might be either names or data."""
    with open_table(file, options) as table:
        by_number = any(isinstance(value, int) for value in requested.values())
        delimiter = table.layout.delimiter
        if options.header is None and delimiter and by_number and not looks_like_names(table.columns, requested):
            first = delimiter.join(table.columns)
            raise DataError(
                f"the first line, {first[:60]!r}, may hold names or data",
                culprit=table.name,
                next_step="Set header=true or header=false.",
            )
        yield table


class Row(NamedTuple):
    """A row without its label: its place, and the cells of the chosen columns."""

    where: str
    table: Table
    chosen: ColumnChoice
    cells: list[Any]


@dataclass
class RowCollector:
    """Collects the label, split, id, group and time of each row while its content is read."""

    missing: str
    separator: str | None = None
    labels: LabelRows = field(default_factory=LabelRows)
    parts: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """Number of rows of each table."""
    ids: array[int] = field(default_factory=partial(array, "q"))
    lines: array[int] = field(default_factory=partial(array, "q"))
    groups: list[RowValues] = field(default_factory=list)
    times: list[RowValues] = field(default_factory=list)
    dropped: int = 0
    summary: str = ""
    layout: TableLayout | None = None
    """Columns and format of the first table."""

    def read(self, tables: Tables, choose: Callable[[Table], ColumnChoice]) -> Iterator[Row]:
        """Yield every row with a label, and keep the other cells.

        Parameters
        ----------
        tables : sequence of context managers
            The tables, opened one after the other.
        choose : callable
            Returns the columns of a table.
        """
        sources = []
        for opening in tables:
            before = len(self.labels.sizes)
            with opening as table:
                chosen = choose(table)
                if not self.rows:  # a test file has the same columns
                    self.groups = [RowValues(table.columns[place]) for place in chosen.group]
                    self.times = [RowValues(table.columns[place]) for place in chosen.time]
                    texts = tuple(table.columns[place] for place in chosen.text)
                    self.layout = replace(table.layout, text=texts, label=table.columns[chosen.label])
                yield from self._rows(table, chosen)
            self.rows.append(len(self.labels.sizes) - before)
            sources.append(f"{self.rows[-1]:,} rows of {PurePath(table.name).name} ({table.kind})")
        drops = f", {self.dropped:,} without a label dropped" if self.dropped else ""
        self.summary = f"{' and '.join(sources)}{drops}, {chosen.summary}"

    def _rows(self, table: Table, chosen: ColumnChoice) -> Iterator[Row]:
        lacking = array("q")
        for line, cells in table.read(chosen.columns):
            where = f"{table.name}, line {line}"
            labels = self._labels(cells[-1])
            if labels is None:
                lacking.append(line)
                continue
            self.labels.add(labels, where)
            if chosen.split is not None:
                self.parts.append(_part(cells[len(chosen.text)], where))
            for values, cell in zip((*self.groups, *self.times), cells[chosen.group_and_time], strict=True):
                values.add(as_text(cell).strip(), where)
            if chosen.id is not None:
                self.ids.append(hash(str(cells[-2])))
                self.lines.append(line)
            yield Row(where, table, chosen, cells[: len(chosen.text)])
        if lacking and self.missing == "error":
            raise without_label(table.name, lacking, option("missing", "drop", table.name))
        self.dropped += len(lacking)

    def _labels(self, cell: Any) -> list[str] | None:
        """Return the labels of a cell; None if the row has no label and is not dropped."""
        may_be_none = True
        if is_list(cell):
            found = list(cell)
        elif self.separator:
            found = as_text(cell).split(self.separator)
        else:
            found, may_be_none = [cell], False
        labels = present(map(as_text, found))
        if labels or (may_be_none and self.missing == "error"):
            return labels
        return None

    def check(self, path: str, row: str) -> None:
        """Raise DataError if there is no row, or two rows have the same id.

        Parameters
        ----------
        path : str
            The file, for the message.
        row : str
            Expected content of a line, for the message.
        """
        if not self.labels.sizes:
            raise DataError(f"{path} holds no rows: expected a line of column names, then a line for each {row}")
        ids = np.array(self.ids, dtype=np.int64)
        _, first, counts = np.unique(ids, return_index=True, return_counts=True)
        if (counts > 1).any():
            twice = int(first[counts > 1][0])
            same = np.flatnonzero(ids == ids[twice])
            lines = f"{self.lines[same[0]]} and {self.lines[same[1]]}"
            raise DataError(f"{path}, lines {lines} have the same id. Remove one, or leave the option id out.")

    def splits(self) -> dict[str, tuple[Any, Any]]:
        """Return the fixed split by the split column, or by the test table."""
        if len(self.rows) == 2 or not self.parts:
            return split_of(self.rows)
        tests = np.array(self.parts) == "test"
        if tests.all() or not tests.any():
            raise DataError(f"the split column has {self.parts[0]!r} in every row: expected both train and test")
        return {"given": (np.flatnonzero(~tests), np.flatnonzero(tests))}

    def parting(self) -> dict[str, Any]:
        """Return the group and time of each row as arguments of `Dataset`."""
        groups = {values.name: values.codes() for values in self.groups}
        times = {values.name: values.times() for values in self.times}
        return {"groups": groups, "times": times}


def _part(cell: Any, where: str) -> str:
    part = PARTS.get(as_text(cell).strip().lower())
    if part is None:
        raise DataError(f"{where}: the split column has {as_text(cell)!r}, expected one of {', '.join(PARTS)}")
    return part


# -- group and time columns ------------------------------------------------------------------------------------------


class RowValues:
    """The values of one column so far. Each distinct value gets a number."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number: dict[str, int] = {}
        self.numbers = array("q")

    def add(self, value: str, where: str) -> None:
        """Add the value of the next row; DataError if it is missing."""
        if value in MISSING:
            raise DataError(f"{where}: the column {self.name!r}, which parts rows, has no value: fill it in")
        self.numbers.append(self.number.setdefault(value, len(self.number)))

    def codes(self) -> NDArray[np.int64]:
        """Return a number for each row; rows with equal values share it."""
        return np.array(self.numbers, dtype=np.int64)

    def times(self) -> NDArray[np.int64]:
        """Return a number for each row, larger for later times.

        DataError for values that are neither numbers nor ISO 8601.
        """
        seconds = _read_times(self.name, list(self.number))
        _, place = np.unique(seconds, return_inverse=True)
        return np.asarray(place)[self.codes()]


def _read_times(column: str, values: Sequence[str]) -> list[float]:
    """Return times as comparable numbers: numbers unchanged, dates and times in seconds."""
    for read in (float, _seconds):
        try:
            return list(map(read, values))
        except ValueError:
            continue
    example = next(filter(_is_no_date, values), values[0])
    raise DataError(
        f"the column {column!r} has {example!r}: expected a time in every row, all as numbers or all as ISO 8601 "
        "(2024-01-31, 2024-01-31 12:30:00)"
    )


def _seconds(value: str) -> float:
    when = datetime.fromisoformat(value)
    return when.timestamp() if when.tzinfo else when.replace(tzinfo=UTC).timestamp()


def _is_no_date(value: str) -> bool:
    try:
        _seconds(value)
    except ValueError:
        return True
    return False
