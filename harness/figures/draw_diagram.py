"""Average ranks over data sets drawn as a critical-difference diagram, after Demsar (2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.figures.styles import FigureStyle
from harness.stats import AverageRanks

if TYPE_CHECKING:
    from harness.figures.drawing import Diagram

NAME_STEP, BAR_STEP = 0.35, 0.25
"""Heights, in the units of the axis, that a name and a bar take below the line of ranks."""
MOST_NUMBERS = 15
"""Along the line of ranks: more would meet."""


def draw_diagram(diagram: Diagram, style: FigureStyle) -> Figure:
    """A line of ranks, the best on the left; bars join learners that cannot be told apart."""
    found = diagram.found
    most = len(found.ranks)
    names_a_side = -(-most // 2)
    lowest = -0.4 - NAME_STEP * names_a_side - BAR_STEP * len(found.groups)
    zoom = style.font_size / 9  # letters take the same share of the figure in every style
    figure = Figure(figsize=(6.4 * zoom, (1.4 - 0.55 * lowest) * zoom), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    axis.set(xlim=(0.2, most + 0.8), ylim=(lowest, 1.6), title=f"average rank by {diagram.title}")
    axis.axis("off")
    _draw_scale(axis, most)
    _draw_difference(axis, found)
    _draw_bars(axis, found)
    _draw_names(axis, found, names_a_side)
    return figure


def _draw_scale(axis: Axes, most: int) -> None:
    axis.plot([1, most], [0, 0], color="black", linewidth=1)
    apart = -(-most // MOST_NUMBERS)
    for rank in range(1, most + 1):
        axis.plot([rank, rank], [0, 0.12], color="black", linewidth=1)
        if (rank - 1) % apart == 0:
            axis.text(rank, 0.2, str(rank), ha="center", va="bottom", fontsize="small")


def _draw_difference(axis: Axes, found: AverageRanks) -> None:
    """The critical difference as a ruler above the line, and what Friedman's test says."""
    end = min(1 + found.difference, len(found.ranks) + 0.8)
    axis.plot([1, end], [0.85, 0.85], color="black", linewidth=1, marker="|")
    words = f"critical difference {found.difference:.2f} (5%, {found.n_datasets} data sets)"
    axis.text(1, 1.0, f"{words}; Friedman p = {found.p_value:.2g}", ha="left", va="bottom", fontsize="small")


def _draw_bars(axis: Axes, found: AverageRanks) -> None:
    """A thick bar over each run of learners that cannot be told apart."""
    for level, group in enumerate(found.groups):
        y = -0.2 - 0.22 * level
        ends = [found.ranks[group[0]] - 0.04, found.ranks[group[-1]] + 0.04]
        axis.plot(ends, [y, y], color="black", linewidth=3.5, solid_capstyle="butt")


def _draw_names(axis: Axes, found: AverageRanks, names_a_side: int) -> None:
    """The better half on the left, from the top down, the others on the right, from the bottom up."""
    top, most = -0.5 - BAR_STEP * len(found.groups), len(found.ranks)
    for position, (name, rank) in enumerate(found.ranks.items()):
        if position < names_a_side:
            y, edge = top - NAME_STEP * position, 0.75
            text, side = f" {name}  {rank:.2f} ", "right"
        else:
            y, edge = top - NAME_STEP * (most - 1 - position), most + 0.25
            text, side = f" {rank:.2f}  {name} ", "left"
        axis.plot([rank, rank, edge], [0, y, y], color="0.4", linewidth=0.8)
        axis.text(edge, y, text, ha=side, va="center", fontsize="medium")
