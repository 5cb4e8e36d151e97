"""Make the panels of each kind of figure from lines. All functions are pure; callers pass in functions that read files.

A series consists of complete lines, so that a figure never averages trials that a table keeps apart. The series of a
sweep has the lines of one family on one dataset that differ in the swept parameter only. Figures by coverage, class
frequency and level use saved ranks.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import HarnessError
from harness.host.contract import MetricSpec
from harness.report.figures.drawing import Panel, Scale, Series
from harness.report.lines import Configuration, Line, Prepared, shared_seeds, title_configurations
from harness.stats import mean_of, summarise
from harness.text import counted

if TYPE_CHECKING:
    from harness.sdk.outcomes import ByClass, RiskCurve

WIDE = 20
"""An axis is logarithmic if its numbers are positive and the ratio of largest to smallest exceeds this."""


class Point(NamedTuple):
    """One measurement. Measurements with the same `place` are averaged to one point of a series."""

    place: float
    x: float | None
    y: float | None


def series_of(label: str, kind: str, points: Iterable[Point]) -> Series | None:
    """Return the series of some measurements: for each place the means of x and y and the spread of y.

    Measurements without x or with a missing or infinite y are left out. Returns None if none remains.
    """
    across: dict[float, list[float]] = {}
    up: dict[float, list[float]] = {}
    for point in points:
        if point.x is not None and point.y is not None and math.isfinite(point.y):
            across.setdefault(point.place, []).append(point.x)
            up.setdefault(point.place, []).append(point.y)
    x, y, spread = [], [], []
    for place in sorted(up):
        found = summarise(up[place])
        if found is not None:
            x.append(sum(across[place]) / len(across[place]))
            y.append(found.mean)
            spread.append(found.sd or 0.0)
    if not y:
        return None
    most = max(map(len, up.values()))
    return Series(label, tuple(x), tuple(y), tuple(spread), kind, trials=most)


def pareto_front(points: Sequence[tuple[float, float]], higher_y: bool, higher_x: bool) -> list[tuple[float, float]]:
    """Return the Pareto-optimal points by increasing x.

    Examples
    --------
    >>> pareto_front([(1, 0.8), (2, 0.9), (3, 0.85)], higher_y=True, higher_x=False)
    [(1, 0.8), (2, 0.9)]
    """
    x_sign = 1 if higher_x else -1
    y_sign = 1 if higher_y else -1

    def beats(a: tuple[float, float], b: tuple[float, float]) -> bool:
        x, y = x_sign * (a[0] - b[0]), y_sign * (a[1] - b[1])
        return x >= 0 and y >= 0 and (x > 0 or y > 0)

    front = set()
    for point in points:
        if not any(beats(other, point) for other in points):
            front.add(point)
    return sorted(front)


def slope_note(x: Sequence[float], y: Sequence[float]) -> str:
    """Return a text with the exponent of the best power law, which is the slope of a line through the logarithms.

    Parameters
    ----------
    x, y : sequence of float
        Coordinates of the points; those that are not positive are left out.

    Examples
    --------
    >>> slope_note([1, 2, 4], [3, 6, 12])
    'slope 1.00'
    """
    log_x, log_y = [], []
    for a, b in zip(x, y, strict=True):
        if a > 0 and b > 0:
            log_x.append(math.log(a))
            log_y.append(math.log(b))
    if len(set(log_x)) < 2:
        return ""
    mean_x, mean_y = mean_of(log_x), mean_of(log_y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(log_x, log_y, strict=True))
    below = sum((a - mean_x) ** 2 for a in log_x)
    slope = round(above / below, 2) + 0.0  # turns -0.0 into 0.0
    return f"slope {slope:.2f}"


def scale_for(values: Sequence[float], wide: float = WIDE) -> Scale:
    """Return "log" if all values are positive and the largest exceeds `wide` times the smallest, else "linear"."""
    if min(values) > 0 and max(values) > wide * min(values):
        return "log"
    return "linear"


@dataclass(frozen=True)
class Size:
    """A size of a dataset: the field of records that has it, and the title of its axis."""

    field: str
    title: str


SIZES = {
    "classes": Size("n_classes", "classes"),
    "examples": Size("n_train", "training rows"),
    "features": Size("n_features", "features"),
}


def title_of(metric: MetricSpec) -> str:
    """Return the axis title of a metric, without its unit, which the ticks show."""
    return metric.title or metric.name


# -- by pass ---------------------------------------------------------------------------------------------------------


def curve_panels(lines: Sequence[Line], metric: MetricSpec, x: MetricSpec | None = None) -> list[Panel]:
    """Return panels of a metric by pass, or by another metric such as the training time."""
    panels = []
    x_title = "passes" if x is None else title_of(x)
    for title, rivals in titled_rivals(lines):
        series = []
        for line in rivals:
            one = series_of(line.title, line.kind, _curve_points(line, metric, x))
            if one is not None:
                series.append(one)
        if series:
            panel = Panel(title, x_title, title_of(metric), tuple(series), integer_x=x is None)
            panels.append(replace(panel, x_unit="" if x is None else x.unit, y_unit=metric.unit))
    if not panels:
        raise nothing_to_draw(_missing_curve(lines, metric, x))
    return panels


def _curve_points(line: Line, metric: MetricSpec, x: MetricSpec | None) -> list[Point]:
    points = []
    for measured in line.curve_points:
        at = measured.passes if x is None else measured.scores.get(x.name)
        points.append(Point(measured.passes, at, measured.scores.get(metric.name)))
    return points


def _missing_curve(lines: Sequence[Line], metric: MetricSpec, x: MetricSpec | None) -> str:
    """Return why there is no curve of these metrics, and how to get one."""
    names = [metric.name]
    if x is not None:
        names.append(x.name)
    measured: set[str] = set()
    for line in lines:
        for point in line.curve_points:
            measured.update(point.scores)
    if not measured:
        return "no record has a curve. Run with --curves and with learners that take after_pass"
    lacking = [name for name in names if name not in measured]
    if lacking:
        return (
            f"the records have curves, but not of {' and '.join(lacking)}. Run with --curves, --metrics "
            f"{','.join(names)} and another --out"
        )
    return f"no point of the curves has a value for {' and '.join(names)}"


# -- by size of the dataset ------------------------------------------------------------------------------------------


def scaling_panels(lines: Sequence[Line], metric: MetricSpec, size: str = "classes") -> list[Panel]:
    """Return panels of a metric by the size of the dataset, with the slope in the legend.

    There is a panel for each family of datasets that was run in several sizes. Without such a family there is one panel
    over all datasets.

    Raises
    ------
    HarnessError
        If `size` is not in `SIZES`, or if no learner was run on several sizes.
    """
    if size not in SIZES:
        raise HarnessError(f"expected one of {', '.join(SIZES)}", culprit=f"--x {size}")
    measure = SIZES[size]
    families: dict[str, list[Line]] = {}
    for line in lines:
        families.setdefault(line.dataset_family, []).append(line)
    grown = [family for family in families.values() if len({line.dataset for line in family}) > 1]
    panels = []
    for together in grown or [list(lines)]:
        panels += _scaling_panel(together, metric, measure)
    if not panels:
        raise nothing_to_draw(f"no learner was run on data of several sizes ({measure.title})")
    return panels


def _scaling_panel(lines: Sequence[Line], metric: MetricSpec, measure: Size) -> list[Panel]:
    """Return the panel of these lines in a list, which is empty if no learner ran on several sizes."""
    series = []
    for title, members in _over_data_sets(lines).items():
        one = series_of(title, members[0].kind, _sized_points(members, metric, measure))
        if one is not None and len(one.x) > 1:
            series.append(replace(one, note=slope_note(one.x, one.y)))
    if not series:
        return []
    y_scale: Scale = "linear" if metric.unit == "share" else "log"
    title = _describe_datasets(lines)
    return [Panel(title, measure.title, title_of(metric), tuple(series), "log", y_scale, y_unit=metric.unit)]


def _describe_datasets(lines: Sequence[Line]) -> str:
    """Return the title of a panel over several datasets: their families, or their number if there are many."""
    families = list(dict.fromkeys(line.dataset_family for line in lines))
    if len(families) <= 3:
        return ", ".join(families)
    return counted(len(families), "dataset")


def _over_data_sets(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Return the lines of each learner over all datasets, separated by preparation if a dataset has several."""
    ways: dict[str, set[str]] = {}
    for line in lines:
        ways.setdefault(line.dataset, set()).add(line.preparation)
    several = any(len(of_one) > 1 for of_one in ways.values())
    found: dict[str, list[Line]] = {}
    for line in lines:
        title = f"{line.name} ({line.preparation})" if several else line.title
        found.setdefault(title, []).append(line)
    return found


