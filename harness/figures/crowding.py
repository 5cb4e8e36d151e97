"""Panels with more series than can be told apart become small multiples. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.figures.drawing import Panel

MOST_TOGETHER = 20
"""Series that one panel shows."""
IN_MULTIPLES = 8
"""Series that each of several panels shows, where one would be too many for one."""


def uncrowded(panels: Sequence[Panel]) -> list[Panel]:
    """The panels, the crowded ones each as several with the same axes: some series in colour, the others pale."""
    found = []
    for panel in panels:
        if panel.names or len(panel.series) <= MOST_TOGETHER:
            found.append(panel)
        else:
            found += _multiples(panel)
    return found


def _multiples(panel: Panel) -> list[Panel]:
    parts = []
    for first in range(0, len(panel.series), IN_MULTIPLES):
        shown = panel.series[first : first + IN_MULTIPLES]
        others = tuple(one for one in panel.series if one not in shown)
        title = f"{panel.title} ({first + 1} to {first + len(shown)} of {len(panel.series)})"
        parts.append(replace(panel, title=title, series=shown, faint=others))
    return parts
