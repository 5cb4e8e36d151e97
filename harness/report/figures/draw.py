"""Draw figures with matplotlib as PNG, SVG or PDF; the same drawing gives the same file.

Names are written beside points and at the ends of lines instead of in a legend. Colours are safe for colour-blind
readers; markers and dashes repeat the distinction. The diagram of average ranks follows Demsar (2006).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator, NullFormatter
from matplotlib.transforms import Bbox

from harness.errors import HarnessError
from harness.report.figures.drawing import (
    DEFAULT_STYLE,
    FIGURE_STYLES,
    FILE_FORMATS,
    FigureStyle,
    Look,
    look_of,
    uncrowded,
)
from harness.stats import AverageRanks
from harness.text import say, say_briefly

if TYPE_CHECKING:
    from harness.report.figures.drawing import Diagram, Drawing, Panel, Series

SETTINGS = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "harness",  # fixed: the same records give the same file
    "pdf.fonttype": 42,
}


def save_figure(drawing: Drawing, path: Path, style: FigureStyle) -> Path:
    """Draw a figure into a file and return the path.

    Parameters
    ----------
    drawing : Drawing
        The figure as data.
    path : Path
        The file, whose ending selects the format. Missing folders are created.
    style : FigureStyle
        Sizes and fonts.

    Raises
    ------
    HarnessError
        If the ending of the path is not in `FILE_FORMATS`.
    """
    ending = path.suffix.lstrip(".").lower()
    if ending not in FILE_FORMATS:
        raise HarnessError(f"the file's ending must be one of {', '.join(FILE_FORMATS)}", culprit=str(path))
    content = render_figure(drawing, ending, style)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def render_figure(drawing: Drawing, file_format: str, style: FigureStyle = FIGURE_STYLES[DEFAULT_STYLE]) -> bytes:
    """Return a figure as the content of a file; `file_format` is a name in `FILE_FORMATS`."""
    content = io.BytesIO()
    with mpl.rc_context({**SETTINGS, "font.size": style.font_size}):
        drawing.draw(style).savefig(content, format=file_format, metadata=FILE_FORMATS[file_format])
    return content.getvalue()


DIRECTIONS = ((1, 0), (1, 1), (1, -1), (0, 1), (0, -1), (-1, 0), (-1, 1), (-1, -1))
"""Directions from a point to its name, the most readable first."""
DISTANCES = (6, 12, 20, 30, 42, 56, 75, 100)
"""Distances of a name from its point, in points (1/72 inch). From the second on, a thin line joins them."""
SIDES = {-1: "right", 0: "center", 1: "left"}
HEIGHTS = {-1: "top", 0: "center", 1: "bottom"}


@dataclass(frozen=True)
class Named:
    """A point in data coordinates and the name to write beside it."""

    x: float
    y: float
    text: str
    colour: str


def label_points(axis: Axes, named: Sequence[Named], font_size: float) -> None:
    """Write a name beside each point, avoiding other names and points."""
    places = axis.transData.transform([(one.x, one.y) for one in named])
    taken = [Bbox.from_extents(x - 4, y - 4, x + 4, y + 4) for x, y in places]
    for one in named:
        label = _best_placed(axis, one, taken, font_size)
        taken.append(box_of(label))


def _best_placed(axis: Axes, one: Named, taken: Sequence[Bbox], font_size: float) -> Annotation:
    """Return the name at the first free place, or at the least crowded one."""
    best: Annotation | None = None
    least = float("inf")
    for distance in DISTANCES:
        for direction in DIRECTIONS:
            tried = _write(axis, one, direction, distance, font_size)
            crowding = _crowding(box_of(tried), taken, axis.get_window_extent())
            if crowding >= least:
                tried.remove()
                continue
            if best is not None:
                best.remove()
            best, least = tried, crowding
            if crowding == 0:
                return best
    assert best is not None
    return best


def box_of(label: Annotation) -> Bbox:
    """Return the bounding box of a name without the line to its point."""
    label.get_window_extent()  # updates the position
    return Text.get_window_extent(label)


def _write(axis: Axes, one: Named, direction: tuple[int, int], distance: int, font_size: float) -> Annotation:
    across, up = direction
    leads = distance > DISTANCES[0]
    return axis.annotate(
        one.text,
        (one.x, one.y),
        xytext=(across * distance, up * distance),
        textcoords="offset points",
        ha=SIDES[across],
        va=HEIGHTS[up],
        fontsize=font_size,
        color=one.colour,
        arrowprops=_lead(one, (1 - across) / 2) if leads else None,
        bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.85},  # error bars may lie behind
    )


def _lead(one: Named, side: float) -> dict[str, Any]:
    """Return the line from a point to the near side of its name: 0 for left, 1 for right."""
    thin = {"arrowstyle": "-", "color": one.colour, "linewidth": 0.6, "alpha": 0.85}
    return {**thin, "relpos": (side, 0.5), "shrinkA": 1, "shrinkB": 3}


def _crowding(box: Bbox, taken: Sequence[Bbox], inside: Bbox) -> float:
    """Return the area of a name that overlaps others or lies outside of the axes, in square pixels."""
    area = box.width * box.height
    within = Bbox.intersection(box, inside)
    total = area if within is None else area - within.width * within.height
    for other in taken:
        shared = Bbox.intersection(box, other)
        if shared is not None:
            total += shared.width * shared.height
    return max(total, 0.0) if total > 1e-6 else 0.0


def label_ends(axis: Axes, named: Sequence[Named], font_size: float) -> None:
    """Write names to the right of the axes, each near the height of the end of its line."""
    box = axis.get_window_extent()
    step = font_size * 1.25 * axis.figure.dpi / 72
    ends = axis.transData.transform([(one.x, one.y) for one in named])
    order = sorted(range(len(named)), key=lambda place: ends[place][1])
    heights = spread_out([ends[place][1] for place in order], step, box.y0, box.y1)
    for place, height in zip(order, heights, strict=True):
        one = named[place]
        axis.annotate(
            one.text,
            (one.x, one.y),
            xytext=(1.06, (height - box.y0) / box.height),
            textcoords="axes fraction",
            ha="left",
            va="center",
            fontsize=font_size,
            color=one.colour,
            annotation_clip=False,
            arrowprops=_lead(one, 0.0),
        )


def spread_out(wanted: Sequence[float], step: float, low: float, high: float) -> list[float]:
    """Return heights that are at least `step` apart and near the wanted ones, which are in increasing order.

    They stay between `low` and `high` if there is room for all.

    Parameters
    ----------
    wanted : sequence of float
        Heights in increasing order.
    step : float
        The smallest distance between two heights.
    low, high : float
        The range to stay in if there is room.

    Examples
    --------
    >>> spread_out([1.0, 1.0], step=0.5, low=0.0, high=2.0)
    [1.0, 1.5]
    """
    heights: list[float] = []
    for place, height in enumerate(wanted):
        lowest = heights[-1] + step if heights else low
        heights.append(max(height, lowest))
        room_above = (len(wanted) - 1 - place) * step
        heights[-1] = max(lowest, min(heights[-1], high - room_above))
    return heights


MOST_ACROSS, MOST_UP = 5, 8
"""Maximum number of ticks of a logarithmic x axis and y axis."""
SCALED_UNITS = ("seconds", "bytes", "count")
"""Units whose tick labels are scaled: 5 ms, 20 MB, 300k."""


def tick_logarithmic(axis: Axis, unit: str) -> None:
    """Set the ticks of a logarithmic axis. Matplotlib's own labels (2x10^0, 3x10^0, ...) overlap."""
    is_across = isinstance(axis, XAxis)
    most = MOST_ACROSS if is_across else MOST_UP  # labels side by side need more room than labels above each other
    ticks = log_ticks(*axis.get_view_interval(), most)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter(log_labels(ticks, unit)))
    axis.set_minor_formatter(NullFormatter())


