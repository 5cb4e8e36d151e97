"""Panels -> PNG, SVG or PDF, in colours that the colour-blind tell apart, with markers and dashes that need none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.errors import HarnessError
from harness.figures.diagram import Diagram, draw_diagram
from harness.figures.panels import Panel, Series

FORMATS = ("png", "svg", "pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
"""Okabe and Ito's palette, with yellow, which print loses, replaced by olive."""
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "--", "oo")
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
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
    figure = Figure(figsize=(4.2 * columns, 3.2 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    labels = list(dict.fromkeys(series.label for panel in panels for series in panel.series))
    for axis, panel in zip(axes.flat, panels, strict=False):
        _draw(axis, panel, labels)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    figure.supxlabel(_trials(panels), fontsize=7, color="0.4", ha="right", x=0.99)
    return figure


def _trials(panels: Sequence[Panel]) -> str:
    counts = {series.trials for panel in panels for series in panel.series}
    few, many = min(counts), max(counts)
    if many == 1:
        return "one trial, so that no spread is known"
    return f"mean and standard deviation over {f'{few} to {many}' if few < many else many} trials"


def _draw(axis: Any, panel: Panel, labels: Sequence[str]) -> None:
    axis.set(title=panel.title, xlabel=panel.x_title, ylabel=panel.y_title)
    axis.set(xscale=panel.x_scale, yscale=panel.y_scale)
    for series in panel.series:
        draw = _draw_bar if panel.names else _draw_line
        draw(axis, series, labels.index(series.label))
    if panel.whole_x:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(panel.front) > 1:
        x, y = zip(*panel.front, strict=True)
        axis.plot(x, y, color="0.5", linewidth=1, linestyle="--", zorder=1, label="not beaten in both")
    if panel.names:
        axis.set_xticks(range(len(panel.names)), panel.names, rotation=30, ha="right")
        axis.grid(visible=False, axis="x")
    else:
        axis.legend(fontsize=8)


def _draw_line(axis: Any, series: Series, number: int) -> None:
    """A line with a band of one standard deviation; a single point with an error bar. Trees have hollow markers."""
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    label = f"{series.label} ({series.note})" if series.note else series.label
    face = "white" if series.kind == "tree" else colour
    look = {"color": colour, "marker": marker, "markersize": 4.5, "markerfacecolor": face, "label": label}
    if len(series.x) == 1:
        axis.errorbar(
            series.x, series.y, yerr=series.spread if series.trials > 1 else None, capsize=2, linestyle="none", **look
        )
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
