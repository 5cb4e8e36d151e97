"""Tables and grids for people at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.tables.words import headings_of, lay_out, row_words

if TYPE_CHECKING:
    from harness.tables.grid import Grid
    from harness.tables.table import Table


def table_to_terminal(table: Table, *, colour: bool = False) -> str:
    """The best is bold where that is possible, starred where not."""
    mark = _embolden if colour else _star
    parts = []
    for group in table.groups:
        rows = [row_words(row, table.columns, mark) for row in group.rows]
        parts.append(f"{group.title}  ({group.detail})\n\n{lay_out(rows, headings_of(table), 'simple')}\n")
    return "\n".join([*parts, *table.foot]) + "\n"


def _embolden(text: str) -> str:
    return f"\033[1m{text}\033[0m"


def _star(text: str) -> str:
    return f"{text} *"


def grid_to_terminal(grid: Grid) -> str:
    body = lay_out(grid.rows, grid.columns, "simple")
    return "\n".join([f"{grid.title}\n", f"{body}\n", *grid.foot]) + "\n"
