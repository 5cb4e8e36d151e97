"""Collects labels row by row, and converts them to class positions and class names."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.errors import DataError

MISSING = frozenset(["", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NULL", "null"])
"""Marks of missing values. "None" and "none" are not among them: both are names of classes."""


def present(labels: Iterable[str]) -> list[str]:
    """The labels that are none of the marks for a missing value, stripped of spaces."""
    stripped = map(str.strip, labels)
    return [label for label in stripped if label not in MISSING]


def without_label(where: str, numbers: Sequence[int], way: str, unit: str = "line") -> DataError:
    """The error for rows without a label: with the first ones, their number, and the next step."""
    shown = ", ".join(map(str, numbers[:5]))
    place = f"{unit} {shown}"
    if len(numbers) > 1:
        more = ", ..." if len(numbers) > 5 else ""
        place = f"{unit}s {shown}{more} ({len(numbers):,} rows)"
    return DataError(
        f"{where}, {place}: the label is missing: fill it in, or leave such rows out with {way} "
        "(empty cells, NA, NaN, NULL and the like are missing values, never classes)"
    )


def check_missing(missing: str) -> None:
    """Rows without a label: an error, or dropped; nothing else."""
    if missing not in ("error", "drop"):
        raise DataError(f"missing={missing!r} is unknown: expected 'error' or 'drop' for rows without a label")


class LabelRows:
    """The labels of all rows so far. A class is numbered when it is first met, and remembers where that was."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.met: list[str] = []
        self.labels, self.sizes = array("i"), array("i")

    def add(self, labels: Sequence[str], where: str) -> None:
        """The labels of the next row; a label that stands twice counts once."""
        distinct = dict.fromkeys(labels)
        for label in distinct:
            number = self.number.get(label)
            if number is None:
                number = self.number[label] = len(self.number)
                self.met.append(where)
            self.labels.append(number)
        self.sizes.append(len(distinct))

    @property
    def names(self) -> tuple[str, ...]:
        """The class names in order: by value if all are whole numbers, else by letter."""
        if all(map(_is_whole_number, self.number)):
            return tuple(sorted(self.number, key=int))
        return tuple(sorted(self.number))

    @property
    def met_at(self) -> dict[str, str]:
        """The place of each class's first row."""
        return {name: self.met[number] for name, number in self.number.items()}

    def positions(self) -> Any:
        """Class positions, one a row; where a row has several, a sparse indicator matrix."""
        order = {name: position for position, name in enumerate(self.names)}
        column = np.array([order[name] for name in self.number], dtype=np.int64)
        positions = column[np.array(self.labels, dtype=np.int64)]
        sizes = np.array(self.sizes, dtype=np.int64)
        if (sizes == 1).all():
            return positions
        ends = np.concatenate([[0], np.cumsum(sizes)])
        ones = np.ones(len(positions), dtype=np.int8)
        return csr_array((ones, positions, ends), shape=(len(sizes), len(column)))


def _is_whole_number(name: str) -> bool:
    return name.isascii() and name.removeprefix("-").isdigit()
