"""Published numbers: a CSV file for each experiment, one line for each published cell.

dataset, learner   the names in the records; learner is the label
metric             the name of a metric
value              as published: 0.912, 6.36%, 87k, 1.6M, 31m, 11m2.43s, 0.14ms; a + at the end: at least
interval           the published ±, in the same way; empty where there is none
source             where it stands: paper, table, row
representation     optional: only trials with this one
recalled           optional: "yes" where the text of the paper that was read does not hold the number
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.contract import MetricSpec
from harness.errors import HarnessError

REQUIRED_COLUMNS = ("dataset", "learner", "metric", "value", "interval", "source")
OPTIONAL_COLUMNS = ("representation", "recalled")
FILLED_COLUMNS = ("dataset", "learner", "metric", "value", "source")
"""What no line may leave empty."""
_SECONDS = {"h": 3600.0, "m": 60.0, "min": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_SCALES = {
    "share": {"": 1.0, "%": 0.01},
    "count": {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9},
    "bytes": {"": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9},
    "seconds": {"": 1.0, **_SECONDS},
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-zµ%]*)\s*")


@dataclass(frozen=True)
class Published:
    """One published number, as it was printed."""

    dataset: str
    learner: str
    metric: str
    value: str
    interval: str
    source: str
    representation: str = ""
    recalled: str = ""

    def read(self, metric: MetricSpec) -> PublishedNumber:
        """The number in the metric's unit; HarnessError names the cell where it is none."""
        try:
            value, at_least = parse_published(self.value, metric.unit)
            interval = None
            if self.interval:
                interval, _ = parse_published(self.interval, metric.unit)
        except ValueError as error:
            culprit = f"published {self.metric} of {self.learner} on {self.dataset}"
            raise HarnessError(str(error), culprit=culprit) from None
        return PublishedNumber(value, interval, at_least)


@dataclass(frozen=True)
class PublishedNumber:
    """What a published cell says, in the unit of its metric."""

    value: float
    interval: float | None
    at_least: bool
    """Whether it is a lower bound only."""


# -- files -----------------------------------------------------------------------------------------------------------


def read_published(path: Path) -> list[Published]:
    """The published numbers of a file; HarnessError names file and line of what is wrong."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            _check_heading(reader.fieldnames or (), path)
            return list(_read_lines(reader, path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise HarnessError(f"cannot be read: {error}", culprit=str(path)) from error


def _check_heading(heading: Sequence[str], path: Path) -> None:
    missing = [name for name in REQUIRED_COLUMNS if name not in heading]
    unknown = [repr(name) for name in heading if name not in REQUIRED_COLUMNS and name not in OPTIONAL_COLUMNS]
    if not missing and not unknown:
        return
    wrong = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(unknown)}"
    expected = f"expected {', '.join(REQUIRED_COLUMNS)}[, {', '.join(OPTIONAL_COLUMNS)}]"
    raise HarnessError(f"the heading {wrong}; {expected}", culprit=str(path))


def _read_lines(reader: csv.DictReader[str], path: Path) -> Iterator[Published]:
    width = len(reader.fieldnames or ())
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        if None in row or None in row.values():  # how csv tells of a line that is too long, or too short
            raise HarnessError(f"{width} fields expected", culprit=where)
        cells = {name: text.strip() for name, text in row.items()}
        for name in FILLED_COLUMNS:
            if not cells[name]:
                raise HarnessError(f"{name} is empty", culprit=where)
        if cells.get("recalled", "") not in ("", "yes"):
            raise HarnessError(f"recalled is {cells['recalled']!r}, expected yes or nothing", culprit=where)
        yield Published(**cells)


# -- numbers ---------------------------------------------------------------------------------------------------------


def parse_published(text: str, unit: str) -> tuple[float, bool]:
    """A published number in the metric's unit, and whether it is a lower bound; ValueError when it is none.

    In a time m is minutes, in a count M is a million; 11m2.43s is one time.
    """
    scales, body = _SCALES[unit], text.rstrip("+").strip()
    value = 0.0
    for number, suffix in _number_parts(body, text, unit):
        if suffix not in scales:
            allowed = ", ".join(repr(scale) for scale in scales if scale)
            raise ValueError(f"{text!r}: unknown unit {suffix!r}, expected one of {allowed}")
        value += float(number) * scales[suffix]
    return value, text.endswith("+")


def _number_parts(body: str, text: str, unit: str) -> list[tuple[str, str]]:
    """Numbers and what stands behind them: one, or in a time several, each with its unit."""
    parts: list[tuple[str, str]] = _PART.findall(body)
    read = "".join(number + suffix for number, suffix in parts)
    whole = read == re.sub(r"\s", "", body)
    one_time = unit == "seconds" and all(suffix for _, suffix in parts)
    if not parts or not whole or (len(parts) > 1 and not one_time):
        raise ValueError(f"{text!r} is no number of {unit}")
    return parts
