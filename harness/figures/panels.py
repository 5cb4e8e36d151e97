"""Lines -> panels: curves, points and bars with their spread, ready to be drawn. Pure.

Every series rests on whole lines, so that a figure never averages what a table keeps apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.figures.arithmetic import Point, pareto_front, scale_for, series_of, slope_note
from harness.figures.drawing import Panel, Scale, Series
from harness.groups import Line, Prepared, shared_seeds
from harness.wording import counted


@dataclass(frozen=True)
class Size:
    """What is large about a data set: a field of its records, and what an axis calls it."""

    field: str
    title: str


SIZES = {
    "classes": Size("n_classes", "classes"),
    "examples": Size("n_train", "training rows"),
    "features": Size("n_features", "features"),
}


def title_of(metric: MetricSpec) -> str:
    """A metric's name for an axis; its unit stands at the ticks."""
    return metric.title or metric.name


# -- by the passes ---------------------------------------------------------------------------------------------------


def curve_panels(lines: Sequence[Line], metric: MetricSpec, x: MetricSpec | None = None) -> list[Panel]:
    """How a metric goes with the passes (or, with `x`, with another metric such as the training time)."""
    panels = []
    x_title = "passes" if x is None else title_of(x)
    for title, rivals in titled_rivals(lines):
        series = []
        for line in rivals:
            one = series_of(line.title, line.kind, _curve_points(line, metric, x))
            if one is not None:
                series.append(one)
        if series:
            panel = Panel(title, x_title, title_of(metric), tuple(series), whole_x=x is None)
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
    """Why there is no curve of these metrics, and how to get one."""
    names = [metric.name]
    if x is not None:
        names.append(x.name)
    measured: set[str] = set()
    for line in lines:
        for point in line.curve_points:
            measured.update(point.scores)
    if not measured:
        return "none of the records has a curve: run with --curves, and learners that take after_pass"
    lacking = [name for name in names if name not in measured]
    if lacking:
        return (
            f"the records have curves, but not of {' and '.join(lacking)}: run with --curves, --metrics "
            f"{','.join(names)} and another --out"
        )
    return f"no point of the curves has a value for {' and '.join(names)}"


# -- by the size of the data -----------------------------------------------------------------------------------------


def scaling_panels(lines: Sequence[Line], metric: MetricSpec, size: str = "classes") -> list[Panel]:
    """How a metric grows with the size of the data, and how steeply.

    A panel for each data set that was run in several sizes; where there is none such, one over all data sets.
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
    """The panel of these lines; none where no learner met several sizes."""
    series = []
    for title, members in _over_data_sets(lines).items():
        one = series_of(title, members[0].kind, _sized_points(members, metric, measure))
        if one is not None and len(one.x) > 1:
            series.append(replace(one, note=slope_note(one.x, one.y)))
    if not series:
        return []
    y_scale: Scale = "linear" if metric.unit == "share" else "log"
    title = _tell_datasets(lines)
    return [Panel(title, measure.title, title_of(metric), tuple(series), "log", y_scale, y_unit=metric.unit)]


def _tell_datasets(lines: Sequence[Line]) -> str:
    """What a panel over several data sets is called: by their families where these are few."""
    families = list(dict.fromkeys(line.dataset_family for line in lines))
    if len(families) <= 3:
        return ", ".join(families)
    return counted(len(families), "data set")


def _over_data_sets(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Each learner's lines over all data sets; by preparation too, where one data set was prepared in several ways."""
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
    """A point for each trial; data sets of one size, such as several draws, share theirs."""
    points = []
    for line in lines:
        for value in line.values(metric.name).values():
            size = getattr(line.finished[0], measure.field)
            points.append(Point(size, size, value))
    return points


# -- side by side ----------------------------------------------------------------------------------------------------


def pareto_panels(lines: Sequence[Line], metric: MetricSpec, cost: MetricSpec) -> list[Panel]:
    """What each learner reaches at which cost, and the front of those that no other one beats in both."""
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
            scale = scale_for([x for x, _ in points], wide=4)  # of costs it is ratios that matter
            shown = f"{title}\n{_tell_shared(rivals, metric, seeds)}".rstrip()
            axes = (shown, title_of(cost), title_of(metric))
            panel = Panel(*axes, tuple(series), x_scale=scale, front=tuple(front))
            panels.append(replace(panel, x_unit=cost.unit, y_unit=metric.unit))
    if not panels:
        raise nothing_to_draw(f"no record has both {metric.name} and {cost.name}")
    return panels


def _tell_shared(rivals: Sequence[Line], metric: MetricSpec, seeds: frozenset[int]) -> str:
    """That learners have unequal trials, of which the shared ones are drawn; nothing where they are equal."""
    if all(len(line.values(metric.name)) in (0, len(seeds)) for line in rivals):
        return ""
    return f"({counted(len(seeds), 'trial')} that all have)"


def _cost_point(line: Line, metric: MetricSpec, cost: MetricSpec, seeds: frozenset[int]) -> Series | None:
    """One point: a learner's mean score at its mean cost, over some trials."""
    paid = line.summary(cost.name, seeds)
    if paid is None:
        return None
    point = _single_point(line, paid.mean, metric, seeds)
    if point is None:
        return None
    return replace(point, x_spread=(paid.sd or 0.0,))


def bar_panels(lines: Sequence[Line], metric: MetricSpec) -> list[Panel]:
    """A metric of every learner, side by side, in the same order on every data set."""
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
    """Bars from left to right, the first on top; where ratios matter and are large, along a logarithmic axis."""
    scale = "linear" if metric.unit == "share" else scale_for([bar.y[0] for bar in bars])
    names = tuple(bar.label for bar in bars)
    return Panel(title, title_of(metric), "", tuple(bars), x_scale=scale, names=names, x_unit=metric.unit)


def _single_point(line: Line, x: float, metric: MetricSpec, seeds: frozenset[int] | None = None) -> Series | None:
    """The mean of a metric over the trials, or over some of them, where any has a value."""
    found = line.summary(metric.name, seeds)
    if found is None:
        return None
    return Series(line.title, (x,), (found.mean,), (found.sd or 0.0,), line.kind, trials=found.n)


# -- what all kinds share --------------------------------------------------------------------------------------------


def titled_rivals(lines: Iterable[Line]) -> list[tuple[str, list[Line]]]:
    """The lines of each panel, under the title that tells its data set, as prepared and seen, from all others."""
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


def nothing_to_draw(reason: str) -> HarnessError:
    return HarnessError(f"nothing to draw: {reason}")
