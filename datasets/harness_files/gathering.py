"""Rows of tables, one at a time: labels, parts, groups and the like are put down on the way, the rest is passed on."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from harness.errors import DataError
from harness_files.columns import Chosen
from harness_files.labels import LabelRows, present, without_label
from harness_files.places import option, split_of
from harness_files.row_values import RowValues
from harness_files.rows import Table

PARTS = {
    **dict.fromkeys(("train", "training", "tr"), "train"),
    **dict.fromkeys(("valid", "validation", "val", "dev", "development"), "validation"),
    **dict.fromkeys(("test", "testing", "te"), "test"),
}
"""What a split column may say. Validation rows are training rows: whoever tunes takes a part of these."""

Tables = Sequence[AbstractContextManager[Table]]
"""What rows are read from, each opened when its turn comes; all have the same columns."""


class Row(NamedTuple):
    """What a row brings beside its label: where it stands, and the cells of the columns that were chosen."""

    where: str
    table: Table
    chosen: Chosen
    cells: list[Any]


@dataclass
class Gathered:
    """What is kept of each row besides its content, and what is told of the whole."""

    missing: str
    separator: str | None = None
    labels: LabelRows = field(default_factory=LabelRows)
    parts: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """How many each table brought."""
    ids: array[int] = field(default_factory=partial(array, "q"))
    lines: array[int] = field(default_factory=partial(array, "q"))
    groups: list[RowValues] = field(default_factory=list)
    times: list[RowValues] = field(default_factory=list)
    dropped: int = 0
    told: str = ""

    def read(self, tables: Tables, choose: Callable[[Table], Chosen]) -> Iterator[Row]:
        """Every row that is kept."""
        told = []
        for opening in tables:
            before = len(self.labels.sizes)
            with opening as table:
                chosen = choose(table)
                if not self.rows:  # a test file beside it has the same columns
                    self.groups = [RowValues(table.columns[place]) for place in chosen.group]
                    self.times = [RowValues(table.columns[place]) for place in chosen.time]
                yield from self._rows(table, chosen)
            self.rows.append(len(self.labels.sizes) - before)
            told.append(f"{self.rows[-1]:,} rows of {PurePath(table.name).name} ({table.kind})")
        drops = f", {self.dropped:,} without a label dropped" if self.dropped else ""
        self.told = f"{' and '.join(told)}{drops}, {chosen.told}"

    def _rows(self, table: Table, chosen: Chosen) -> Iterator[Row]:
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
            for values, cell in zip((*self.groups, *self.times), cells[chosen.parting], strict=True):
                values.add(as_text(cell).strip(), where)
            if chosen.id is not None:
                self.ids.append(hash(str(cells[-2])))
                self.lines.append(line)
            yield Row(where, table, chosen, cells[: len(chosen.text)])
        if lacking and self.missing == "error":
            raise without_label(table.name, lacking, option("missing", "drop", table.name))
        self.dropped += len(lacking)

    def _labels(self, cell: Any) -> list[str] | None:
        """The labels in a cell; None where it has none and must have."""
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
        """DataError when there is no row at all, or two rows have one id; `row` is what a line should have held."""
        if not self.labels.sizes:
            raise DataError(f"{path} holds no rows: expected a line of column names, then a line for each {row}")
        ids = np.array(self.ids, dtype=np.int64)
        _, first, counts = np.unique(ids, return_index=True, return_counts=True)
        if (counts > 1).any():
            twice = int(first[counts > 1][0])
            same = np.flatnonzero(ids == ids[twice])
            lines = f"{self.lines[same[0]]} and {self.lines[same[1]]}"
            raise DataError(f"{path}, lines {lines} have the same id: remove one, or leave the option id out")

    def splits(self) -> dict[str, tuple[Any, Any]]:
        """The split that the split column or a test table beside the other makes."""
        if len(self.rows) == 2 or not self.parts:
            return split_of(self.rows)
        tests = np.array(self.parts) == "test"
        if tests.all() or not tests.any():
            raise DataError(f"the split column says {self.parts[0]!r} in every row: expected both train and test")
        return {"given": (np.flatnonzero(~tests), np.flatnonzero(tests))}

    def parting(self) -> dict[str, Any]:
        """The numbers by which rows can be parted, as a data set takes them."""
        groups = {values.name: values.codes() for values in self.groups}
        times = {values.name: values.times() for values in self.times}
        return {"groups": groups, "times": times}


def _part(cell: Any, where: str) -> str:
    part = PARTS.get(as_text(cell).strip().lower())
    if part is None:
        raise DataError(f"{where}: the split column says {as_text(cell)!r}, expected one of {', '.join(PARTS)}")
    return part


def is_list(cell: Any) -> bool:
    """Whether a cell holds several values."""
    return isinstance(cell, list | tuple | np.ndarray)


def as_text(cell: Any) -> str:
    """A cell as text; nothing for a missing value, and several values with spaces between."""
    if cell is None or (isinstance(cell, float) and cell != cell):  # noqa: PLR0124 (only NaN differs from itself)
        return ""
    if is_list(cell):
        return " ".join(map(as_text, cell))
    return str(cell)
