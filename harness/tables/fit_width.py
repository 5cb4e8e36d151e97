"""Rows of text within a width, for people at a terminal or in a file: columns go below each other, fold, or stay out.

A table of results keeps all of its columns, in blocks below each other. A list keeps what its reader came for, folds
long words, and names the columns that it leaves out.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.tables.words import lay_out

WIDTH = 80
"""Columns of a page of text where nothing is known of who reads it."""
GAP = 2
"""Between columns; also what a column is wider than its heading, at least."""
_BOLD = re.compile("\x1b\\[[0-9]*m")

Rows = Sequence[Sequence[str]]


def wrap_lines(lines: Iterable[str], width: int = WIDTH) -> list[str]:
    """Sentences in lines of at most this width; names and commands are not broken."""
    wrapped = []
    for line in lines:
        wrapped += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    return wrapped


def fold_columns(rows: Rows, headings: Sequence[str], width: int = WIDTH, titles: int = 1) -> str:
    """A text table whose columns go on below where they are too many; each block begins with what tells rows apart.

    That are the first columns, as many as `titles` says.
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
    """The places of all columns but the titles, in runs that fit beside those."""
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
    """A list as text, and the columns that found no room."""

    text: str
    left_out: tuple[str, ...]


def fit_list(
    rows: Sequence[Mapping[str, object]], folded: Mapping[str, int], spare: Sequence[str] = (), width: int = WIDTH
) -> FittedList:
    """A list in which `folded` columns may get as narrow as their number, and `spare` ones leave, in this order."""
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
    """Every column's width: what it would like, or, of those that fold, the same for all that would like more."""
    most = dict(least)
    for cap in range(max(natural.values()) + 1):
        wider = {name: max(least[name], min(wide, cap)) for name, wide in natural.items()}
        if _taken(wider.values()) > width:
            break
        most = wider
    return most


def _taken(widths: Iterable[int]) -> int:
    return sum(wide + GAP for wide in widths) - GAP


def _natural_width(rows: Rows, headings: Sequence[str], place: int) -> int:
    """What a column takes if nothing in it is folded."""
    lines = [len(headings[place]) + GAP]
    for row in rows:
        lines += map(len, _BOLD.sub("", row[place]).split("\n"))
    return max(lines)
