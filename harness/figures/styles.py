"""How figures look: sizes for where they are shown, and what tells twenty learners apart. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass

from harness.choices import choose


@dataclass(frozen=True)
class FigureStyle:
    """Sizes that fit one place, lengths in inches and letters in points, as they will be seen there."""

    summary: str
    panel_width: float
    panel_height: float
    font_size: float
    columns: int
    """Panels in a row, at most."""
    line_width: float
    marker_size: float


FIGURE_STYLES: dict[str, FigureStyle] = {
    "web": FigureStyle("a page or a notebook", 4.6, 3.3, 9, 3, 1.3, 6),
    "paper": FigureStyle("a column of a two-column paper, unscaled", 3.35, 2.5, 8, 2, 1.0, 4.5),
    "talk": FigureStyle("a slide", 7.0, 4.6, 15, 2, 2.2, 10),
}
DEFAULT_STYLE = "web"

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
"""Okabe and Ito's palette, with yellow, which print loses, replaced by olive."""
_MARKERS = "osD^vPX*"
_DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Look:
    """What tells one learner from the others."""

    colour: str
    marker: str
    dash: str


def style_named(name: str) -> FigureStyle:
    """A style by its name; HarnessError lists those that there are."""
    return choose(FIGURE_STYLES, name, "style")


def look_of(number: int) -> Look:
    """The look of a learner by its place: of the first 32 no two share colour and marker, or marker and dash."""
    round_number, place = divmod(number, len(_COLOURS))
    return Look(
        colour=_COLOURS[place],
        marker=_MARKERS[(place + 3 * round_number) % len(_MARKERS)],
        dash=_DASHES[(place + 2 * round_number) % len(_DASHES)],
    )
