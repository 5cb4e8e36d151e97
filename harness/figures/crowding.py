"""Panels with more series than can be told apart: small multiples, or the front alone in colour. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.figures.drawing import Panel

MOST_TOGETHER = 20
"""Series that one panel shows."""
FEW = 10
"""One in so many may lie below what a panel with a front shows."""
IN_MULTIPLES = 8
"""Series that each of several panels shows, where one would be too many for one."""


def uncrowded(panels: Sequence[Panel]) -> list[Panel]:
    """The panels, the crowded ones with most series pale: those that are beaten, or, where there is no front, each as
    several with the same axes and other series in colour."""
    found = []
    for panel in panels:
        if panel.names or len(panel.series) <= MOST_TOGETHER:
            found.append(panel)
        elif panel.front:
            found.append(_front_alone(panel))
        else:
            found += _multiples(panel)
    return found


def _front_alone(panel: Panel) -> Panel:
    low = _y_from(panel)
    shown = [one for one in panel.series if low is None or one.y[0] >= low]
    ahead = tuple(one for one in shown if (one.x[0], one.y[0]) in panel.front)
    beaten = tuple(one for one in shown if one not in ahead)
    front = tuple(point for point in panel.front if low is None or point[1] >= low)
    hidden = len(panel.series) - len(shown)
    title = f"{panel.title} ({hidden} of {len(panel.series)} lie below)" if hidden else panel.title
    return replace(panel, title=title, series=ahead, faint=beaten, front=front, y_from=low)


def _y_from(panel: Panel) -> float | None:
    """Where y begins: below all but a few that are so far below that the others would hardly differ."""
    heights = sorted(one.y[0] for one in panel.series)
    low, high = heights[len(heights) // FEW], heights[-1]
    return low - 0.05 * (high - low) if low - heights[0] > high - low else None


def _multiples(panel: Panel) -> list[Panel]:
    parts = []
    for first in range(0, len(panel.series), IN_MULTIPLES):
        shown = panel.series[first : first + IN_MULTIPLES]
        others = tuple(one for one in panel.series if one not in shown)
        title = f"{panel.title} ({first + 1} to {first + len(shown)} of {len(panel.series)})"
        parts.append(replace(panel, title=title, series=shown, faint=others))
    return parts
