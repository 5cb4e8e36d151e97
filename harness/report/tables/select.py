"""Select and order the lines and columns of a table, for `--where`, `--best`, `--sort` and `--metrics`."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from harness.errors import HarnessError, UnknownName
from harness.host.catalog import Catalog, find_metric
from harness.host.contract import MetricSpec
from harness.records.record import Record
from harness.report.conditions import comparable
from harness.report.lines import Line, lines_by_dataset
from harness.report.verdicts import RowHits, judge_metric
from harness.stats import AUTO
from harness.syntax.expression import parse_value, split_list
from harness.system.machine import Machine
from harness.text import nearest

FIELDS = ("learner", "dataset", "kind", "representation", "split")
"""Fields of a line that a filter can name."""
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
EXAMPLES = "dataset=digits,icd*, kind=tree, C=0.1, r1>0.5 or train<10"
_FILTER = re.compile(r"\s*([\w.@-]+(?:\([^()]*\))?)\s*(!=|<=|>=|=|<|>)\s*(.*\S)\s*")


# -- columns ---------------------------------------------------------------------------------------------------------


def choose_columns(
    catalog: Catalog, names: Iterable[str] | None, records: Sequence[Record] | None = None
) -> list[MetricSpec]:
    """Return the metrics that are the columns of a table.

    Parameters
    ----------
    catalog : Catalog
        The registered metrics.
    names : iterable of str or None
        Names of the metrics. By default the metrics that plugins mark as shown.
    records : sequence of Record, optional
        Leave out default metrics without a value in any of these records, and those for data of another kind: with one
        label a row or with several.
    """
    if names:
        return [find_metric(name, catalog).spec for name in names]
    shown = [entry.spec for entry in catalog.unique_metrics() if entry.spec.shown]
    finished = [record for record in records or () if record.status == "ok"]
    if not finished:
        return shown
    return [metric for metric in shown if any(_is_shown_for(metric, record) for record in finished)]


def _is_shown_for(metric: MetricSpec, record: Record) -> bool:
    """Return whether a record has a value of a metric that tables show by default for its data."""
    kind = "several" if record.multilabel else "one"
    return metric.labels in ("any", kind) and record.scores.get(metric.name) is not None


# -- lines -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LineFilter:
    """A condition on the lines of a table: `dataset=digits`, `C=0.1`, `r1>0.5`."""

    field: str
    sign: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.sign}{self.value}"


def parse_filter(text: str) -> LineFilter:
    """Parse a filter such as `FIELD=VALUE`; the sign is =, != or one of `COMPARISONS`.

    Parameters
    ----------
    text : str
        A field, a sign and a value, such as "kind=tree" or "r1>0.5".

    Raises
    ------
    HarnessError
        If the text is not a filter.

    Examples
    --------
    >>> parse_filter("r1>0.5")
    LineFilter(field='r1', sign='>', value='0.5')
    """
    found = _FILTER.fullmatch(text)
    if found is None:
        raise HarnessError(f"cannot read the condition {text!r}", next_step=f"Examples: {EXAMPLES}.")
    return LineFilter(*found.groups())


def keep_lines(lines: Sequence[Line], filters: Iterable[LineFilter], catalog: Catalog) -> list[Line]:
    """Return the lines that pass all filters.

    Parameters
    ----------
    lines : sequence of Line
        Learners on datasets.
    filters : iterable of LineFilter
        The conditions, all of which a line must meet.
    catalog : Catalog
        The metrics that a filter may name.

    Raises
    ------
    HarnessError
        If no line passes, or if a filter names an unknown field or has a sign that its field does not support.
    """
    kept = list(lines)
    for one in filters:
        kept = list(filter(_predicate(one, lines, catalog), kept))
        if not kept:
            raise HarnessError(f"where {one}: no learner of these results fits. Remove or change the condition.")
    return kept


def best_lines(lines: Sequence[Line], metric: MetricSpec, test: str = AUTO, hits: RowHits | None = None) -> list[Line]:
    """Return the best line of each dataset by a metric, and all lines that do not differ from it significantly.

    If nothing could be tested, only lines with the best mean are returned. A line without competitors is kept.
    """
    kept = []
    for competitors in lines_by_dataset(lines).values():
        best = judge_metric(competitors, metric, test, hits).verdict.best
        kept += [line for line in competitors if not best or line.title in best]
    return [line for line in lines if line in kept]


def sort_lines(lines: Sequence[Line], metric: MetricSpec) -> list[Line]:
    """Return the lines sorted by the mean of a metric, best first; lines without a value come last."""
    sign = -1 if metric.direction == "higher" else 1
    valued: list[tuple[float, Line]] = []
    others: list[Line] = []
    for line in lines:
        summary = line.summary(metric.name)
        if summary is None:
            others.append(line)
        else:
            valued.append((sign * summary.mean, line))
    valued.sort(key=operator.itemgetter(0))
    return [line for _, line in valued] + others


def lines_to_compare(
    lines: Sequence[Line], metrics: Sequence[MetricSpec], machines: Mapping[str, Machine]
) -> list[Line]:
    """Return the lines with times of one machine and thread count for each dataset.

    Raises
    ------
    HarnessError
        If a metric is a time and the times of some dataset are not comparable.
    """
    found = comparable(lines, metrics, machines)
    for metric in metrics:
        if metric not in found.metrics:
            raise HarnessError(f"{metric.name} was measured under several conditions: {found.notes[0]}")
    return found.lines


def _predicate(one: LineFilter, lines: Sequence[Line], catalog: Catalog) -> Callable[[Line], bool]:
    """Return a filter as a function of a line. Fields take precedence over parameters, and parameters over metrics."""
    if one.field in FIELDS:
        return partial(_matches_field, one)
    if any(one.field in line.params for line in lines):
        return partial(_matches_parameter, one)
    try:
        return partial(_matches_mean, one, find_metric(one.field, catalog).spec.name)
    except UnknownName:
        raise _unknown_field(one.field, lines) from None


def _matches_field(one: LineFilter, line: Line) -> bool:
    if one.sign in COMPARISONS:
        raise HarnessError(f"where {one}: {one.field} is a text. Compare it with = or !=.")
    pairs = itertools.product(_texts_of(line, one.field), split_list(one.value))
    found = any(itertools.starmap(fnmatchcase, pairs))
    return found == (one.sign == "=")


def _texts_of(line: Line, field: str) -> tuple[str, ...]:
    """Return the texts that a field may match."""
    texts = {
        "learner": (line.label, line.title, line.configuration.learner, line.family),
        "dataset": (line.dataset, line.dataset_family),
        "kind": (line.kind,),
        "representation": (line.representation,),
        "split": (str(line.prepared.split),),
    }
    return texts[field]


def _matches_parameter(one: LineFilter, line: Line) -> bool:
    """Return whether a parameter matches; a line without the parameter never does."""
    if one.field not in line.params:
        return False
    value = line.params[one.field]
    if one.sign in COMPARISONS:
        is_number = isinstance(value, int | float)
        return is_number and COMPARISONS[one.sign](value, _number(one))
    wanted = list(map(parse_value, split_list(one.value)))
    return (value in wanted) == (one.sign == "=")


def _matches_mean(one: LineFilter, metric: str, line: Line) -> bool:
    if one.sign not in COMPARISONS:
        raise HarnessError(f"where {one}: {one.field} is a mean. Compare it with < or >.")
    summary = line.summary(metric)
    return summary is not None and COMPARISONS[one.sign](summary.mean, _number(one))


def _number(one: LineFilter) -> float:
    try:
        return float(one.value)
    except ValueError:
        raise HarnessError(f"where {one}: expected a number after {one.sign}") from None


def _unknown_field(name: str, lines: Sequence[Line]) -> HarnessError:
    known = set(FIELDS)
    for line in lines:
        known.update(line.params)
    near = nearest(name, sorted(known))
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Conditions: {', '.join(sorted(known))}, or a metric."
    return HarnessError(f"unknown condition {name!r}", next_step=hint)


# -- records ---------------------------------------------------------------------------------------------------------


def only_with(records: list[Record], name: str, wanted: Sequence[str] | None) -> list[Record]:
    """Return the records whose field `name` has one of the wanted values; all records for None.

    Parameters
    ----------
    records : list of Record
        Records of trials.
    name : str
        The field.
    wanted : sequence of str or None
        Allowed values; None to allow all.

    Raises
    ------
    HarnessError
        For a value that no record has.
    """
    if wanted is None:
        return records
    known = {getattr(record, name) for record in records}
    for value in wanted:
        if value not in known:
            near = nearest(value, sorted(known))
            hint = f"Did you mean {' or '.join(near)}?" if near else f"They have {', '.join(sorted(known))}."
            raise HarnessError(f"these results have no {name} {value!r}", next_step=hint)
    return [record for record in records if getattr(record, name) in wanted]
