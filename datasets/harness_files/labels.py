"""Collects labels row by row, and converts them to class positions and class names."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.errors import DataError

MISSING = frozenset(["", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NULL", "null"])
"""Marks of missing values. "None" and "none" are excluded, since they can be names of classes."""


def present(labels: Iterable[str]) -> list[str]:
    """Return the labels without marks of missing values, and without surrounding spaces.

    Examples
    --------
    >>> present([" Food ", "NA"])
    ['Food']
    """
    stripped = map(str.strip, labels)
    return [label for label in stripped if label not in MISSING]


def without_label(where: str, numbers: Sequence[int], way: str, unit: str = "line") -> DataError:
    """Return the error for rows without a label: their number, the first ones, and the next step.

    Parameters
    ----------
    where : str
        The file.
    numbers : sequence of int
        Numbers of the rows.
    way : str
        The option that drops such rows.
    unit : str, default="line"
        What the numbers count.
    """
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
    """Raise DataError unless `missing` is "error" or "drop"."""
    if missing not in ("error", "drop"):
        raise DataError(f"missing={missing!r} is unknown: expected 'error' or 'drop' for rows without a label")


class LabelRows:
    """The labels of all rows so far. Each class gets a number and keeps the place of its first row."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.met: list[str] = []
        self.labels, self.sizes = array("i"), array("i")

    def add(self, labels: Sequence[str], where: str) -> None:
        """Add the labels of the next row; a repeated label counts once."""
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
        """The class names in order: by value if all are integers, otherwise alphabetically."""
        if all(map(_is_whole_number, self.number)):
            return tuple(sorted(self.number, key=int))
        return tuple(sorted(self.number))

    @property
    def met_at(self) -> dict[str, str]:
        """The place of the first row of each class."""
        return {name: self.met[number] for name, number in self.number.items()}

    def positions(self) -> Any:
        """Return the class position of each row; a sparse indicator matrix if a row has several."""
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
