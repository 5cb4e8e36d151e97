"""Published numbers: read them from a CSV file, and show our results beside them.

The file has a row for each number and these columns:

dataset, learner   the names in the records; learner is the label
metric             the name of a metric
value              as published: 0.912, 6.36%, 87k, 1.6M, 31m, 11m2.43s, 0.14ms; a + at the end means "at least"
interval           the published ±, written in the same way, or nothing
source             paper, table, row
representation     optional: compare only trials with this representation
recalled           optional: "yes" for a number quoted from memory that was not found in the text of the paper
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError, next_step_after, reason_of
from harness.host.contract import MetricSpec
from harness.report.lines import Line
from harness.report.tables.layout import format_difference, format_value, plain_numbers
from harness.report.tables.render import Grid, Values, heading_of
from harness.stats import Summary, summarise

REQUIRED_COLUMNS = ("dataset", "learner", "metric", "value", "interval", "source")
OPTIONAL_COLUMNS = ("representation", "recalled")
FILLED_COLUMNS = ("dataset", "learner", "metric", "value", "source")
"""Columns that must not be empty."""
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
    """A row of the file; numbers are texts, as printed in the paper."""

    dataset: str
    learner: str
    metric: str
    value: str
    interval: str
    source: str
    representation: str = ""
    recalled: str = ""

    def read(self, metric: MetricSpec) -> PublishedNumber:
        """Return the number in the metric's unit; raise HarnessError for a text that is not a number."""
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
    """A published number in the unit of its metric."""

    value: float
    interval: float | None
    at_least: bool
    """True for a lower bound."""


# -- files -----------------------------------------------------------------------------------------------------------


