"""The formats that tables and grids are written in, by name: the only list of them.

It imports nothing heavy: the command line reads it for its choices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.choices import choose
from harness.tables.render_data import grid_to_csv, grid_to_json, table_to_csv, table_to_json
from harness.tables.render_html import grid_to_html, table_to_html
from harness.tables.render_latex import grid_to_latex, table_to_latex
from harness.tables.render_markdown import grid_to_markdown, table_to_markdown
from harness.tables.render_terminal import grid_to_terminal, table_to_terminal

if TYPE_CHECKING:
    from harness.tables.grid import Grid
    from harness.tables.table import Table


@dataclass(frozen=True)
class Format:
    """A way to write tables down."""

    ending: str
    """Of a file in this format."""
    render_table: Callable[[Table], str]
    render_grid: Callable[[Grid], str]
    for_programs: bool = False
    """Whether programs read it: then one table stands alone, without words around it."""


FORMATS: dict[str, Format] = {
    "terminal": Format("txt", table_to_terminal, grid_to_terminal),
    "markdown": Format("md", table_to_markdown, grid_to_markdown),
    "latex": Format("tex", table_to_latex, grid_to_latex),
    "csv": Format("csv", table_to_csv, grid_to_csv, for_programs=True),
    "json": Format("json", table_to_json, grid_to_json, for_programs=True),
    "html": Format("html", table_to_html, grid_to_html),
}


def find_format(name: str) -> Format:
    """The format of this name; HarnessError where there is none."""
    return choose(FORMATS, name, "table format")
