"""Values of columns that rows are parted by, group and time: gathered as text, given back as a number for each row."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import DataError
from harness_files.labels import MISSING

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RowValues:
    """The values of one column so far. A value is numbered when it is first met."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number: dict[str, int] = {}
        self.numbers = array("q")

    def add(self, value: str, where: str) -> None:
        """The value of the next row; DataError where it is missing."""
        if value in MISSING:
            raise DataError(f"{where}: the column {self.name!r}, which parts rows, has no value: fill it in")
        self.numbers.append(self.number.setdefault(value, len(self.number)))

    def codes(self) -> NDArray[np.int64]:
        """A number for each row, which rows of equal values share."""
        return np.array(self.numbers, dtype=np.int64)

    def times(self) -> NDArray[np.int64]:
        """The same, the later the larger; DataError where the values are neither numbers nor ISO 8601."""
        seconds = _read_times(self.name, list(self.number))
        _, place = np.unique(seconds, return_inverse=True)
        return np.asarray(place)[self.codes()]


def _read_times(column: str, values: Sequence[str]) -> list[float]:
    """Times as numbers that can be compared: numbers as they are, dates and times in seconds."""
    for read in (float, _seconds):
        try:
            return list(map(read, values))
        except ValueError:
            continue
    example = next(filter(_is_no_date, values), values[0])
    raise DataError(
        f"the column {column!r} says {example!r}: expected a time in every row, all as numbers or all as ISO 8601 "
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
