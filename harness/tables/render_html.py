"""Tables and grids as HTML: a fragment for notebooks and pages, and a page that stands alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from harness.contract import MetricSpec
from harness.tables.words import cell_words, headings_of, lay_out

if TYPE_CHECKING:
    from harness.tables.grid import Grid
    from harness.tables.table import Cell, Group, Row, Table

_STYLE = """body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; display: block; overflow-x: auto; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
thead th { border-bottom: 2px solid #333; }
.failed { color: #a00; } .detail, footer { color: #555; font-size: .9em; }"""


def table_to_html(table: Table) -> str:
    """A page that stands alone: no script, nothing loaded from elsewhere."""
    return _page(_table_body(table))


def grid_to_html(grid: Grid) -> str:
    """The same for a grid."""
    return _page(_grid_body(grid))


def table_fragment(table: Table) -> str:
    """A part of a page, for a notebook; its classes are `harness-table`, `detail` and `failed`."""
    return f'<div class="harness-table">\n{_table_body(table)}\n</div>'


def grid_fragment(grid: Grid) -> str:
    """The same for a grid; its class is `harness-grid`."""
    return f'<div class="harness-grid">\n{_grid_body(grid)}\n</div>'


def _page(body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>harness: comparison</title>\n'
        f"<style>\n{_STYLE}\n</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _table_body(table: Table) -> str:
    parts = [_group_part(group, headings_of(table), table.columns) for group in table.groups]
    return "\n".join([*parts, _footer(table.foot)])


def _grid_body(grid: Grid) -> str:
    return f"<h2>{escape(grid.title)}</h2>\n{lay_out(grid.rows, grid.columns, 'html')}\n{_footer(grid.foot)}"


def _footer(foot: Iterable[str]) -> str:
    lines = "".join(f"<p>{escape(line)}</p>\n" for line in foot)
    return f"<footer>\n{lines}</footer>"


def _group_part(group: Group, headings: Sequence[str], columns: Sequence[MetricSpec]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in headings)
    rows = "\n".join(_html_row(row, columns) for row in group.rows)
    return (
        f'<h2>{escape(group.title)}</h2>\n<p class="detail">{escape(group.detail)}</p>\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _html_row(row: Row, columns: Sequence[MetricSpec]) -> str:
    cells = [f"<td>{escape(text)}</td>" for text in (row.title, *row.facts.values())]
    for cell, metric in zip(row.cells, columns, strict=True):
        cells.append(_html_cell(cell, metric))
    return f"<tr>{''.join(cells)}</tr>"


def _html_cell(cell: Cell, metric: MetricSpec) -> str:
    text = escape(cell_words(cell, metric))
    if cell.failed:
        return f'<td class="failed">{text}</td>'
    if cell.best:
        return f"<td><strong>{text}</strong></td>"
    return f"<td>{text}</td>"