def read_published(path: Path) -> list[Published]:
    """Read a file of published numbers; the module docstring has its columns.

    Parameters
    ----------
    path : Path
        A CSV file with a line for each published number.

    Raises
    ------
    HarnessError
        If the file cannot be read or has a wrong column or row. The message gives the line.
    """
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            _check_heading(reader.fieldnames or (), path)
            return list(_read_lines(reader, path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise HarnessError(
            f"cannot be read: {reason_of(error)}", culprit=str(path), next_step=next_step_after(error)
        ) from error


def _check_heading(heading: Sequence[str], path: Path) -> None:
    missing = [name for name in REQUIRED_COLUMNS if name not in heading]
    unknown = [repr(name) for name in heading if name not in REQUIRED_COLUMNS and name not in OPTIONAL_COLUMNS]
    if not missing and not unknown:
        return
    wrong = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(unknown)}"
    expected = f"Columns: {', '.join(REQUIRED_COLUMNS)}[, {', '.join(OPTIONAL_COLUMNS)}]."
    raise HarnessError(f"the heading {wrong}", culprit=str(path), next_step=expected)


def _read_lines(reader: csv.DictReader[str], path: Path) -> Iterator[Published]:
    width = len(reader.fieldnames or ())
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        if None in row or None in row.values():  # the csv module's sign of too many or too few fields
            raise HarnessError(f"expected {width} fields, as in the heading", culprit=where)
        cells = {name: text.strip() for name, text in row.items()}
        for name in FILLED_COLUMNS:
            if not cells[name]:
                raise HarnessError(f"{name} is empty", culprit=where)
        if cells.get("recalled", "") not in ("", "yes"):
            raise HarnessError(f"recalled is {cells['recalled']!r}, expected yes or nothing", culprit=where)
        yield Published(**cells)


# -- numbers ---------------------------------------------------------------------------------------------------------


def parse_published(text: str, unit: str) -> tuple[float, bool]:
    """Return a published number in the metric's unit, and whether it is a lower bound.

    Parameters
    ----------
    text : str
        The number as printed. In times "m" is minutes, in counts "M" is a million. A + at the end is a lower bound.
    unit : str
        The metric's unit: "share", "count", "bytes" or "seconds".

    Raises
    ------
    ValueError
        If the text is not a number of this unit.

    Examples
    --------
    >>> parse_published("11m2.43s", "seconds")
    (662.43, False)
    >>> parse_published("87k+", "count")
    (87000.0, True)
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
    """Return numbers with their suffixes: a single one, or several in a time such as 11m2.43s."""
    parts: list[tuple[str, str]] = _PART.findall(body)
    read = "".join(number + suffix for number, suffix in parts)
    is_complete = read == re.sub(r"\s", "", body)
    one_time = unit == "seconds" and all(suffix for _, suffix in parts)
    if not parts or not is_complete or (len(parts) > 1 and not one_time):
        raise ValueError(f"{text!r} is not a number of {unit}")
    return parts


COLUMNS = ("dataset", "learner", "metric", "published", "ours", "difference", "within", "source")
NOT_RUN = "not run"


def against_grid(
    published: Sequence[Published],
    lines: Sequence[Line],
    metrics: Mapping[str, MetricSpec],
    title: str,
    reasons: Mapping[str, str] | None = None,
    *,
    run_only: bool = False,
) -> Grid:
    """Return the published numbers with our results beside them.

    Parameters
    ----------
    published : sequence of Published
        The published numbers.
    lines : sequence of Line
        Our lines.
    metrics : mapping of str to MetricSpec
        Metrics by name.
    title : str
        Title of the grid.
    reasons : mapping of str to str, optional
        By dataset, the text to show if it was not run. By default "not run".
    run_only : bool, default=False
        Whether to leave out numbers that no line matches, as for a quick version, which runs only some of them.
    """
    reasons = reasons or {}
    rows, values = [], []
    for cell in published:
        matching = find_matching(cell, lines)
        if run_only and not matching:
            continue
        metric = metrics[cell.metric]
        beside = _set_beside(cell.read(metric), matching, metric)
        rows.append(_words_of(cell, beside, metric, reasons.get(cell.dataset, NOT_RUN)))
        values.append(_values_of(cell, beside))
    footnotes = [
        "Ours: mean ± sample standard deviation over trials. Difference: ours minus published.",
        "Within: whether our mean lies in the published interval; - where none was published.",
    ]
    symbols = {metrics[cell.metric].symbol: heading_of(metrics[cell.metric]) for cell in published}
    footnotes += [f"{symbol}: {title}." for symbol, title in symbols.items() if symbol]
    if any(metrics[cell.metric].timed for cell in published):
        footnotes.append("Times and memory were published for other machines.")
    if any(cell.recalled for cell in published):
        footnotes.append("Recalled: not found in the text of the paper.")
    return Grid(title, COLUMNS, tuple(rows), tuple(values), tuple(footnotes))


def find_matching(cell: Published, lines: Iterable[Line]) -> list[Line]:
    """Return the lines to compare a published number with.

    Lines whose label is the published learner take precedence over lines of a family of that name. Several datasets
    match if the published dataset is a family, such as several random draws.
    """
    labelled, of_family = [], []
    for line in lines:
        on_data = cell.dataset in (line.dataset, line.dataset_family)
        if not on_data or cell.representation not in ("", line.representation):
            continue
        if line.label == cell.learner:
            labelled.append(line)
        elif line.family == cell.learner:
            of_family.append(line)
    return labelled or of_family


@dataclass(frozen=True)
class _Beside:
    """A published number and ours; `trouble` has the reason if the matching lines give no number."""

    published: PublishedNumber
    ours: Summary | None
    trouble: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus published; None for a lower bound."""
        if self.ours is None or self.published.at_least:
            return None
        return self.ours.mean - self.published.value

    @property
    def within(self) -> bool | None:
        """True if our mean is in the published interval; None without an interval."""
        if self.difference is None or self.published.interval is None:
            return None
        return abs(self.difference) <= self.published.interval


def _set_beside(number: PublishedNumber, matching: Sequence[Line], metric: MetricSpec) -> _Beside:
    if not matching:
        return _Beside(number, None)
    datasets = {line.dataset for line in matching}  # several if the published dataset is a family
    if len(matching) > len(datasets):  # configurations of one label are not averaged
        return _Beside(number, None, f"{len(matching)} configurations: give each its label")
    values: list[float] = []
    for line in matching:
        values += line.values(metric.name).values()
    ours = summarise(values)
    return _Beside(number, ours, "" if ours else "no value")


def _words_of(cell: Published, beside: _Beside, metric: MetricSpec, reason: str) -> tuple[str, ...]:
    number = beside.published
    dataset = f"{cell.dataset} ({cell.representation})" if cell.representation else cell.dataset
    shown = format_value(Summary(number.value, number.interval, 1), metric)
    if number.at_least:
        shown += "+"
    if cell.recalled:
        shown += " (recalled)"
    ours = beside.trouble or reason
    if beside.ours is not None:
        ours = format_value(beside.ours, metric)
    difference = "-"
    if beside.difference is not None:
        difference = format_difference(beside.difference, metric)
    within = {True: "yes", False: "no", None: "-"}[beside.within]
    return dataset, cell.learner, metric.symbol or heading_of(metric), shown, ours, difference, within, cell.source


def _values_of(cell: Published, beside: _Beside) -> Values:
    number = beside.published
    mean, sd, n = plain_numbers(beside.ours)
    return {
        "dataset": cell.dataset,
        "representation": cell.representation,
        "learner": cell.learner,
        "metric": cell.metric,
        "published": number.value,
        "interval": number.interval,
        "at_least": number.at_least,
        "recalled": bool(cell.recalled),
        "ours": mean,
        "ours_sd": sd,
        "n": n,
        "difference": beside.difference,
        "within": beside.within,
        "source": cell.source,
    }
