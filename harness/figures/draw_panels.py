"""Panels drawn in colours that the colour-blind tell apart, with markers and dashes that need none."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.figures.ticks import tick_logarithmic

if TYPE_CHECKING:
    from harness.figures.drawing import Panel, Series

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
"""Okabe and Ito's palette, with yellow, which print loses, replaced by olive."""
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "--", "oo")
PANEL_WIDTH, PANEL_HEIGHT = 4.2, 3.2
"""In inches."""
TITLE_WIDTH = 42
"""Letters that fit above a panel."""
FRONT = "not beaten in both"


def draw_panels(panels: Sequence[Panel]) -> Figure:
    """A figure of up to three panels a row."""
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(PANEL_WIDTH * columns, PANEL_HEIGHT * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    series: list[Series] = []
    for panel in panels:
        series += panel.series
    labels = list(dict.fromkeys(one.label for one in series))  # a learner looks the same in every panel
    for axis, panel in zip(axes, panels, strict=False):
        _draw_panel(axis, panel, labels)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    figure.supxlabel(_describe_trials(series), fontsize=7, color="0.4", ha="right", x=0.99)
    if not any(panel.names for panel in panels):
        _draw_legend(figure)
    return figure


def _describe_trials(series: Sequence[Series]) -> str:
    counts = {one.trials for one in series}
    few, many = min(counts), max(counts)
    if many == 1:
        return "one trial, so that no spread is known"
    told = str(many) if few == many else f"{few} to {many}"
    return f"mean and standard deviation over {told} trials"


# -- the legend ------------------------------------------------------------------------------------------------------


def _draw_legend(figure: Figure) -> None:
    """One legend for all panels, above them, where it hides nothing; the front of the best comes last."""
    looks = _looks_in(figure)
    front = looks.pop(FRONT, None)
    if front is not None:
        looks[FRONT] = front
    labels = list(looks)
    rows = _legend_rows(labels, figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + 0.2 * rows)
    figure.legend(looks.values(), labels, loc="outside upper center", ncols=ceil(len(labels) / rows), fontsize=8)


def _looks_in(figure: Figure) -> dict[str, Any]:
    """How each label looks, in the order in which they appear."""
    looks: dict[str, Any] = {}
    for axis in figure.axes:
        handles, labels = axis.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            look: Any = handle
            if isinstance(look, ErrorbarContainer):  # its bars would clutter the legend
                look = look[0]
            looks.setdefault(label, look)
    return looks


def _legend_rows(labels: Sequence[str], width: float) -> int:
    """The fewest rows in which a legend is narrower than this many inches."""
    rows = 1
    while rows < len(labels) and _legend_width(labels, rows) >= width:
        rows += 1
    return rows


def _legend_width(labels: Sequence[str], rows: int) -> float:
    """The inches that a legend takes, roughly, filled column by column."""
    width = 0.0
    for first in range(0, len(labels), rows):
        longest = max(map(len, labels[first : first + rows]))
        width += 0.6 + 0.075 * longest
    return width


# -- one panel -------------------------------------------------------------------------------------------------------


def _draw_panel(axis: Axes, panel: Panel, labels: Sequence[str]) -> None:
    axis.set(title=fill(panel.title, TITLE_WIDTH), xlabel=panel.x_title, ylabel=panel.y_title)
    axis.set(xscale=panel.x_scale, yscale=panel.y_scale)
    for series in panel.series:
        number = labels.index(series.label)
        if panel.names:
            _draw_bar(axis, series, number)
        elif len(series.x) == 1:
            _draw_point(axis, series, number)
        else:
            _draw_line(axis, series, number)
    if panel.whole_x:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(panel.front) > 1:
        x, y = zip(*panel.front, strict=True)
        axis.plot(x, y, color="0.5", linewidth=1, linestyle="--", zorder=1, label=FRONT)
    if panel.names:
        axis.set_xticks(range(len(panel.names)), panel.names, rotation=30, ha="right")
        axis.grid(visible=False, axis="x")
    if panel.x_scale == "log":
        tick_logarithmic(axis.xaxis)
    if panel.y_scale == "log":
        tick_logarithmic(axis.yaxis)


def _look_of(series: Series, number: int) -> dict[str, Any]:
    """Colour, marker and label; trees have hollow markers."""
    colour = COLOURS[number % len(COLOURS)]
    return {
        "color": colour,
        "marker": MARKERS[number % len(MARKERS)],
        "markerfacecolor": "white" if series.kind == "tree" else colour,
        "label": f"{series.label} ({series.note})" if series.note else series.label,
    }


def _draw_point(axis: Axes, series: Series, number: int) -> None:
    """A single point with error bars, up and down and, where x was measured too, to both sides."""
    yerr = xerr = None
    if series.trials > 1:
        yerr, xerr = series.spread or None, series.x_spread or None
    bars: dict[str, Any] = {"markersize": 6, "elinewidth": 1, "capsize": 2, "linestyle": "none"}
    axis.errorbar(series.x, series.y, yerr=yerr, xerr=xerr, **_look_of(series, number), **bars)


def _draw_line(axis: Axes, series: Series, number: int) -> None:
    """A line with a band of one standard deviation."""
    look = _look_of(series, number)
    dash = DASHES[(number + number // len(MARKERS)) % len(DASHES)]
    axis.plot(series.x, series.y, linestyle=dash, linewidth=1.3, markersize=4.5, **look)
    if any(series.spread):
        low, high = [], []
        for y, spread in zip(series.y, series.spread, strict=True):
            low.append(y - spread)
            high.append(y + spread)
        axis.fill_between(series.x, low, high, color=look["color"], alpha=0.15, linewidth=0)


def _draw_bar(axis: Axes, series: Series, number: int) -> None:
    axis.bar(
        series.x,
        series.y,
        yerr=series.spread if series.trials > 1 else None,
        capsize=3,
        color=COLOURS[number % len(COLOURS)],
        hatch=HATCHES[number % len(HATCHES)],
        edgecolor="white",
        width=0.7,
        label=series.label,
    )