def tick_linear(axis: Axis, unit: str, *, integers: bool) -> None:
    """Set the ticks of a linear axis; at whole numbers only if `integers` is True."""
    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10], integer=integers))
    if unit in SCALED_UNITS:
        axis.set_major_formatter(FuncFormatter(lambda value, _: say_briefly(value, unit)))


def log_ticks(low: float, high: float, most: int = MOST_UP) -> list[float]:
    """Return ticks of a logarithmic axis between two positive numbers.

    They are powers of ten, or with fewer than three of these also their multiples by 2 and 5; at most `most` of them. A
    range with fewer than three such numbers has evenly spaced ticks.

    Parameters
    ----------
    low, high : float
        The limits of the axis, both positive.
    most : int, default=MOST_UP
        The largest number of ticks at powers of ten and their multiples.
    """
    for leads in ((1,), (1, 2, 5)):
        ticks = _ticks_within(_leads_by_powers(leads, low, high), low, high)
        if len(ticks) >= 3:
            return ticks[:: ceil(len(ticks) / most)]
    return _ticks_within(MaxNLocator(5).tick_values(low, high), low, high)


def _leads_by_powers(leads: Sequence[int], low: float, high: float) -> list[float]:
    """Return these multiples of the powers of ten around a range, in order."""
    numbers = []
    for power in range(floor(log10(low)), ceil(log10(high)) + 1):
        for lead in leads:
            numbers.append(float(f"{lead}e{power}"))
    return numbers


