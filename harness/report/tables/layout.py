"""Text layout of tables: column widths, folded cells, and numbers with their unit (0.862 ± 0.004, 31 min, 226k)."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.host.contract import MetricSpec
from harness.stats import Interval, Summary
from harness.text import digits_of, scale_of

WIDTH = 80
"""Default width of text, in characters."""
GAP = 2
"""Spaces between columns. A column is at least this much wider than its heading."""
_BOLD = re.compile("\x1b\\[[0-9]*m")

TextRows = Sequence[Sequence[str]]


def wrap_lines(lines: Iterable[str], width: int = WIDTH) -> list[str]:
    """Wrap each line to a width, without breaking names and commands.

    Parameters
    ----------
    lines : iterable of str
        Lines of any length; empty ones are kept.
    width : int, default=WIDTH
        The largest number of characters of a line.
    """
    wrapped = []
    for line in lines:
        wrapped += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    return wrapped


def fold_columns(rows: TextRows, headings: Sequence[str], width: int = WIDTH, titles: int = 1) -> str:
    """Return a text table; columns that exceed the width continue in blocks below.

    Parameters
    ----------
    rows, headings : Rows and sequence of str
        The cells, and a heading for each column.
    width : int, default=WIDTH
        The width of the text.
    titles : int, default=1
        The number of leading columns that every block repeats.
    """
    widths = []
    for place in range(titles):
        widths.append(min(_natural_width(rows, headings, place), width // (titles + 1)))
    others = width - _taken(widths) - GAP
    for place in range(titles, len(headings)):
        widths.append(min(_natural_width(rows, headings, place), others))
    parts = []
    for block in _blocks(widths, width, titles):
        places = [*range(titles), *block]
        taken = [[row[place] for place in places] for row in rows]
        most = [widths[place] for place in places]
        parts.append(lay_out(taken, [headings[place] for place in places], "simple", most))
    return "\n\n".join(parts)


def _blocks(widths: Sequence[int], width: int, titles: int) -> list[list[int]]:
    """Return the columns after the titles in blocks, each of which fits beside the titles."""
    blocks: list[list[int]] = [[]]
    used = _taken(widths[:titles])
    for place in range(titles, len(widths)):
        wide = widths[place]
        if blocks[-1] and used + GAP + wide > width:
            blocks.append([])
            used = _taken(widths[:titles])
        blocks[-1].append(place)
        used += GAP + wide
    return blocks


@dataclass(frozen=True)
class FittedList:
    """A list as text, and the columns that did not fit."""

    text: str
    left_out: tuple[str, ...]


def fit_list(
    rows: Sequence[Mapping[str, object]], folded: Mapping[str, int], spare: Sequence[str] = (), width: int = WIDTH
) -> FittedList:
    """Return a list that fits a width.

    Parameters
    ----------
    rows : sequence of mapping of str to object
        The cells by heading.
    folded : mapping of str to int
        Columns whose cells may be folded, with their smallest width.
    spare : sequence of str, default=()
        Columns to leave out, in this order, until the list fits.
    width : int, default=WIDTH
        The width of the text.
    """
    headings = list(rows[0])
    left_out: list[str] = []
    for name in ("", *spare):
        if name in headings:
            headings.remove(name)
            left_out.append(name)
        cells = [[str(row[heading]) for heading in headings] for row in rows]
        natural = {name: _natural_width(cells, headings, place) for place, name in enumerate(headings)}
        least = {name: min(wide, folded.get(name, wide)) for name, wide in natural.items()}
        if _taken(least.values()) <= width:
            break
    most = _share_out(natural, least, width)
    return FittedList(lay_out(cells, headings, "simple", list(most.values())), tuple(left_out))


def _share_out(natural: Mapping[str, int], least: Mapping[str, int], width: int) -> dict[str, int]:
    """Return the width of each column: its natural width, or an equal share of the rest for columns that fold."""
    most = dict(least)
    for cap in range(max(natural.values()) + 1):
        wider = {name: max(least[name], min(wide, cap)) for name, wide in natural.items()}
        if _taken(wider.values()) > width:
            break
        most = wider
    return most


def _taken(widths: Iterable[int]) -> int:
    return sum(wide + GAP for wide in widths) - GAP


def _natural_width(rows: TextRows, headings: Sequence[str], place: int) -> int:
    """Return the width of a column without folding."""
    lines = [len(headings[place]) + GAP]
    for row in rows:
        lines += map(len, _BOLD.sub("", row[place]).split("\n"))
    return max(lines)


def format_value(summary: Summary, metric: MetricSpec) -> str:
    """Return "mean ± sd" in the metric's unit.

    Parameters
    ----------
    summary : Summary
        Mean and spread in the unit of the metric.
    metric : MetricSpec
        The metric.
    """
    scale, suffix = scale_of(abs(summary.mean), metric.unit)
    digits = 3 if metric.unit == "share" else digits_of(abs(summary.mean / scale))
    mean = f"{summary.mean / scale:.{digits}f}"
    if summary.sd is None:
        return mean + suffix
    return f"{mean} ± {summary.sd / scale:.{digits}f}{suffix}"


def format_difference(difference: float, metric: MetricSpec) -> str:
    """Return a difference with its sign, in the metric's unit; shares are given in points, which are hundredths.

    Parameters
    ----------
    difference : float
        In the unit of the metric.
    metric : MetricSpec
        The metric. Differences of shares are given in points.
    """
    if metric.unit == "share":
        return f"{100 * difference:+.1f} points"
    sign = "-" if difference < 0 else "+"
    return sign + format_value(Summary(abs(difference), None, 1), metric)


def format_interval(difference: Interval | None, metric: MetricSpec) -> str:
    """Return a difference with its interval, such as "+2.1 [+0.4, +3.8] points"; a dash without an interval."""
    if difference is None:
        return "-"
    if metric.unit == "share":
        return f"{100 * difference.estimate:+.1f} {format_bounds(difference, metric)} points"
    return f"{format_difference(difference.estimate, metric)} {format_bounds(difference, metric)}"


def format_bounds(difference: Interval | None, metric: MetricSpec) -> str:
    """Return the bounds of an interval, or a dash for None; bounds of shares are in points, without the unit."""
    if difference is None:
        return "-"
    if metric.unit == "share":
        return f"[{100 * difference.low:+.1f}, {100 * difference.high:+.1f}]"
    return f"[{format_difference(difference.low, metric)}, {format_difference(difference.high, metric)}]"


def format_p(p_value: float | None) -> str:
    """Return a p-value as text, or a dash if nothing was tested.

    Examples
    --------
    >>> format_p(0.0421), format_p(0.0004), format_p(None)
    ('0.042', '<0.001', '-')
    """
    if p_value is None:
        return "-"
    if p_value < 0.001:
        return "<0.001"
    return f"{p_value:.3f}"


def plain_numbers(summary: Summary | None) -> tuple[float | None, float | None, int]:
    """Return mean, sd and n with all digits, for formats that programs read; None, None and 0 without a summary."""
    if summary is None:
        return None, None, 0
    return summary.mean, summary.sd, summary.n


def lay_out(
    rows: Iterable[Sequence[str]], headings: Sequence[str], style: str, widths: Sequence[int] | None = None
) -> str:
    """Return rows of text under headings as a text table.

    Parameters
    ----------
    rows : iterable of sequence of str
        The cells. Numbers are not reformatted.
    headings : sequence of str
        One for each column.
    style : str
        A table format of tabulate.
    widths : sequence of int, optional
        Fold longer cells to these widths. By default no cell is folded.
    """
    from tabulate import tabulate  # noqa: PLC0415 (the command line lists formats without it)

    if widths is not None:
        # Not tabulate's maxcolwidths, which turns the text "False" into True.
        rows = [list(map(_fold, row, widths)) for row in rows]
        headings = list(map(_fold, headings, widths))
    return str(tabulate(list(rows), headings, tablefmt=style, disable_numparse=True))


def _fold(text: str, width: int) -> str:
    if max(map(len, _BOLD.sub("", text).split("\n"))) <= width:
        return text
    lines = []
    for line in text.split("\n"):
        lines += textwrap.wrap(line, width) or [""]
    return "\n".join(lines)
