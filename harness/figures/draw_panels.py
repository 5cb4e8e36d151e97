"""Panels drawn in colours that the colour-blind tell apart, with markers and dashes that need none, and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.figures.crowding import uncrowded
from harness.figures.labels import Named, label_ends, label_points
from harness.figures.styles import FigureStyle, Look, look_of
from harness.figures.ticks import tick_linear, tick_logarithmic
from harness.quantities import say

if TYPE_CHECKING:
    from harness.figures.drawing import Panel, Series

PALE = "0.85"
MOST_MARKERS = 40
"""Of a line with more points only some are marked."""
SOME_MARKERS = 10
MOST_BANDS = 5
"""More bands than this in one panel hide each other, and the lines."""
Looks = Mapping[str, Look]
"""The look of each learner by its label, the same in every panel."""


def draw_panels(panels: Sequence[Panel], style: FigureStyle) -> Figure:
    """A figure of some panels a row."""
    shown = uncrowded(panels)
    columns = min(len(shown), style.columns)
    rows = -(-len(shown) // columns)
    height = max(_height_of(panel, style) for panel in shown)
    figure = Figure(figsize=(style.panel_width * columns, height * rows + 0.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    looks = _looks_of(shown)
    for axis, panel in zip(axes, shown, strict=False):
        _draw_panel(axis, panel, looks, style)
    for axis in axes[len(shown) :]:
        axis.set_visible(False)
    figure.supxlabel(_describe(shown), fontsize=0.8 * style.font_size, color="0.4", ha="right", x=0.99)
    figure.draw_without_rendering()  # settles where the axes are, which names are placed by
    for axis, panel in zip(axes, shown, strict=False):
        _name_series(axis, panel, looks, style)
    return figure


def _height_of(panel: Panel, style: FigureStyle) -> float:
    """The inches that a panel takes: a line of letters for each name, where that is more than the style's own."""
    line = style.font_size * (1.7 if panel.names else 1.3) / 72
    return max(style.panel_height, 0.9 + line * len(panel.series))


def _looks_of(panels: Sequence[Panel]) -> Looks:
    looks: dict[str, Look] = {}
    for panel in panels:
        for series in panel.series:
            looks.setdefault(series.label, look_of(len(looks)))
    return looks


def _describe(panels: Sequence[Panel]) -> str:
    """What spreads are and rest on, and what the dashed line is where there is one."""
    counts: set[int] = set()
    for panel in panels:
        counts.update(series.trials for series in panel.series)
    few, many = min(counts), max(counts)
    told = str(many) if few == many else f"{few} to {many}"
    words = f"mean and standard deviation over {told} trials"
    if many == 1:
        words = "one trial, so that no spread is known"
    elif all(_is_crowded(panel) for panel in panels):
        words = f"mean over {told} trials, of which so many lines show no spread"
    if any(panel.front for panel in panels):
        words += "; dashed: not beaten in both"
    if any(panel.front and panel.faint for panel in panels):
        words += "; pale: the others"
    return words


# -- one panel -------------------------------------------------------------------------------------------------------


def _draw_panel(axis: Axes, panel: Panel, looks: Looks, style: FigureStyle) -> None:
    letters = int(style.panel_width * 100 / style.font_size)
    axis.set(title=fill(panel.title, letters), xlabel=panel.x_title, ylabel=panel.y_title)
    axis.set(xscale=panel.x_scale, yscale=panel.y_scale)
    for series in panel.faint:
        axis.plot(series.x, series.y, color=PALE, linewidth=style.line_width, zorder=0, **_faint_marks(series, style))
    for series in panel.series:
        if panel.names:
            _draw_bar(axis, series, looks, style)
        elif len(series.x) == 1:
            _draw_point(axis, series, looks, style)
        else:
            _draw_line(axis, series, looks, style)
            if not _is_crowded(panel):
                _draw_band(axis, series, panel, looks[series.label].colour)
    if panel.names:
        _arrange_bars(axis, panel)
    if panel.y_from is not None:
        axis.set_ylim(bottom=panel.y_from)
    _set_ticks(axis, panel)
    if panel.front:
        _draw_front(axis, panel)


def _faint_marks(series: Series, style: FigureStyle) -> dict[str, Any]:
    """A marker for a series that is a point, of which there would be nothing to see."""
    return {"marker": "o", "markersize": 0.75 * style.marker_size} if len(series.x) == 1 else {}


def _set_ticks(axis: Axes, panel: Panel) -> None:
    if panel.x_scale == "log":
        tick_logarithmic(axis.xaxis, panel.x_unit)
    else:
        tick_linear(axis.xaxis, panel.x_unit, whole=panel.whole_x)
    if panel.y_scale == "log":
        tick_logarithmic(axis.yaxis, panel.y_unit)
    elif not panel.names:
        tick_linear(axis.yaxis, panel.y_unit, whole=False)