def _ticks_within(ticks: Iterable[float], low: float, high: float) -> list[float]:
    return [float(tick) for tick in ticks if low <= tick <= high]


def log_labels(ticks: Sequence[float], unit: str = "") -> list[str]:
    """Return the labels of ticks: scaled numbers for a unit in `SCALED_UNITS`, else plain numbers or powers of ten."""
    if unit in SCALED_UNITS:
        return [say_briefly(tick, unit) for tick in ticks]
    if all(1e-4 <= tick < 1e6 for tick in ticks):
        return [f"{tick:,.6g}" for tick in ticks]
    return [_with_power(tick) for tick in ticks]


def _with_power(value: float) -> str:
    lead, _, power = f"{value:.3e}".partition("e")
    if float(lead) == 1:
        return f"$10^{{{int(power)}}}$"
    return rf"${float(lead):g} \cdot 10^{{{int(power)}}}$"


PALE = "0.85"
MOST_MARKERS = 40
"""A line with more points than this has markers on only some of them."""
SOME_MARKERS = 10
MOST_BANDS = 5
"""With more lines than this in one panel, no bands are drawn, because they would hide the lines."""
Looks = Mapping[str, Look]
"""Colour, marker and dash of each learner by label, the same in every panel."""


def draw_panels(panels: Sequence[Panel], style: FigureStyle) -> Figure:
    """Return a figure with the panels in rows of at most `style.columns`."""
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
    figure.draw_without_rendering()  # fixes the positions of the axes, by which names are placed
    for axis, panel in zip(axes, shown, strict=False):
        _name_series(axis, panel, looks, style)
    return figure


def _height_of(panel: Panel, style: FigureStyle) -> float:
    """Return the height of a panel in inches: that of the style, or more if its names need it."""
    line = style.font_size * (1.7 if panel.names else 1.3) / 72
    return max(style.panel_height, 0.9 + line * len(panel.series))


def _looks_of(panels: Sequence[Panel]) -> Looks:
    looks: dict[str, Look] = {}
    for panel in panels:
        for series in panel.series:
            looks.setdefault(series.label, look_of(len(looks)))
    return looks


def _describe(panels: Sequence[Panel]) -> str:
    """Return the caption, which explains the spreads, the dashed line and the pale points."""
    counts: set[int] = set()
    for panel in panels:
        counts.update(series.trials for series in panel.series)
    few, many = min(counts), max(counts)
    n_trials = str(many) if few == many else f"{few} to {many}"
    words = f"mean and standard deviation over {n_trials} trials"
    if many == 1:
        words = "one trial: no spread"
    elif all(_is_crowded(panel) for panel in panels):
        words = f"mean over {n_trials} trials, of which so many lines show no spread"
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
    """Return the marker of a pale series that is a single point; empty for a line."""
    return {"marker": "o", "markersize": 0.75 * style.marker_size} if len(series.x) == 1 else {}


def _set_ticks(axis: Axes, panel: Panel) -> None:
    if panel.x_scale == "log":
        tick_logarithmic(axis.xaxis, panel.x_unit)
    else:
        tick_linear(axis.xaxis, panel.x_unit, integers=panel.integer_x)
    if panel.y_scale == "log":
        tick_logarithmic(axis.yaxis, panel.y_unit)
    elif not panel.names:
        tick_linear(axis.yaxis, panel.y_unit, integers=False)


def _draw_front(axis: Axes, panel: Panel) -> None:
    """Draw the Pareto front as steps that reach the edges of the panel, also for a single point."""
    low, high = axis.get_xlim()
    bottom, _ = axis.get_ylim()
    x = [panel.front[0][0], *(point[0] for point in panel.front), high]
    y = [bottom, *(point[1] for point in panel.front), panel.front[-1][1]]
    if panel.front[0][1] > panel.front[-1][1]:  # a falling front: the steps start at the left edge
        x = [low, *(point[0] for point in panel.front), panel.front[-1][0]]
        y = [panel.front[0][1], *(point[1] for point in panel.front), bottom]
    axis.step(x, y, where="post", color="0.5", linewidth=1, linestyle="--", zorder=1)
    axis.set_xlim(low, high)
    axis.set_ylim(bottom)


