"""Lines -> panels of a sweep: how a metric goes with a parameter that was set to several numbers. Pure.

A series is the lines of one family on one data set that differ in the swept parameter alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.figures.arithmetic import Point, scale_for, series_of
from harness.figures.drawing import Panel, Series
from harness.figures.panels import nothing_to_draw, title_of, titled_rivals
from harness.groups import Line, SetUp, title_set_ups


def sweep_panels(lines: Sequence[Line], metric: MetricSpec, parameter: str | None = None) -> list[Panel]:
    """How a metric goes with a parameter; where none is named, with the only one that was swept."""
    name = parameter or _swept_parameter(lines)
    panels = []
    for title, rivals in titled_rivals(lines):
        series = _swept_series(rivals, metric, name)
        if series:
            positions: list[float] = []
            for one in series:
                positions += one.x
            scale = scale_for(positions)
            panels.append(Panel(title, name, title_of(metric), tuple(series), x_scale=scale, y_unit=metric.unit))
    if not panels:
        raise nothing_to_draw(f"no learner was run with several numbers for {name!r}: --set NAME.{name}=[1,2,3]")
    return panels


def _swept_series(lines: Iterable[Line], metric: MetricSpec, name: str) -> list[Series]:
    """The series of one data set; what has a single number for the parameter is none."""
    found = []
    for title, members in _swept_together(lines, name).items():
        points = []
        for line in members:
            number = _numbers_of(line)[name]
            for value in line.values(metric.name).values():
                points.append(Point(number, number, value))
        numbers = {point.place for point in points}
        one = series_of(title, members[0].kind, points)
        if one is not None and len(numbers) > 1:
            found.append(one)
    return found


def _swept_together(lines: Iterable[Line], name: str) -> dict[str, list[Line]]:
    """Lines of one family that differ in this parameter alone, under the title of their series."""
    together: dict[SetUp, list[Line]] = {}
    for line in lines:
        if name in _numbers_of(line):
            rest = replace(line.set_up.without(name), label=line.family)
            together.setdefault(rest, []).append(line)
    labelled = _label_series(list(together))
    titles = title_set_ups(labelled.values())
    found = {}
    for rest, members in together.items():
        found[titles[labelled[rest]]] = members
    return found


def _label_series(set_ups: Sequence[SetUp]) -> dict[SetUp, SetUp]:
    """Each under its family; where that has several series, with the parameters in which these differ."""
    labelled = {}
    for one in set_ups:
        family = [other for other in set_ups if other.label == one.label]
        told = [f"{name}={value}" for name, value in one.params.items() if _differs(name, family)]
        label = f"{one.label}({', '.join(told)})" if told else one.label
        labelled[one] = replace(one, label=label)
    return labelled


def _differs(name: str, set_ups: Sequence[SetUp]) -> bool:
    values = {repr(one.params.get(name)) for one in set_ups}
    return len(values) > 1


def _swept_parameter(lines: Iterable[Line]) -> str:
    """The one parameter that a family was run with several numbers of, on one data set."""
    names = swept_parameters(lines)
    if not names:
        raise nothing_to_draw("no learner was run with several numbers for a parameter: --set NAME.PARAMETER=[1,2,3]")
    if len(names) > 1:
        raise HarnessError(f"which parameter was swept? several were ({', '.join(names)}): name one with --x")
    return names[0]


def swept_parameters(lines: Iterable[Line]) -> list[str]:
    """All parameters that a family was run with several numbers of, on one data set."""
    seen: dict[tuple[object, ...], set[float]] = {}
    for line in lines:
        for name, number in _numbers_of(line).items():
            seen.setdefault((line.prepared, line.family, name), set()).add(number)
    return sorted({str(key[-1]) for key, numbers in seen.items() if len(numbers) > 1})


def _numbers_of(line: Line) -> dict[str, float]:
    """The parameters that are numbers; random_state is one by its type alone. A line that failed has none."""
    numbers = {}
    if line.finished:
        for name, value in line.params.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and name != "random_state":
                numbers[name] = value
    return numbers
