"""Tables of texts and labels: CSV, TSV, JSON lines, Parquet. Rows are read one at a time."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness import Dataset, Taxonomy
from harness.errors import DataError
from harness.sdk import Texts
from harness_files.columns import Chosen, choose_columns
from harness_files.labels import LabelRows, check_missing, present, without_label
from harness_files.places import find_parts, option, split_of, tell_splits
from harness_files.row_values import RowValues
from harness_files.rows import Table, count_words, open_table
from harness_files.taxonomy import from_file, from_paths

PARTS = {
    **dict.fromkeys(("train", "training", "tr"), "train"),
    **dict.fromkeys(("valid", "validation", "val", "dev", "development"), "validation"),
    **dict.fromkeys(("test", "testing", "te"), "test"),
}
"""What a split column may say. Validation rows are training rows: whoever tunes takes a part of these."""


def load_table(
    *,
    path: str,
    text: str | int | None = None,
    label: str | int | None = None,
    split: str | int | None = None,
    id: str | int | None = None,  # noqa: A002 (what the user calls it)
    group: str | int | None = None,
    time: str | int | None = None,
    test: str | None = None,
    separator: str | None = None,
    levels: str | None = None,
    taxonomy: str | None = None,
    missing: str = "error",
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    min_df: int = 1,
) -> Dataset:
    """The texts of the text columns; the label column's classes. docs/your-data.md tells every option."""
    check_missing(missing)
    files = find_parts(path, test)
    gathered = _Gathered(missing=missing, separator=separator)
    asked = {"text": text, "label": label, "split": split, "id": id, "group": group, "time": time}
    texts = gathered.texts(files, asked, {"delimiter": delimiter, "header": header, "encoding": encoding})
    kept = Texts.of(texts)
    gathered.check(path)
    names = gathered.labels.names
    tree = _taxonomy(gathered.labels, taxonomy, levels, encoding)
    splits = gathered.splits(files)
    depth = _why_no_tree(gathered.labels, levels)
    if tree is not None:
        depth = f" in a tree of depth {tree.depth}"
    found = f"{gathered.told}, {len(names):,} classes{depth}{tell_splits(splits)}"
    groups = {values.name: values.codes() for values in gathered.groups}
    times = {values.name: values.times() for values in gathered.times}
    labels = gathered.labels.positions()
    return Dataset(None, labels, names, tree, splits, found, kept, count_words(min_df), groups, times)


def _taxonomy(labels: LabelRows, file: str | None, levels: str | None, encoding: str | None) -> Taxonomy | None:
    """The tree of a file, or of labels that are paths: as told, or because every one of them has a slash inside."""
    names = labels.names
    if file is not None:
        return from_file(file, labels.met_at, names, encoding)
    if levels is None and all(map(_is_path, names)):
        levels = "/"
    if not levels:
        return None
    return from_paths(names, levels, labels.met_at)


def _is_path(label: str) -> bool:
    return "/" in label and all(map(str.strip, label.split("/")))


def _why_no_tree(labels: LabelRows, levels: str | None) -> str:
    """Where most labels are paths, the first one that is none: a stray label must not lose the tree unseen."""
    others = list(itertools.filterfalse(_is_path, labels.number))
    if not others or levels is not None or 2 * len(others) > len(labels.number):
        return ""
    return f" in no tree ({others[0]!r} is no path, {labels.met_at[others[0]]})"


@dataclass
class _Gathered:
    """What is kept of each row besides its text, and what is told of the whole."""

    missing: str
    separator: str | None
    labels: LabelRows = field(default_factory=LabelRows)
    parts: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    ids: array[int] = field(default_factory=partial(array, "q"))
    lines: array[int] = field(default_factory=partial(array, "q"))
    groups: list[RowValues] = field(default_factory=list)
    times: list[RowValues] = field(default_factory=list)
    dropped: int = 0
    told: str = ""

    def texts(self, files: list[Path], asked: dict[str, Any], options: dict[str, Any]) -> Iterator[str]:
        """The text of every row that is kept; the rest of it is put down on the way."""
        told = []
        for file in files:
            before = len(self.labels.sizes)
            with open_table(file, asked, **options) as table:
                chosen = choose_columns(table, asked)
                if not self.rows:  # a test file beside it has the same columns
                    self.groups = [RowValues(table.columns[place]) for place in chosen.group]
                    self.times = [RowValues(table.columns[place]) for place in chosen.time]
                yield from self._rows(table, chosen)
            self.rows.append(len(self.labels.sizes) - before)
            told.append(f"{self.rows[-1]:,} rows of {file.name} ({table.kind})")
        drops = f", {self.dropped:,} without a label dropped" if self.dropped else ""
        self.told = f"{' and '.join(told)}{drops}, {chosen.told}"

    def _rows(self, table: Table, chosen: Chosen) -> Iterator[str]:
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
                values.add(_as_text(cell).strip(), where)
            if chosen.id is not None:
                self.ids.append(hash(str(cells[-2])))
                self.lines.append(line)
            yield " ".join(map(_as_text, cells[: len(chosen.text)]))
        if lacking and self.missing == "error":
            raise without_label(table.name, lacking, option("missing", "drop", table.name))
        self.dropped += len(lacking)

    def _labels(self, cell: Any) -> list[str] | None:
        """The labels in a cell; None where it has none and must have."""
        may_be_none = True
        if _is_list(cell):
            found = list(cell)
        elif self.separator:
            found = _as_text(cell).split(self.separator)
        else:
            found, may_be_none = [cell], False
        labels = present(map(_as_text, found))
        if labels or (may_be_none and self.missing == "error"):
            return labels
        return None

    def check(self, path: str) -> None:
        """DataError when there is no row at all, or two rows have one id."""
        if not self.labels.sizes:
            raise DataError(f"{path} holds no rows: expected a line of column names, then a line for each text")
        ids = np.array(self.ids, dtype=np.int64)
        _, first, counts = np.unique(ids, return_index=True, return_counts=True)
        if (counts > 1).any():
            row = int(first[counts > 1][0])
            same = np.flatnonzero(ids == ids[row])
            lines = f"{self.lines[same[0]]} and {self.lines[same[1]]}"
            raise DataError(f"{path}, lines {lines} have the same id: remove one, or leave the option id out")

    def splits(self, files: list[Path]) -> dict[str, tuple[Any, Any]]:
        """The split that the split column or the test file makes."""
        if len(files) == 2 or not self.parts:
            return split_of(self.rows)
        tests = np.array(self.parts) == "test"
        if tests.all() or not tests.any():
            raise DataError(f"the split column says {self.parts[0]!r} in every row: expected both train and test")
        return {"given": (np.flatnonzero(~tests), np.flatnonzero(tests))}


def _part(cell: Any, where: str) -> str:
    part = PARTS.get(_as_text(cell).strip().lower())
    if part is None:
        raise DataError(f"{where}: the split column says {_as_text(cell)!r}, expected one of {', '.join(PARTS)}")
    return part


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list | tuple | np.ndarray)


def _as_text(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and cell != cell):  # noqa: PLR0124 (only NaN differs from itself)
        return ""
    if _is_list(cell):
        return " ".join(map(_as_text, cell))
    return str(cell)
