"""Panels -> PNG, SVG or PDF, in colours that the colour-blind tell apart, with markers and dashes that need none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import ceil, floor, log10
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullFormatter

from harness.errors import HarnessError
from harness.figures.diagram import Diagram, draw_diagram
from harness.figures.panels import Panel, Series

FORMATS = ("png", "svg", "pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
"""Okabe and Ito's palette, with yellow, which print loses, replaced by olive."""
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "--", "oo")
PANEL_WIDTH = 4.2
"""In inches."""
TITLE_WIDTH = 42
"""Letters that fit above a panel."""
FRONT = "not beaten in both"
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "harness",  # the same records give the same file
    "pdf.fonttype": 42,
}


def save_figure(what: Sequence[Panel] | Diagram, path: Path) -> None:
    """Draw panels side by side, or a diagram of ranks, into a file; its ending says which kind of file."""
    form = path.suffix.lstrip(".").lower()
    if form not in FORMATS:
        raise HarnessError(f"{path}: the file's ending must be one of {', '.join(FORMATS)}")
    with mpl.rc_context(STYLE):
        figure = draw_diagram(what) if isinstance(what, Diagram) else draw_panels(what)
        path.parent.mkdir(parents=True, exist_ok=True)
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}, "png": {}}
        figure.savefig(path, format=form, metadata=undated[form])


def draw_panels(panels: Sequence[Panel]) -> Figure:
    """A figure of up to three panels a row."""
    columns = min(len(panels), 3)
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(PANEL_WIDTH * columns, 3.2 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    labels = list(dict.fromkeys(series.label for panel in panels for series in panel.series))
    for axis, panel in zip(axes.flat, panels, strict=False):
        _draw(axis, panel, labels)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    figure.supxlabel(_trials(panels), fontsize=7, color="0.4", ha="right", x=0.99)
    if not any(panel.names for panel in panels):
        _draw_legend(figure)
    return figure


def _draw_legend(figure: Figure) -> None:
    """One legend for all panels, above them, where it hides nothing; the front of the best comes last."""
    looks: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            looks.setdefault(label, handle[0] if isinstance(handle, ErrorbarContainer) else handle)
    labels = sorted(looks, key=lambda label: label == FRONT)
    rows = next(rows for rows in count(1) if rows >= len(labels) or _width(labels, rows) < figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + 0.2 * rows)
    handles = [looks[label] for label in labels]
    figure.legend(handles, labels, loc="outside upper center", ncols=ceil(len(labels) / rows), fontsize=8)


def _width(labels: Sequence[str], rows: int) -> float:
    """The inches that a legend takes, roughly, filled column by column."""
    columns = [labels[first : first + rows] for first in range(0, len(labels), rows)]
    return sum(0.6 + 0.075 * max(map(len, column)) for column in columns)


def _trials(panels: Sequence[Panel]) -> str:
    counts = {series.trials for panel in panels for series in panel.series}
    few, many = min(counts), max(counts)
    if many == 1:
        return "one trial, so that no spread is known"
    return f"mean and standard deviation over {f'{few} to {many}' if few < many else many} trials"


def _draw(axis: Any, panel: Panel, labels: Sequence[str]) -> None:
    axis.set(title=fill(panel.title, TITLE_WIDTH), xlabel=panel.x_title, ylabel=panel.y_title)
    axis.set(xscale=panel.x_scale, yscale=panel.y_scale)
    for series in panel.series:
        draw = _draw_bar if panel.names else _draw_line
        draw(axis, series, labels.index(series.label))
    if panel.whole_x:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(panel.front) > 1:
        x, y = zip(*panel.front, strict=True)
        axis.plot(x, y, color="0.5", linewidth=1, linestyle="--", zorder=1, label=FRONT)
    if panel.names:
        axis.set_xticks(range(len(panel.names)), panel.names, rotation=30, ha="right")
        axis.grid(visible=False, axis="x")
    for one, scale in ((axis.xaxis, panel.x_scale), (axis.yaxis, panel.y_scale)):
        if scale == "log":
            _tick_logarithmic(one)


def _tick_logarithmic(axis: Any) -> None:
    """Plain numbers, few enough not to meet; matplotlib's own choice writes 2x10^0, 3x10^0, ... over each other."""
    ticks = log_ticks(*axis.get_view_interval())
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter(log_labels(ticks)))
    axis.set_minor_formatter(NullFormatter())


def log_ticks(low: float, high: float) -> list[float]:
    """At most 8: powers of ten, or where these are too few their 1, 2 and 5 fold, or else evenly spaced numbers."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for leads in ((1,), (1, 2, 5)):
        ticks = [float(f"{lead}e{power}") for power in powers for lead in leads]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 3:
            return ticks[:: ceil(len(ticks) / 8)]
    return [float(tick) for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]


def log_labels(ticks: Sequence[float]) -> list[str]:
    """Written out where all lie from 0.0001 to below a million, all with a power of ten otherwise."""
    if all(1e-4 <= tick < 1e6 for tick in ticks):
        return [f"{tick:,.6g}" for tick in ticks]
    return [_with_power(tick) for tick in ticks]


def _with_power(value: float) -> str:
    lead, _, power = f"{value:.3e}".partition("e")
    times = "" if float(lead) == 1 else rf"{float(lead):g} \cdot "
    return f"${times}10^{{{int(power)}}}$"


def _draw_line(axis: Any, series: Series, number: int) -> None:
    """A line with a band of one standard deviation; a single point with an error bar. Trees have hollow markers."""
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    label = f"{series.label} ({series.note})" if series.note else series.label
    face = "white" if series.kind == "tree" else colour
    look: dict[str, Any] = {
        "color": colour,
        "marker": marker,
        "markersize": 4.5,
        "markerfacecolor": face,
        "label": label,
    }
    if len(series.x) == 1:
        yerr, xerr = (spread if series.trials > 1 and spread else None for spread in (series.spread, series.x_spread))
        look |= {"markersize": 6, "elinewidth": 1, "capsize": 2, "linestyle": "none"}
        axis.errorbar(series.x, series.y, yerr=yerr, xerr=xerr, **look)
        return
    dash = DASHES[(number + number // len(MARKERS)) % len(DASHES)]
    axis.plot(series.x, series.y, linestyle=dash, linewidth=1.3, **look)
    if any(series.spread):
        low, high = ([y + sign * s for y, s in zip(series.y, series.spread, strict=True)] for sign in (-1, 1))
        axis.fill_between(series.x, low, high, color=colour, alpha=0.15, linewidth=0)


def _draw_bar(axis: Any, series: Series, number: int) -> None:
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