def _sized_points(lines: Iterable[Line], metric: MetricSpec, measure: Size) -> list[Point]:
    """Return a measurement for each trial; datasets of the same size share a point."""
    points = []
    for line in lines:
        for value in line.values(metric.name).values():
            size = getattr(line.finished[0], measure.field)
            points.append(Point(size, size, value))
    return points


# -- side by side ----------------------------------------------------------------------------------------------------


def pareto_panels(lines: Sequence[Line], metric: MetricSpec, cost: MetricSpec) -> list[Panel]:
    """Return panels of score against cost, with the Pareto front, over the trials that all learners have."""
    panels = []
    for title, rivals in titled_rivals(lines):
        series, points = [], []
        seeds = shared_seeds(rivals, metric.name, cost.name)
        for line in rivals:
            one = _cost_point(line, metric, cost, seeds)
            if one is not None:
                series.append(one)
                points.append((one.x[0], one.y[0]))
        if series:
            front = pareto_front(points, higher_y=metric.direction == "higher", higher_x=cost.direction == "higher")
            scale = scale_for([x for x, _ in points], wide=4)  # low, because costs are compared by their ratio
            shown = f"{title}\n{_describe_shared(rivals, metric, seeds)}".rstrip()
            axes = (shown, title_of(cost), title_of(metric))
            panel = Panel(*axes, tuple(series), x_scale=scale, front=tuple(front))
            panels.append(replace(panel, x_unit=cost.unit, y_unit=metric.unit))
    if not panels:
        raise nothing_to_draw(f"no record has both {metric.name} and {cost.name}")
    return panels


