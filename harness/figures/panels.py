"""Records -> Panels: lines, points and bars with their spread, ready to be drawn. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.record import Record
from harness.stats import summarise

Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Series:
    """One learner's points, in the order of x, each with its spread over trials (one sample standard deviation)."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...]
    kind: str = "flat"
    note: str = ""
    """Said in the legend behind the label."""
    trials: int = 1
    """How many trials a point rests on, at most."""
    x_spread: tuple[float, ...] = ()
    """The spread of x, where x was measured too."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    front: tuple[tuple[float, float], ...] = field(default=())
    """Points that no other one beats in both directions, joined by a line."""
    names: tuple[str, ...] = ()
    """What stands below bars instead of numbers."""
    whole_x: bool = False
    """Whether x counts something, and has no values between."""


def title_of(metric: MetricSpec) -> str:
    """A metric's name for an axis, with its unit where it has one."""
    units = {"seconds": " (s)", "bytes": " (bytes)"}
    return (metric.title or metric.name) + units.get(metric.unit, "")


# -- the kinds -------------------------------------------------------------------------------------------------------


def curve_panels(records: Iterable[Record], metric: MetricSpec, x: MetricSpec | None = None) -> list[Panel]:
    """How a metric goes with the passes (or, with `x`, with another metric such as the training time)."""
    panels, kept = [], list(records)
    for title, members in _by_dataset(kept):
        series = []
        for label, group in _by_label(members):
            points = [
                (point.passes, point.scores.get(x.name) if x else point.passes, point.scores.get(metric.name))
                for record in group
                for point in record.curve
            ]
            series += _series(label, group[0].learner_kind, points)
        if series:
            across = title_of(x) if x else "passes"
            panels.append(Panel(title, across, title_of(metric), tuple(series), whole_x=x is None))
    return _some(panels, _no_curve(kept, [metric.name, *([x.name] if x else [])]))


def _no_curve(records: Sequence[Record], names: Sequence[str]) -> str:
    """Why there is no curve of these metrics, and how to get one."""
    points = [point.scores for record in records if record.status == "ok" for point in record.curve]
    if not points:
        return "none of the records has a curve: run with --curves, and learners that take after_pass"
    lacking = [name for name in names if all(name not in scores for scores in points)]
    if lacking:
        return (
            f"the records have curves, but not of {' and '.join(lacking)}: run with --curves, --metrics "
            f"{','.join(names)} and another --out"
        )
    return f"no point of the curves has a value for {' and '.join(names)}"


def sweep_panels(records: Iterable[Record], metric: MetricSpec, parameter: str | None = None) -> list[Panel]:
    """How a metric goes with a parameter that was set to several numbers."""
    kept = list(records)
    name = parameter or _swept(kept)
    panels = []
    for title, members in _by_dataset(kept):
        series = []
        for label, group in _by_label(members, without=name):
            points = [(r.params[name], r.params[name], r.scores.get(metric.name)) for r in group if _has(r, name)]
            if len({at for at, _, _ in points}) > 1:
                series += _series(label, group[0].learner_kind, points)
        if series:
            scale = _scale([at for one in series for at in one.x])
            panels.append(Panel(title, name, title_of(metric), tuple(series), x_scale=scale))
    return _some(panels, f"no learner was run with several numbers for {name!r}: --set NAME.{name}=[1,2,3]")


def scaling_panels(records: Iterable[Record], metric: MetricSpec, x: str = "n_classes") -> list[Panel]:
    """How a metric grows with the number of classes or of training rows, over all data sets, and how steeply."""
    titles = {"n_classes": "classes", "n_train": "training rows", "n_features": "features"}
    series = []
    for label, group in _by_label(list(records)):
        points = [(getattr(r, x), getattr(r, x), r.scores.get(metric.name)) for r in group if r.status == "ok"]
        for one in _series(label, group[0].learner_kind, points):
            if len(one.x) > 1:
                series.append(replace(one, note=slope_note(one.x, one.y)))
    panel = Panel("", titles[x], title_of(metric), tuple(series), "log", "log" if metric.unit != "share" else "linear")
    return _some([panel] if series else [], f"no learner was run on data of several sizes ({titles[x]})")


def pareto_panels(records: Iterable[Record], metric: MetricSpec, cost: MetricSpec) -> list[Panel]:
    """What each learner reaches at which cost, and the front of those that no other one beats in both."""
    panels = []
    for title, members in _by_dataset(records):
        series = []
        for label, group in _by_label(members):
            at = summarise(_scores(group, cost))
            if at:
                series += [replace(one, x_spread=(at.sd or 0.0,)) for one in _single(label, at.mean, group, metric)]
        if series:
            points = [(one.x[0], one.y[0]) for one in series]
            scale = _scale([x for x, _ in points])
            front = pareto_front(points, metric.direction == "higher", cost.direction == "higher")
            panels.append(
                Panel(title, title_of(cost), title_of(metric), tuple(series), x_scale=scale, front=tuple(front))
            )
    return _some(panels, f"no record has both {metric.name} and {cost.name}")


