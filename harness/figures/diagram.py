"""Average ranks over data sets as a critical-difference diagram, after Demsar (2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.stats import AverageRanks


@dataclass(frozen=True)
class Diagram:
    """What is to be drawn: the ranks, and by which metric."""

    title: str
    found: AverageRanks


def draw_diagram(diagram: Diagram) -> Figure:
    """A line of ranks, the best on the left; bars join learners that cannot be told apart."""
    found = diagram.found
    names = list(found.ranks)
    half = -(-len(names) // 2)
    lowest = -0.4 - 0.35 * half - 0.25 * len(found.groups)
    figure = Figure(figsize=(6.4, 1.4 - 0.55 * lowest), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    axis.set(xlim=(0.2, len(names) + 0.8), ylim=(lowest, 1.6), title=f"average rank by {diagram.title}")
    axis.axis("off")
    axis.plot([1, len(names)], [0, 0], color="black", linewidth=1)
    for rank in range(1, len(names) + 1):
        axis.plot([rank, rank], [0, 0.12], color="black", linewidth=1)
        axis.text(rank, 0.2, str(rank), ha="center", va="bottom", fontsize=8)
    _draw_difference(axis, found)
    for level, group in enumerate(found.groups):
        y = -0.2 - 0.22 * level
        ends = [found.ranks[group[0]] - 0.04, found.ranks[group[-1]] + 0.04]
        axis.plot(ends, [y, y], color="black", linewidth=3.5, solid_capstyle="butt")
    first = -0.5 - 0.25 * len(found.groups)
    for position, name in enumerate(names):
        left = position < half
        level = position if left else len(names) - 1 - position
        _draw_name(axis, name, found.ranks[name], first - 0.35 * level, len(names), left)
    return figure


def _draw_difference(axis: Any, found: AverageRanks) -> None:
    """The critical difference as a ruler above the line, and what Friedman's test says."""
    end = min(1 + found.difference, len(found.ranks) + 0.8)
    axis.plot([1, end], [0.85, 0.85], color="black", linewidth=1, marker="|")
    words = f"critical difference {found.difference:.2f} (5%, {found.n_datasets} data sets)"
    axis.text(1, 1.0, f"{words}; Friedman p = {found.p_value:.2g}", ha="left", va="bottom", fontsize=8)


def _draw_name(axis: Any, name: str, rank: float, y: float, most: int, left: bool) -> None:
    edge = 0.75 if left else most + 0.25
    axis.plot([rank, rank, edge], [0, y, y], color="0.4", linewidth=0.8)
    text = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
    axis.text(edge, y, f" {text} ", ha="right" if left else "left", va="center", fontsize=9)
