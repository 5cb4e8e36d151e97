"""Which lines a table shows and in which order: `where`, `best` and `sort`. Pure."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.expression import parse_value, split_list
from harness.groups import Line
from harness.suggestions import nearest
from harness.tables.marks import mark_best

FindMetric = Callable[[str], MetricSpec]
FIELDS: dict[str, Callable[[Line], tuple[str, ...]]] = {
    "learner": lambda line: (line.label, line.title, line.set_up.learner, line.family),
    "dataset": lambda line: (line.dataset, line.dataset_family),
    "kind": lambda line: (line.kind,),
    "representation": lambda line: (line.prepared.representation,),
    "split": lambda line: (str(line.prepared.split),),
}
"""What a line is asked for by name; each may go by several words."""
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_CONDITION = re.compile(r"\s*([\w.@-]+(?:\([^()]*\))?)\s*(!=|<=|>=|=|<|>)\s*(.*\S)\s*")
EXAMPLES = "dataset=digits,icd*, kind=tree, C=0.1, r1>0.5 or train<10"


@dataclass(frozen=True)
class Condition:
    """What a line must be like to be shown: `dataset=digits`, `C=0.1`, `r1>0.5`."""

    field: str
    sign: str
    value: str


def parse_condition(text: str) -> Condition:
    """Take `FIELD=VALUE`, or another sign in its place, apart."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise HarnessError(f"where {text!r} cannot be read: expected such as {EXAMPLES}")
    return Condition(*found.groups())


def keep_lines(lines: Sequence[Line], conditions: Iterable[Condition], find_metric: FindMetric) -> list[Line]:
    """The lines that meet all conditions; HarnessError where none does."""
    kept = list(lines)
    for condition in conditions:
        meets = _reader(condition, lines, find_metric)
        kept = [line for line in kept if meets(line)]
        if not kept:
            told = f"{condition.field}{condition.sign}{condition.value}"
            raise HarnessError(f"where {told} leaves no line of these results")
    return kept


def _reader(condition: Condition, lines: Sequence[Line], find_metric: FindMetric) -> Callable[[Line], bool]:
    """How a line is asked whether it meets the condition: by a field, a parameter that any has, or a metric."""
    name = condition.field
    if name in FIELDS:
        return lambda line: _fits(condition, FIELDS[name](line))
    if any(name in line.params for line in lines):
        return lambda line: name in line.params and _fits_value(condition, line.params[name])
    try:
        metric = find_metric(name).name
    except HarnessError:
        raise _unknown(name, lines) from None
    return lambda line: _fits_mean(condition, line, metric)


def _unknown(name: str, lines: Sequence[Line]) -> HarnessError:
    known = set(FIELDS)
    for line in lines:
        known.update(line.params)
    near = nearest(name, sorted(known))
    hint = f"did you mean {' or '.join(near)}?" if near else f"expected {', '.join(sorted(known))} or a metric"
    return HarnessError(f"where {name}: no line has that; {hint}")


def _fits(condition: Condition, words: tuple[str, ...]) -> bool:
    if condition.sign in COMPARISONS:
        raise HarnessError(f"where {condition.field}{condition.sign}...: words are asked for with = or !=")
    patterns = split_list(condition.value)
    found = any(fnmatchcase(word, pattern) for word in words for pattern in patterns)
    return found == (condition.sign == "=")


def _fits_value(condition: Condition, value: Any) -> bool:
    if condition.sign in COMPARISONS:
        is_number = isinstance(value, int | float)
        return is_number and COMPARISONS[condition.sign](value, _number(condition))
    wanted = [parse_value(item) for item in split_list(condition.value)]
    return (value in wanted) == (condition.sign == "=")


def _fits_mean(condition: Condition, line: Line, metric: str) -> bool:
    if condition.sign not in COMPARISONS:
        raise HarnessError(f"where {condition.field}{condition.sign}...: a mean is asked for with < or >")
    summary = line.summary(metric)
    return summary is not None and COMPARISONS[condition.sign](summary.mean, _number(condition))


def _number(condition: Condition) -> float:
    try:
        return float(condition.value)
    except ValueError:
        told = f"{condition.field}{condition.sign}{condition.value}"
        raise HarnessError(f"where {told}: expected a number behind {condition.sign}") from None


def best_lines(lines: Sequence[Line], metric: MetricSpec, test: str) -> list[Line]:
    """On each data set the best by a metric, and all that the test cannot tell from it; a line without rivals stays."""
    marks = mark_best(lines, [metric], test)
    marked = {prepared for prepared, _, _ in marks.places}
    return [line for line in lines if marks.has(line, metric) or line.prepared not in marked]


def sorted_lines(lines: Sequence[Line], metric: MetricSpec) -> list[Line]:
    """The lines by the mean of a metric, the best first; those without a value come last, in their order."""
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
