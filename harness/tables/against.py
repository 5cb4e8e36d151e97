"""Published numbers with ours beside them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.contract import MetricSpec
from harness.groups import Line
from harness.stats import Summary, summarise
from harness.tables.grid import Grid
from harness.tables.numbers import format_difference, format_value, plain_numbers
from harness.tables.published import Published, PublishedNumber
from harness.tables.render_data import Values
from harness.tables.words import heading_of

COLUMNS = ("data set", "learner", "metric", "published", "ours", "difference", "within", "source")
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
    """Every published number with ours beside it; `reasons` says of a data set why there are no trials.

    With `run_only` what was not run is left out, as a quick version leaves out most of it.
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
    foot = [
        "Ours: mean ± sample standard deviation over trials. Difference: ours less published.",
        "Within: whether our mean lies in the published interval; - where none was published.",
    ]
    if any(metrics[cell.metric].timed for cell in published):
        foot.append("Times and memory were published for other machines.")
    if any(cell.recalled for cell in published):
        foot.append("Recalled: published numbers that the texts of the papers that were read do not hold.")
    return Grid(title, COLUMNS, tuple(rows), tuple(values), tuple(foot))


def find_matching(cell: Published, lines: Iterable[Line]) -> list[Line]:
    """The lines that a published number is of: by label, or where no label is the same by family.

    A published data set may stand for a grid of them, such as several draws.
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
    """A published number, ours, and how they differ; `trouble` where lines match and none of them is ours."""

    published: PublishedNumber
    ours: Summary | None
    trouble: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less published; a lower bound has none."""
        if self.ours is None or self.published.at_least:
            return None
        return self.ours.mean - self.published.value

    @property
    def within(self) -> bool | None:
        """Whether our mean lies in the published interval, where there is one."""
        if self.difference is None or self.published.interval is None:
            return None
        return abs(self.difference) <= self.published.interval


def _set_beside(number: PublishedNumber, matching: Sequence[Line], metric: MetricSpec) -> _Beside:
    if not matching:
        return _Beside(number, None)
    datasets = {line.dataset for line in matching}  # several where the published one stands for a grid of data sets
    if len(matching) > len(datasets):  # two set-ups of one label are not to be mixed
        return _Beside(number, None, f"{len(matching)} set-ups: give each its label")
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
    return dataset, cell.learner, heading_of(metric), shown, ours, difference, within, cell.source


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
