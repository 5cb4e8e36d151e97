"""Published numbers beside ours: a CSV file for each experiment, one line for each published cell.

dataset, learner   the names in the records; learner is the label
metric             the name of a metric
value              as published: 0.912, 6.36%, 87k, 1.6M, 31m, 11m2.43s, 0.14ms; a + at the end: at least
interval           the published ±, in the same way; empty where there is none
source             where it stands: paper, table, row
representation     optional: only trials with this one
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.stats import Summary, summarise
from harness.tables.format import format_value
from harness.tables.grid import Grid
from harness.tables.groups import Line, values_of

REQUIRED = ("dataset", "learner", "metric", "value", "interval", "source")
OPTIONAL = ("representation",)
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
    """One published number."""

    dataset: str
    learner: str
    metric: str
    value: str
    interval: str
    source: str
    representation: str = ""


def read_published(path: Path) -> list[Published]:
    """The published numbers of a file; HarnessError names file and line of what is wrong."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            heading = tuple(reader.fieldnames or ())
            missing = [name for name in REQUIRED if name not in heading]
            unknown = [name for name in heading if name not in (*REQUIRED, *OPTIONAL)]
            if missing or unknown:
                wrong = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(map(repr, unknown))}"
                raise HarnessError(f"{path}: the heading {wrong}; expected {', '.join(REQUIRED)}[, representation]")
            found = []
            for row in reader:
                if None in row or None in row.values():
                    raise HarnessError(f"{path}, line {reader.line_num}: {len(heading)} fields expected")
                empty = [name for name in ("dataset", "learner", "metric", "value", "source") if not row[name].strip()]
                if empty:
                    raise HarnessError(f"{path}, line {reader.line_num}: {empty[0]} is empty")
                found.append(Published(**{name: text.strip() for name, text in row.items()}))
            return found
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise HarnessError(f"{path}: cannot be read: {error}") from error


def parse_published(text: str, unit: str) -> tuple[float, bool]:
    """A published number in the metric's unit, and whether it is a lower bound; ValueError when it is none.

    In a time m is minutes, in a count M is a million; 11m2.43s is one time.
    """
    at_least, scales = text.endswith("+"), _SCALES[unit]
    body = text.rstrip("+").strip()
    parts = _PART.findall(body)
    whole = "".join(number + suffix for number, suffix in parts) == re.sub(r"\s", "", body)
    if not parts or not whole or (len(parts) > 1 and (unit != "seconds" or not all(suffix for _, suffix in parts))):
        raise ValueError(f"{text!r} is no number of {unit}")
    for _, suffix in parts:
        if suffix not in scales:
            allowed = ", ".join(repr(scale) for scale in scales if scale) or "none"
            raise ValueError(f"{text!r}: unknown unit {suffix!r}, expected one of {allowed}")
    return sum(float(number) * scales[suffix] for number, suffix in parts), at_least


def against_grid(
    published: Sequence[Published],
    lines: Sequence[Line],
    metrics: Mapping[str, MetricSpec],
    title: str,
    reasons: Mapping[str, str] | None = None,
    *,
    run_only: bool = False,
) -> Grid:
    """Every published number with ours beside it; `reasons` says of a data set why there are no trials.

    With `run_only` what was not run is left out, as a quick version leaves out most of it.
    """
    rows, values = [], []
    for number in published:
        if run_only and not any(_matches(number, line) for line in lines):
            continue
        row, value = _beside(number, lines, metrics[number.metric], (reasons or {}).get(number.dataset, "not run"))
        rows.append(row)
        values.append(value)
    columns = ("data set", "learner", "metric", "published", "ours", "difference", "within", "source")
    foot: tuple[str, ...] = (
        "Ours: mean ± sample standard deviation over trials. Difference: ours less published.",
        "Within: whether our mean lies in the published interval; - where none was published.",
    )
    if any(metrics[number.metric].timed for number in published):
        foot += ("Times and memory were published for other machines.",)
    return Grid(title, columns, tuple(rows), tuple(values), foot)


def _beside(
    number: Published, lines: Sequence[Line], metric: MetricSpec, reason: str
) -> tuple[tuple[str, ...], dict[str, Any]]:
    try:
        value, at_least = parse_published(number.value, metric.unit)
        interval = parse_published(number.interval, metric.unit)[0] if number.interval else None
    except ValueError as error:
        raise HarnessError(f"published {number.metric} of {number.learner} on {number.dataset}: {error}") from None
    matching = [line for line in lines if _matches(number, line)]
    drawn = {line.dataset for line in matching}  # several where the published one stands for a grid of data sets
    one_each = len(matching) == len(drawn)
    ours = summarise([v for line in matching for v in values_of(line, metric.name).values()]) if one_each else None
    if matching and ours is None:  # two set-ups under one label are not to be mixed
        reason = "no value" if one_each else f"{len(matching)} set-ups: give each its label"
    name = number.dataset + (f" ({number.representation})" if number.representation else "")
    shown = format_value(Summary(value, interval, 1), metric) + "+" * at_least
    difference = None if ours is None or at_least else ours.mean - value
    within = None if difference is None or interval is None else abs(difference) <= interval
    row = (
        *(name, number.learner, metric.title or metric.name, shown),
        format_value(ours, metric) if ours else reason,
        "-" if difference is None else _signed(difference, metric),
        "-" if within is None else "yes" if within else "no",
        number.source,
    )
    value_row = {
        "dataset": number.dataset,
        "representation": number.representation,
        "learner": number.learner,
        "metric": number.metric,
        "published": value,
        "interval": interval,
        "at_least": at_least,
        "ours": ours.mean if ours else None,
        "ours_sd": ours.sd if ours else None,
        "n": ours.n if ours else 0,
        "difference": difference,
        "within": within,
        "source": number.source,
    }
    return row, value_row


def _matches(number: Published, line: Line) -> bool:
    """Whether a line is what was published: data set, label and, where it is given, the representation."""
    first = line.records[0]
    of_dataset = first.dataset == number.dataset or first.dataset.startswith(f"{number.dataset}(")  # one of a grid
    alike = number.representation in ("", first.representation)
    return of_dataset and alike and first.label == number.learner


def _signed(difference: float, metric: MetricSpec) -> str:
    sign = "-" if difference < 0 else "+"
    return sign + format_value(Summary(abs(difference), None, 1), metric)
