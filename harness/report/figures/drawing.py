"""Figures as data: panels side by side or a diagram of ranks, with sizes, looks and file formats.

matplotlib is slow to import, so it is loaded only when a figure is drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.stats import AverageRanks
from harness.text import choose

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FigureStyle:
    """Sizes for one medium: lengths in inches, font size in points."""

    summary: str
    panel_width: float
    panel_height: float
    font_size: float
    columns: int
    """Maximum number of panels in a row."""
    line_width: float
    marker_size: float


FIGURE_STYLES: dict[str, FigureStyle] = {
    "web": FigureStyle("a page or a notebook", 4.6, 3.3, 9, 3, 1.3, 6),
    "paper": FigureStyle("a column of a two-column paper, unscaled", 3.35, 2.5, 8, 2, 1.0, 4.5),
    "talk": FigureStyle("a slide", 7.0, 4.6, 15, 2, 2.2, 10),
}
DEFAULT_STYLE = "web"

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
"""Okabe and Ito's palette; olive replaces yellow, which is hard to see in print."""
_MARKERS = "osD^vPX*"
_DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Look:
    """Colour, marker and line style of a learner."""

    colour: str
    marker: str
    dash: str


def style_named(name: str) -> FigureStyle:
    """Return a style by name; raise HarnessError for an unknown name."""
    return choose(FIGURE_STYLES, name, "style")


def look_of(number: int) -> Look:
    """Return the look of a learner by its position.

    No two of the first 32 learners share both colour and marker, or both marker and dash.
    """
    round_number, place = divmod(number, len(_COLOURS))
    return Look(
        colour=_COLOURS[place],
        marker=_MARKERS[(place + 3 * round_number) % len(_MARKERS)],
        dash=_DASHES[(place + 2 * round_number) % len(_DASHES)],
    )


Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Series:
    """The points of a learner by increasing x, each with its sample standard deviation over trials."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...]
    kind: str = "flat"
    note: str = ""
    """Text after the label in the legend."""
    trials: int = 1
    """Largest number of trials of a point."""
    x_spread: tuple[float, ...] = ()
    """Standard deviation of x, if x was measured."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    front: tuple[tuple[float, float], ...] = field(default=())
    """The Pareto front."""
    names: tuple[str, ...] = ()
    """Names below bars."""
    integer_x: bool = False
    """True if x has whole numbers only, as passes have."""
    x_unit: str = ""
    y_unit: str = ""
    """Units of the axes, as of metrics: seconds, bytes, count, share."""
    faint: tuple[Series, ...] = ()
    """Series drawn pale and without a name: shown in another panel, or not on the front."""
    y_from: float | None = None
    """Lower limit of y, if some points are far below all others."""


class Drawing(ABC):
    """A figure as data. `save` writes it to a file, and a notebook displays it."""

    @abstractmethod
    def draw(self, style: FigureStyle) -> Figure:
        """Return a matplotlib figure."""

    def save(self, path: str | Path, *, style: str = DEFAULT_STYLE) -> Path:
        """Draw the figure into a file and return the path.

        Parameters
        ----------
        path : str or Path
            A file name that ends with .png, .svg or .pdf.
        style : str, default=DEFAULT_STYLE
            A name in `FIGURE_STYLES`.
        """
        from harness.report.figures.draw import save_figure  # noqa: PLC0415 (brings matplotlib, which only drawing needs)

        return save_figure(self, Path(path), style_named(style))

    def _repr_png_(self) -> bytes:
        from harness.report.figures.draw import render_figure  # noqa: PLC0415 (brings matplotlib, which only drawing needs)

        return render_figure(self, "png")

    def _repr_svg_(self) -> str:
        from harness.report.figures.draw import render_figure  # noqa: PLC0415 (brings matplotlib, which only drawing needs)

        return render_figure(self, "svg").decode()


@dataclass(frozen=True)
class Panels(Drawing):
    """Panels side by side; a learner looks the same in all of them."""

    panels: tuple[Panel, ...]

    def draw(self, style: FigureStyle) -> Figure:
        from harness.report.figures.draw import draw_panels  # noqa: PLC0415 (brings matplotlib, which only drawing needs)

        return draw_panels(self.panels, style)


@dataclass(frozen=True)
class Diagram(Drawing):
    """Average ranks over datasets by a metric; bars join learners that do not differ significantly."""

    title: str
    found: AverageRanks

    def draw(self, style: FigureStyle) -> Figure:
        from harness.report.figures.draw import draw_diagram  # noqa: PLC0415 (brings matplotlib, which only drawing needs)

        return draw_diagram(self, style)


MOST_TOGETHER = 20
"""Maximum number of series in one panel."""
FEW = 10
"""At most one in this many series may lie below the lower limit of a crowded panel with a front."""
IN_MULTIPLES = 8
"""Number of coloured series in each panel that a crowded panel is divided into."""


def uncrowded(panels: Sequence[Panel]) -> list[Panel]:
    """Return the panels, with crowded ones made readable.

    A panel is crowded if it has more than `MOST_TOGETHER` series and no bars. If it has a Pareto front, series that are
    not on the front become pale. Otherwise it is divided into several panels with all series, of which each panel shows
    `IN_MULTIPLES` in colour.
    """
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
    """Return a lower limit of y that leaves out points far below the others; None if there are no such points."""
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


FILE_FORMATS: dict[str, dict[str, None]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
}
"""File formats with the metadata to omit: dates would make files of the same records differ."""
