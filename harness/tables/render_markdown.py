"""Tables and grids in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from harness.tables.words import headings_of, lay_out, row_words

if TYPE_CHECKING:
    from harness.tables.grid import Grid
    from harness.tables.table import Table

_SPECIAL = re.compile(r"[\\|*_`\[\]<>&~$]")


def table_to_markdown(table: Table) -> str:
    """The best is bold."""
    headings = list(map(_escape_markdown, headings_of(table)))
    parts = []
    for group in table.groups:
        rows = [row_words(row, table.columns, _embolden_markdown, _escape_markdown) for row in group.rows]
        title, detail = _escape_markdown(group.title), _escape_markdown(group.detail)
        parts.append(f"### {title}\n\n{detail}\n\n{lay_out(rows, headings, 'pipe')}\n")
    return "\n".join([*parts, *_foot_lines(table.foot)]) + "\n"


def grid_to_markdown(grid: Grid) -> str:
    headings = list(map(_escape_markdown, grid.columns))
    rows = [list(map(_escape_markdown, row)) for row in grid.rows]
    body = lay_out(rows, headings, "pipe")
    return "\n".join([f"### {_escape_markdown(grid.title)}\n", f"{body}\n", *_foot_lines(grid.foot)]) + "\n"


def _foot_lines(foot: Iterable[str]) -> list[str]:
    """Two blanks at its end make a line of its own of each."""
    return [f"{_escape_markdown(line)}  " for line in foot]


def _embolden_markdown(text: str) -> str:
    return f"**{text}**"


def _escape_markdown(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)
