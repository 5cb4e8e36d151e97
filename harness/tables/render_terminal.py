"""Tables and grids for people at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.tables.fit_width import WIDTH, fold_columns, wrap_lines
from harness.tables.words import headings_of, row_words

if TYPE_CHECKING:
    from harness.tables.grid import Grid
    from harness.tables.table import Table


def table_to_terminal(table: Table, *, colour: bool = False, width: int = WIDTH) -> str:
    """The best is starred, and bold where that is possible; what is wider than `width` goes on below."""
    mark = _embolden if colour else _star
    parts = []
    for group in table.groups:
        rows = [row_words(row, table.columns, mark) for row in group.rows]
        heading = wrap_lines([f"{group.title}  ({group.detail})"], width)
        titles = 2 if group.rows[0].representation else 1  # then one learner has several rows
        parts += [*heading, "", fold_columns(rows, headings_of(table), width, titles), ""]
    return "\n".join([*parts, *wrap_lines(table.foot, width)]) + "\n"


def _embolden(text: str) -> str:
    return f"\033[1m{_star(text)}\033[0m"


def _star(text: str) -> str:
    return f"{text} *"


def grid_to_terminal(grid: Grid, *, width: int = WIDTH) -> str:
    """The rows under the title, folded as those of a table."""
    body = fold_columns(grid.rows, grid.columns, width)
    return "\n".join([*wrap_lines([grid.title], width), "", body, "", *wrap_lines(grid.foot, width)]) + "\n"
