"""Measurements -> series: means and spreads, the front of the best, slopes, and which axis fits. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from harness.figures.drawing import Scale, Series
from harness.stats import mean_of, summarise

WIDE = 20
"""Positive numbers that spread over more than this factor get a logarithmic axis."""


class Point(NamedTuple):
    """One measurement: those of one place become one point of a series."""

    place: float
    x: float | None
    y: float | None


def series_of(label: str, kind: str, points: Iterable[Point]) -> Series | None:
    """A series in the order of places: x and y are the means, the spread is that of y; None without any value."""
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
    """The points that no other one equals or beats in both while beating it in one, in the order of x."""
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
    """The exponent of the power law that fits best: the slope of a straight line through the logarithms."""
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
    slope = round(above / below, 2) + 0.0  # a slope that is next to nothing has no sign
    return f"slope {slope:.2f}"


def scale_for(values: Sequence[float], wide: float = WIDE) -> Scale:
    """Logarithmic where positive numbers spread over more than a factor."""
    if min(values) > 0 and max(values) > wide * min(values):
        return "log"
    return "linear"