def _draw_front(axis: Axes, panel: Panel) -> None:
    """The border of what is reached, as steps from edge to edge: also where one point alone beats all others."""
    low, high = axis.get_xlim()
    bottom, _ = axis.get_ylim()
    x = [panel.front[0][0], *(point[0] for point in panel.front), high]
    y = [bottom, *(point[1] for point in panel.front), panel.front[-1][1]]
    if panel.front[0][1] > panel.front[-1][1]:  # more of x and less of y: the border comes from the other side
        x = [low, *(point[0] for point in panel.front), panel.front[-1][0]]
        y = [panel.front[0][1], *(point[1] for point in panel.front), bottom]
    axis.step(x, y, where="post", color="0.5", linewidth=1, linestyle="--", zorder=1)
    axis.set_xlim(low, high)
    axis.set_ylim(bottom)


def _marks_of(series: Series, looks: Looks) -> dict[str, Any]:
    """Colour, marker and label; trees have hollow markers."""
    look = looks[series.label]
    return {
        "color": look.colour,
        "marker": look.marker,
        "markerfacecolor": "white" if series.kind == "tree" else look.colour,
        "label": _name_of(series),
    }


def _name_of(series: Series) -> str:
    return f"{series.label} ({series.note})" if series.note else series.label


def _draw_point(axis: Axes, series: Series, looks: Looks, style: FigureStyle) -> None:
    """A single point with error bars, up and down and, where x was measured too, to both sides."""
    yerr = xerr = None
    if series.trials > 1:
        yerr, xerr = series.spread or None, series.x_spread or None
    bars: dict[str, Any] = {"markersize": style.marker_size, "elinewidth": 0.8, "capsize": 2, "linestyle": "none"}
    axis.errorbar(series.x, series.y, yerr=yerr, xerr=xerr, **_marks_of(series, looks), **bars)


def _draw_line(axis: Axes, series: Series, looks: Looks, style: FigureStyle) -> None:
    """A line through the means; with many points only some have a marker, or there would be no line to see."""
    marks = _marks_of(series, looks)
    if len(series.x) > MOST_MARKERS:
        last = len(series.x) - 1
        marks["markevery"] = sorted(range(last, -1, -(last // SOME_MARKERS)))  # the last one among them
    dash = looks[series.label].dash
    axis.plot(
        series.x, series.y, linestyle=dash, linewidth=style.line_width, markersize=0.75 * style.marker_size, **marks
    )


def _draw_band(axis: Axes, series: Series, panel: Panel, colour: str) -> None:
    """One standard deviation up and down; a share has none below nothing and none above all."""
    if not any(series.spread):
        return
    low, high = [], []
    for y, spread in zip(series.y, series.spread, strict=True):
        low.append(y - spread)
        high.append(y + spread)
    if panel.y_unit == "share":
        low = [max(value, 0.0) for value in low]
        high = [min(value, 1.0) for value in high]
    axis.fill_between(series.x, low, high, color=colour, alpha=0.15, linewidth=0)


def _is_crowded(panel: Panel) -> bool:
    """Whether its bands would hide each other."""
    lines = [series for series in panel.series if len(series.x) > 1]
    return len(lines) > MOST_BANDS


def _draw_bar(axis: Axes, series: Series, looks: Looks, style: FigureStyle) -> None:
    """A bar from the left, its value behind it."""
    spread = series.spread if series.trials > 1 else None
    colour = looks[series.label].colour
    axis.barh(series.x, series.y, xerr=spread, capsize=2, color=colour, height=0.7, label=series.label)


def _arrange_bars(axis: Axes, panel: Panel) -> None:
    """Names to the left, the first on top; values to the right, where they hide no bar."""
    axis.set_yticks(range(len(panel.names)), panel.names)
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    if panel.x_scale == "log":
        lowest = min(series.y[0] for series in panel.series)
        axis.set_xlim(left=lowest / 2)
    right = axis.get_yaxis_transform()
    for series in panel.series:
        axis.text(1.02, series.x[0], say(series.y[0], panel.x_unit), transform=right, ha="left", va="center")


def _name_series(axis: Axes, panel: Panel, looks: Looks, style: FigureStyle) -> None:
    """Names beside points, or at the right where there are lines; bars have theirs."""
    if panel.names:
        return
    named = []
    for series in panel.series:
        named.append(Named(series.x[-1], series.y[-1], _name_of(series), looks[series.label].colour))
    if all(len(series.x) == 1 for series in panel.series):
        label_points(axis, named, 0.85 * style.font_size)
    else:
        label_ends(axis, named, 0.85 * style.font_size)