def bar_panels(records: Iterable[Record], metric: MetricSpec) -> list[Panel]:
    """A metric of every learner, side by side."""
    panels, kept = [], list(records)
    order = [label for label, _ in _by_label(kept)]  # the same in every panel
    for title, members in _by_dataset(kept):
        series: list[Series] = []
        names: list[str] = []
        for label, group in sorted(_by_label(members), key=lambda item: order.index(item[0])):
            bar = _single(label, len(series), group, metric)
            series, names = series + bar, names + [one.label for one in bar]
        if series:
            panels.append(Panel(title, "", title_of(metric), tuple(series), names=tuple(names)))
    return _some(panels, f"no record has a value for {metric.name}")


# -- arithmetic ------------------------------------------------------------------------------------------------------


def pareto_front(points: Sequence[tuple[float, float]], higher_y: bool, higher_x: bool) -> list[tuple[float, float]]:
    """The points that no other one equals or beats in both while beating it in one, in the order of x."""

    def beats(a: tuple[float, float], b: tuple[float, float]) -> bool:
        x, y = (1 if higher_x else -1) * (a[0] - b[0]), (1 if higher_y else -1) * (a[1] - b[1])
        return x >= 0 and y >= 0 and (x > 0 or y > 0)

    return sorted({point for point in points if not any(beats(other, point) for other in points)})


def slope_note(x: Sequence[float], y: Sequence[float]) -> str:
    """The exponent of the power law that fits best: the slope of a straight line through the logarithms."""
    pairs = [(math.log(a), math.log(b)) for a, b in zip(x, y, strict=True) if a > 0 and b > 0]
    if len(pairs) < 2:
        return ""
    mean_a, mean_b = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
    above = sum((a - mean_a) * (b - mean_b) for a, b in pairs)
    below = sum((a - mean_a) ** 2 for a, _ in pairs)
    return f"slope {above / below:.2f}" if below else ""


# -- grouping --------------------------------------------------------------------------------------------------------


def _by_dataset(records: Iterable[Record]) -> list[tuple[str, list[Record]]]:
    """The finished records by data set, as prepared."""
    found: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        if record.status == "ok":
            key = (record.dataset, record.representation, record.split, record.fingerprint)
            found.setdefault(key, []).append(record)
    names = [key[0] for key in found]
    return [
        (key[0] if names.count(key[0]) == 1 else f"{key[0]} ({key[1]}, {key[2]})", members)
        for key, members in found.items()
    ]


def _by_label(records: Iterable[Record], without: str = "") -> list[tuple[str, list[Record]]]:
    """The records of each learner; its label leaves out the parameter that is swept."""
    found: dict[str, list[Record]] = {}
    for record in records:
        label = record.label
        if without and label.endswith(")") and "(" in label:
            head, _, inside = label[:-1].rpartition("(")
            others = [part for part in inside.split(", ") if not part.startswith(f"{without}=")]
            label = f"{head}({', '.join(others)})" if others else head
        found.setdefault(label, []).append(record)
    return list(found.items())


def _series(label: str, kind: str, points: Sequence[tuple[Any, Any, Any]]) -> list[Series]:
    """Points that share their first value become one: its x and y the means, its spread that of y."""
    groups: dict[float, list[tuple[float, float]]] = {}
    for group, x, y in points:
        if x is not None and y is not None and math.isfinite(y):
            groups.setdefault(group, []).append((x, y))
    if not groups:
        return []
    summaries = [
        (sum(x for x, _ in members) / len(members), summarise([y for _, y in members]))
        for _, members in sorted(groups.items())
    ]
    rows = [(x, s.mean, s.sd or 0.0) for x, s in summaries if s is not None]
    x, y, spread = zip(*rows, strict=True)
    return [Series(label, x, y, spread, kind, trials=max(map(len, groups.values())))]


def _single(label: str, x: float, records: Sequence[Record], metric: MetricSpec) -> list[Series]:
    """One point: the mean of a metric over the trials, where any has a value."""
    found = summarise(_scores(records, metric))
    if found is None:
        return []
    return [Series(label, (x,), (found.mean,), (found.sd or 0.0,), records[0].learner_kind, trials=found.n)]


def _swept(records: Sequence[Record]) -> str:
    """The one parameter that a learner was run with several numbers of."""
    seen: dict[tuple[str, str], set[float]] = {}
    for record in records:
        for name, value in record.params.items():
            if name != "random_state" and _has(record, name):
                seen.setdefault((record.learner, name), set()).add(value)
    names = sorted({name for (_, name), values in seen.items() if len(values) > 1})
    if len(names) != 1:
        found = f"several were ({', '.join(names)})" if names else "none was"
        raise HarnessError(f"which parameter was swept? {found}: name one with --x")
    return names[0]


def _has(record: Record, name: str) -> bool:
    value = record.params.get(name)
    return isinstance(value, int | float) and not isinstance(value, bool) and record.status == "ok"


def _scores(records: Iterable[Record], metric: MetricSpec) -> list[float]:
    values = (record.scores.get(metric.name) for record in records)
    return [value for value in values if value is not None]


def _scale(values: Sequence[float]) -> Scale:
    """Logarithmic where positive numbers spread over more than a factor of 20."""
    return "log" if min(values) > 0 and max(values) > 20 * min(values) else "linear"


def _some(panels: list[Panel], otherwise: str) -> list[Panel]:
    if not panels:
        raise HarnessError(f"nothing to draw: {otherwise}")
    return panels
