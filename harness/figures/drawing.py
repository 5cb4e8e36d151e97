"""What is to be drawn, as data: panels side by side, or a diagram of ranks. matplotlib comes in when one is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.figures.styles import DEFAULT_STYLE, FigureStyle, style_named
from harness.stats import AverageRanks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Series:
    """One learner's points, in the order of x, each with its spread over trials (one sample standard deviation)."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...]
    kind: str = "flat"
    note: str = ""
    """Said in the legend behind the label."""
    trials: int = 1
    """How many trials a point rests on, at most."""
    x_spread: tuple[float, ...] = ()
    """The spread of x, where x was measured too."""


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
    """Points that no other one beats in both directions, joined by a line."""
    names: tuple[str, ...] = ()
    """What stands below bars instead of numbers."""
    whole_x: bool = False
    """Whether x counts something, and has no values between."""
    x_unit: str = ""
    y_unit: str = ""
    """What the numbers at the axes are of, as metrics have it: seconds, bytes, count, share."""
    faint: tuple[Series, ...] = ()
    """Series that another panel shows, or that stand behind the front, drawn pale and without a name."""
    y_from: float | None = None
    """The lowest y that is shown, where some lie far below all others."""


class Drawing(ABC):
    """Something to be drawn, into a file or into a notebook."""

    @abstractmethod
    def draw(self, style: FigureStyle) -> Figure:
        """Draw it with matplotlib."""

    def save(self, path: str | Path, *, style: str = DEFAULT_STYLE) -> Path:
        """Draw it into a file, whose ending says which kind of file (png, svg or pdf), in the sizes of a style."""
        from harness.figures.files import save_figure  # noqa: PLC0415 (brings matplotlib, which only drawing needs)

        return save_figure(self, Path(path), style_named(style))

    def _repr_png_(self) -> bytes:
        from harness.figures.files import render_figure  # noqa: PLC0415 (brings matplotlib, which only drawing needs)

        return render_figure(self, "png")

    def _repr_svg_(self) -> str:
        from harness.figures.files import render_figure  # noqa: PLC0415 (brings matplotlib, which only drawing needs)

        return render_figure(self, "svg").decode()


@dataclass(frozen=True)
class Panels(Drawing):
    """Panels side by side, in which a learner looks the same throughout."""

    panels: tuple[Panel, ...]

    def draw(self, style: FigureStyle) -> Figure:
        from harness.figures.draw_panels import draw_panels  # noqa: PLC0415 (brings matplotlib, which only drawing needs)

        return draw_panels(self.panels, style)


@dataclass(frozen=True)
class Diagram(Drawing):
    """Average ranks over data sets, by a metric, with what cannot be told apart joined by bars."""

    title: str
    found: AverageRanks

    def draw(self, style: FigureStyle) -> Figure:
        from harness.figures.draw_diagram import draw_diagram  # noqa: PLC0415 (brings matplotlib, which only drawing needs)

        return draw_diagram(self, style)