def _describe_shared(rivals: Sequence[Line], metric: MetricSpec, seeds: frozenset[int]) -> str:
    """Return a note on the number of shared trials if some learners have further trials, which are not drawn."""
    if all(len(line.values(metric.name)) in (0, len(seeds)) for line in rivals):
        return ""
    return f"({counted(len(seeds), 'trial')} that all have)"


def _cost_point(line: Line, metric: MetricSpec, cost: MetricSpec, seeds: frozenset[int]) -> Series | None:
    """Return a point: the mean score of a learner at its mean cost over some trials."""
    paid = line.summary(cost.name, seeds)
    if paid is None:
        return None
    point = _single_point(line, paid.mean, metric, seeds)
    if point is None:
        return None
    return replace(point, x_spread=(paid.sd or 0.0,))


def bar_panels(lines: Sequence[Line], metric: MetricSpec) -> list[Panel]:
    """Return panels of bars: a metric of every learner, in the same order on every dataset."""
    panels = []
    order = dict.fromkeys(line.title for line in lines)
    for title, rivals in titled_rivals(lines):
        by_title = {line.title: line for line in rivals}
        bars: list[Series] = []
        for name in order:
            if name in by_title:
                bar = _single_point(by_title[name], len(bars), metric)
                if bar is not None:
                    bars.append(bar)
        if bars:
            panels.append(_bars_of(title, bars, metric))
    if not panels:
        raise nothing_to_draw(f"no record has a value for {metric.name}")
    return panels


