"""Which lines a table shows and in which order: `where`, `best` and `sort`. Pure."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from harness.contract import MetricSpec
from harness.errors import HarnessError, UnknownName
from harness.expression import parse_value, split_list
from harness.groups import Line
from harness.suggestions import nearest
from harness.tables.marks import mark_best

FindMetric = Callable[[str], MetricSpec]
FIELDS = ("learner", "dataset", "kind", "representation", "split")
"""What a line is asked for by name."""
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
        meets = _question(condition, lines, find_metric)
        kept = list(filter(meets, kept))
        if not kept:
            told = f"{condition.field}{condition.sign}{condition.value}"
            raise HarnessError(f"where {told} leaves no line of these results")
    return kept


def _question(condition: Condition, lines: Sequence[Line], find_metric: FindMetric) -> Callable[[Line], bool]:
    """How a line is asked whether it meets the condition: by a field, a parameter that any has, or a metric."""
    name = condition.field
    if name in FIELDS:
        return partial(_fits_words, condition)
    if any(name in line.params for line in lines):
        return partial(_fits_parameter, condition)
    try:
        return partial(_fits_mean, condition, find_metric(name).name)
    except UnknownName:
        raise _unknown(name, lines) from None


def _words_of(line: Line, field: str) -> tuple[str, ...]:
    """What a line goes by in a field: for some there are several words."""
    words = {
        "learner": (line.label, line.title, line.set_up.learner, line.family),
        "dataset": (line.dataset, line.dataset_family),
        "kind": (line.kind,),
        "representation": (line.representation,),
        "split": (str(line.prepared.split),),
    }
    return words[field]


def _unknown(name: str, lines: Sequence[Line]) -> HarnessError:
    known = set(FIELDS)
    for line in lines:
        known.update(line.params)
    near = nearest(name, sorted(known))
    hint = f"did you mean {' or '.join(near)}?" if near else f"expected {', '.join(sorted(known))} or a metric"
    return HarnessError(f"where {name}: no line has that; {hint}")


def _fits_words(condition: Condition, line: Line) -> bool:
    if condition.sign in COMPARISONS:
        raise HarnessError(f"where {condition.field}{condition.sign}...: words are asked for with = or !=")
    pairs = itertools.product(_words_of(line, condition.field), split_list(condition.value))
    found = any(itertools.starmap(fnmatchcase, pairs))
    return found == (condition.sign == "=")


def _fits_parameter(condition: Condition, line: Line) -> bool:
    """A line that does not have the parameter meets no condition on it."""
    if condition.field not in line.params:
        return False
    value = line.params[condition.field]
    if condition.sign in COMPARISONS:
        is_number = isinstance(value, int | float)
        return is_number and COMPARISONS[condition.sign](value, _number(condition))
    wanted = list(map(parse_value, split_list(condition.value)))
    return (value in wanted) == (condition.sign == "=")


def _fits_mean(condition: Condition, metric: str, line: Line) -> bool:
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
