"""The words of a table's cells and headings, which all formats for people share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.contract import MetricSpec
from harness.tables.numbers import format_value

if TYPE_CHECKING:
    from harness.tables.table import Cell, Row, Table


def heading_of(metric: MetricSpec) -> str:
    """What a metric's column is called."""
    return metric.title or metric.name


def headings_of(table: Table) -> list[str]:
    """What the columns are called: what tells rows apart, then the metrics."""
    return [table.row_heading, *table.groups[0].rows[0].facts, *map(heading_of, table.columns)]


def cell_words(cell: Cell, metric: MetricSpec) -> str:
    """Mean and spread, or how it failed, or a dash."""
    if cell.failed:
        return cell.failed
    if cell.summary is None:
        return "-"
    return format_value(replace(cell.summary, sd=cell.spread), metric)


def row_words(
    row: Row, columns: Sequence[MetricSpec], mark: Callable[[str], str], escape: Callable[[str], str] = str
) -> list[str]:
    """A row's words, each escaped, the best of them marked."""
    words = [escape(row.title), *map(escape, row.facts.values())]
    for cell, metric in zip(row.cells, columns, strict=True):
        text = escape(cell_words(cell, metric))
        words.append(mark(text) if cell.best else text)
    return words


def lay_out(
    rows: Iterable[Sequence[str]], headings: Sequence[str], style: str, widths: Sequence[int] | None = None
) -> str:
    """Rows of text under headings in one of tabulate's styles, the text left as it is, or folded to these widths."""
    from tabulate import tabulate  # noqa: PLC0415 (not needed to list the formats)

    return str(tabulate(list(rows), headings, tablefmt=style, disable_numparse=True, maxcolwidths=widths))