def _bars_of(title: str, bars: Sequence[Series], metric: MetricSpec) -> Panel:
    """Return a panel of horizontal bars, the first on top; on a logarithmic axis for large ratios."""
    scale = "linear" if metric.unit == "share" else scale_for([bar.y[0] for bar in bars])
    names = tuple(bar.label for bar in bars)
    return Panel(title, title_of(metric), "", tuple(bars), x_scale=scale, names=names, x_unit=metric.unit)


def _single_point(line: Line, x: float, metric: MetricSpec, seeds: frozenset[int] | None = None) -> Series | None:
    """Return the mean of a metric over trials; None without a value."""
    found = line.summary(metric.name, seeds)
    if found is None:
        return None
    return Series(line.title, (x,), (found.mean,), (found.sd or 0.0,), line.kind, trials=found.n)


# -- shared by all kinds ---------------------------------------------------------------------------------------------


def titled_rivals(lines: Iterable[Line]) -> list[tuple[str, list[Line]]]:
    """Return the title and the lines of each panel: those of one prepared dataset and one representation."""
    panels: dict[tuple[Prepared, str], list[Line]] = {}
    for line in lines:
        panels.setdefault((line.prepared, line.representation), []).append(line)
    shown = [rivals[0] for rivals in panels.values()]
    return [(_panel_title(rivals[0], shown), rivals) for rivals in panels.values()]


def _panel_title(line: Line, shown: Iterable[Line]) -> str:
    namesakes = [other for other in shown if other.dataset == line.dataset]
    if len(namesakes) == 1:
        return line.dataset
    words = line.preparation
    alike = [other for other in namesakes if other.preparation == words]
    if len(alike) > 1:
        words += f"; data {line.prepared.fingerprint[:8]}"
    return f"{line.dataset} ({words})"


def nothing_to_draw(reason: str, next_step: str = "") -> HarnessError:
    """Return the error for a figure without data."""
    return HarnessError(f"nothing to draw: {reason}", next_step=next_step)


def sweep_panels(lines: Sequence[Line], metric: MetricSpec, parameter: str | None = None) -> list[Panel]:
    """Return panels of a metric by a parameter, by default the only one that was swept.

    Raises
    ------
    HarnessError
        If no parameter has several values, or if several parameters have and none is named.
    """
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
        raise nothing_to_draw(f"no learner has several values of {name!r}", f"Run it with --set NAME.{name}=[1,2,3].")
    return panels


def _swept_series(lines: Iterable[Line], metric: MetricSpec, name: str) -> list[Series]:
    """Return the series of one dataset, each with at least two values of the parameter."""
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
    """Return the lines of each series by its title: lines of one family that differ in this parameter only."""
    together: dict[Configuration, list[Line]] = {}
    for line in lines:
        if name in _numbers_of(line):
            rest = replace(line.configuration.without(name), label=line.family)
            together.setdefault(rest, []).append(line)
    labelled = _label_series(list(together))
    titles = title_configurations(labelled.values())
    found = {}
    for rest, members in together.items():
        found[titles[labelled[rest]]] = members
    return found


def _label_series(configurations: Sequence[Configuration]) -> dict[Configuration, Configuration]:
    """Return each configuration with a new label: the family, and the parameters that differ within it."""
    labelled = {}
    for one in configurations:
        family = [other for other in configurations if other.label == one.label]
        settings = [f"{name}={value}" for name, value in one.params.items() if _differs(name, family)]
        label = f"{one.label}({', '.join(settings)})" if settings else one.label
        labelled[one] = replace(one, label=label)
    return labelled


def _differs(name: str, configurations: Sequence[Configuration]) -> bool:
    values = {repr(one.params.get(name)) for one in configurations}
    return len(values) > 1


def _swept_parameter(lines: Iterable[Line]) -> str:
    """Return the only parameter with several values in a family on a dataset."""
    names = swept_parameters(lines)
    if not names:
        raise nothing_to_draw(
            "no learner has several values of a numeric parameter", "Run it with --set NAME.PARAMETER=[1,2,3]."
        )
    if len(names) > 1:
        raise HarnessError(f"several parameters vary: {', '.join(names)}", next_step="Name one with --x.")
    return names[0]


