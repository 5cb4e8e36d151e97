"""Tables of numbers: a row of features and a label in each line of CSV, TSV, JSON lines or Parquet."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness import Dataset
from harness.errors import DataError
from harness_files.columns import Chosen, choose_numbers
from harness_files.labels import LabelRows, check_missing, present, without_label
from harness_files.places import find_parts, option, split_of, tell_splits
from harness_files.rows import Table, open_table


def load_numbers(
    *,
    path: str,
    features: str | None = None,
    label: str | int | None = None,
    test: str | None = None,
    missing: str = "error",
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> Dataset:
    """The columns named as `'height, width'`, else all but the label's, as they are; the label column's classes."""
    check_missing(missing)
    asked = {"features": features, "label": label}
    open_it = partial(open_table, asked=asked, delimiter=delimiter, header=header, encoding=encoding)
    labels, values = LabelRows(), array("d")
    sizes, width, dropped = [], 0, 0
    for file in find_parts(path, test):
        before = len(labels.sizes)
        with open_it(file) as table:
            chosen = choose_numbers(table, asked)
            width = len(chosen.text)
            dropped += _read(table, chosen, labels, values, missing)
        sizes.append(len(labels.sizes) - before)
    if not labels.sizes:
        raise DataError(f"{path} holds no rows: expected a line of column names, then a line for each row of numbers")
    X = csr_array(np.array(values).reshape(-1, width), dtype=np.float32)
    splits = split_of(sizes)
    drops = f", {dropped:,} without a label dropped" if dropped else ""
    found = f"{X.shape[0]:,} rows of {Path(path).name}{drops}, {width:,} features, {len(labels.number):,} classes"
    return Dataset(X, labels.positions(), labels.names, None, splits, f"{found}, {chosen.told}{tell_splits(splits)}")


def _read(table: Table, chosen: Chosen, labels: LabelRows, values: array[float], missing: str) -> int:
    """Put down labels and numbers of all rows that have a label; gives how many have none."""
    names = [table.columns[place] for place in chosen.text]
    lacking = array("q")
    for line, cells in table.read(chosen.columns):
        where = f"{table.name}, line {line}"
        found = present([str(cells[-1] if cells[-1] is not None else "")])
        if not found:
            lacking.append(line)
            continue
        labels.add(found, where)
        values.extend(_numbers(cells[:-1], names, where))
    if lacking and missing == "error":
        raise without_label(table.name, lacking, option("missing", "drop", table.name))
    return len(lacking)


def _numbers(cells: Sequence[Any], names: Sequence[str], where: str) -> list[float]:
    """The cells of a row as numbers; DataError names the first that is none."""
    numbers = []
    for cell, name in zip(cells, names, strict=True):
        try:
            number = float(cell)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise DataError(
                f"{where}: the column {name!r} says {cell!r}: expected a number; choose columns with features="
            )
        numbers.append(number)
    return numbers