def _marks_of(series: Series, looks: Looks) -> dict[str, Any]:
    """Return colour, marker and label; trees have hollow markers."""
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
    """Draw a point with vertical error bars, and horizontal ones if x was measured."""
    yerr = xerr = None
    if series.trials > 1:
        yerr, xerr = series.spread or None, series.x_spread or None
    bars: dict[str, Any] = {"markersize": style.marker_size, "elinewidth": 0.8, "capsize": 2, "linestyle": "none"}
    axis.errorbar(series.x, series.y, yerr=yerr, xerr=xerr, **_marks_of(series, looks), **bars)


def _draw_line(axis: Axes, series: Series, looks: Looks, style: FigureStyle) -> None:
    """Draw a line through the means; with many points, only some have a marker."""
    marks = _marks_of(series, looks)
    if len(series.x) > MOST_MARKERS:
        last = len(series.x) - 1
        marks["markevery"] = sorted(range(last, -1, -(last // SOME_MARKERS)))  # the last point always
    dash = looks[series.label].dash
    axis.plot(
        series.x, series.y, linestyle=dash, linewidth=style.line_width, markersize=0.75 * style.marker_size, **marks
    )


def _draw_band(axis: Axes, series: Series, panel: Panel, colour: str) -> None:
    """Draw a band of one standard deviation; a share stays between 0 and 1."""
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
    """Return whether the bands of a panel would hide each other."""
    lines = [series for series in panel.series if len(series.x) > 1]
    return len(lines) > MOST_BANDS


def _draw_bar(axis: Axes, series: Series, looks: Looks, style: FigureStyle) -> None:
    """Draw a horizontal bar, with an error bar if there are several trials."""
    spread = series.spread if series.trials > 1 else None
    colour = looks[series.label].colour
    axis.barh(series.x, series.y, xerr=spread, capsize=2, color=colour, height=0.7, label=series.label)


def _arrange_bars(axis: Axes, panel: Panel) -> None:
    """Label bars: names to the left, the first on top, values to the right."""
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
    """Write names beside points, or to the right of lines; bars already have labels."""
    if panel.names:
        return
    named = []
    for series in panel.series:
        named.append(Named(series.x[-1], series.y[-1], _name_of(series), looks[series.label].colour))
    if all(len(series.x) == 1 for series in panel.series):
        label_points(axis, named, 0.85 * style.font_size)
    else:
        label_ends(axis, named, 0.85 * style.font_size)


NAME_STEP, BAR_STEP = 0.35, 0.25
"""Vertical space of a name and of a bar below the line of ranks, in units of the axis."""
MOST_NUMBERS = 15
"""Maximum number of labelled ticks on the line of ranks."""


def draw_diagram(diagram: Diagram, style: FigureStyle) -> Figure:
    """Return the diagram of average ranks, best on the left; bars join learners that do not differ significantly."""
    found = diagram.found
    most = len(found.ranks)
    names_a_side = -(-most // 2)
    lowest = -0.4 - NAME_STEP * names_a_side - BAR_STEP * len(found.groups)
    zoom = style.font_size / 9  # text takes the same share of the figure in every style
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
    """Draw the critical difference as a ruler above the line, with the result of Friedman's test."""
    end = min(1 + found.difference, len(found.ranks) + 0.8)
    axis.plot([1, end], [0.85, 0.85], color="black", linewidth=1, marker="|")
    words = f"critical difference {found.difference:.2f} (5%, {found.n_datasets} datasets)"
    axis.text(1, 1.0, f"{words}; Friedman p = {found.p_value:.2g}", ha="left", va="bottom", fontsize="small")


def _draw_bars(axis: Axes, found: AverageRanks) -> None:
    """Draw a thick bar for each group of learners that do not differ significantly."""
    for level, group in enumerate(found.groups):
        y = -0.2 - 0.22 * level
        ends = [found.ranks[group[0]] - 0.04, found.ranks[group[-1]] + 0.04]
        axis.plot(ends, [y, y], color="black", linewidth=3.5, solid_capstyle="butt")


def _draw_names(axis: Axes, found: AverageRanks, names_a_side: int) -> None:
    """Write the names: the better half on the left from the top, the others on the right from the bottom."""
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