def swept_parameters(lines: Iterable[Line]) -> list[str]:
    """Return all parameters with several values in a family on a dataset."""
    seen: dict[tuple[object, ...], set[float]] = {}
    for line in lines:
        for name, number in _numbers_of(line).items():
            seen.setdefault((line.prepared, line.family, name), set()).add(number)
    return sorted({str(key[-1]) for key, numbers in seen.items() if len(numbers) > 1})


def _numbers_of(line: Line) -> dict[str, float]:
    """Return the numeric parameters except random_state; a failed line has none."""
    numbers = {}
    if line.finished:
        for name, value in line.params.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and name != "random_state":
                numbers[name] = value
    return numbers


PERCENTS = range(1, 101)


@dataclass(frozen=True)
class Answers:
    """Accuracy of a trial by confidence and by class, computed from its saved ranks and the true classes."""

    risk: RiskCurve | None = None
    """Error by share of most confident rows; None without saved scores."""
    by_class: ByClass | None = None
    """Results by class; None for rows with several labels."""


AnswersByTrial = Mapping[str, Answers]
"""Answers by the key of the record; trials without saved ranks or data are left out."""
Points = Callable[[Answers], Iterable[Point]]


def coverage_panels(lines: Sequence[Line], answers: AnswersByTrial) -> list[Panel]:
    """Return panels of the accuracy on the most confident rows, by their share of all rows."""
    panels = []
    for title, series in _drawn(lines, answers, _coverage_points):
        panels.append(Panel(title, "share of rows, most confident first", "accuracy", series, y_unit="share"))
    if not panels:
        raise nothing_to_draw(
            "no record has scores. Only learners with scores(X, ranks), decision_function or predict_proba have them",
            "Run such a learner with another --out.",
        )
    return panels


def frequency_panels(lines: Sequence[Line], answers: AnswersByTrial) -> list[Panel]:
    """Return panels of R1 by the number of training rows of the class."""
    panels = []
    for title, series in _drawn(lines, answers, _frequency_points):
        panels.append(Panel(title, "training rows of the class", "R1", series, "log", x_unit="count", y_unit="share"))
    if not panels:
        raise nothing_to_draw("no record has ranks of data with one class a row")
    return panels


def level_panels(lines: Sequence[Line], answers: AnswersByTrial) -> list[Panel]:
    """Return panels of the accuracy at each level of the class tree."""
    panels = []
    for title, series in _drawn(lines, answers, _level_points):
        panels.append(
            Panel(title, "level of the class tree", "share of rows right", series, integer_x=True, y_unit="share")
        )
    if not panels:
        raise nothing_to_draw("no record has ranks of data with a taxonomy and one class a row")
    return panels


def _drawn(lines: Sequence[Line], answers: AnswersByTrial, points: Points) -> Iterable[tuple[str, tuple[Series, ...]]]:
    """Yield title and series of each dataset that has points."""
    for title, rivals in titled_rivals(lines):
        series = []
        for line in rivals:
            one = series_of(line.title, line.kind, _points_of(line, answers, points))
            if one is not None:
                series.append(one)
        if series:
            yield title, tuple(series)


def _points_of(line: Line, answers: AnswersByTrial, points: Points) -> Iterable[Point]:
    for record in line.finished:
        if record.key in answers:
            yield from points(answers[record.key])


def _coverage_points(answers: Answers) -> Iterable[Point]:
    curve = answers.risk
    if curve is None:
        return
    for percent in PERCENTS:
        at = bisect_left(curve.coverage, percent / 100 - 1e-9)
        yield Point(percent, float(curve.coverage[at]), float(1 - curve.risk[at]))


def _frequency_points(answers: Answers) -> Iterable[Point]:
    if answers.by_class is not None:
        for one in answers.by_class.by_frequency:
            yield Point(one.least, one.frequency, one.right / one.rows)


def _level_points(answers: Answers) -> Iterable[Point]:
    if answers.by_class is not None:
        for level, share in enumerate(answers.by_class.by_level, start=1):
            yield Point(level, level, share)
