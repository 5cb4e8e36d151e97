"""Tables and grids for programs: CSV and JSON, with numbers in full."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from harness.contract import MetricSpec
from harness.tables.numbers import plain_numbers

if TYPE_CHECKING:
    from harness.tables.grid import Grid
    from harness.tables.table import Cell, Group, Row, Table

Values = dict[str, object]
"""A row by the names of its columns, or a part of one."""


def plain_rows(table: Table) -> list[Values]:
    """A row of plain values for each row of the table: mean, sd, n and whether it is best, of every metric."""
    return _rows_of(table, _plain_cell)


def _rows_of(table: Table, values_of_cell: Callable[[Cell, MetricSpec], Values]) -> list[Values]:
    rows = []
    for group in table.groups:
        for row in group.rows:
            values: Values = {"group": group.title, "detail": group.detail, table.row_heading: row.title}
            values |= row.facts
            for cell, metric in zip(row.cells, table.columns, strict=True):
                values |= values_of_cell(cell, metric)
            rows.append(values)
    return rows


def _plain_cell(cell: Cell, metric: MetricSpec) -> Values:
    mean, sd, n = plain_numbers(cell.summary)
    name = metric.name
    return {name: mean, f"{name}_sd": sd, f"{name}_n": n, f"{name}_best": cell.best}


# -- CSV -------------------------------------------------------------------------------------------------------------


def table_to_csv(table: Table) -> str:
    """One line a row with full-precision numbers: mean, sd and n of every metric."""
    heading = ["group", "detail", table.row_heading, *table.groups[0].rows[0].facts]
    for metric in table.columns:
        heading += [metric.name, f"{metric.name}_sd", f"{metric.name}_n", f"{metric.name}_best"]
    return _csv_text(heading, _rows_of(table, _csv_cell))


def _csv_cell(cell: Cell, metric: MetricSpec) -> Values:
    """How a learner failed stands in the place of its mean."""
    values = _plain_cell(cell, metric) | {f"{metric.name}_best": int(cell.best)}
    if cell.summary is None:
        values[metric.name] = cell.failed
    return values


def grid_to_csv(grid: Grid) -> str:
    """The plain values; without rows nobody knows their names, and there is a line end alone."""
    heading = list(grid.values[0]) if grid.values else []
    return _csv_text(heading, grid.values)


def _csv_text(heading: list[str], rows: Iterable[Mapping[str, object]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, heading, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


# -- JSON ------------------------------------------------------------------------------------------------------------


def table_to_json(table: Table) -> str:
    """Everything, group by group."""
    groups = [_json_group(table, group) for group in table.groups]
    return _json_text({"groups": groups, "foot": table.foot})


def _json_group(table: Table, group: Group) -> Values:
    rows = [_json_row(table, row) for row in group.rows]
    return {"title": group.title, "detail": group.detail, "rows": rows}


def _json_row(table: Table, row: Row) -> Values:
    metrics = {}
    for metric, cell in zip(table.columns, row.cells, strict=True):
        mean, sd, n = plain_numbers(cell.summary)
        metrics[metric.name] = {"mean": mean, "sd": sd, "n": n, "best": cell.best, "failed": cell.failed or None}
    return {table.row_heading: row.title, **row.facts, "metrics": metrics}


def grid_to_json(grid: Grid) -> str:
    return _json_text({"title": grid.title, "rows": grid.values, "foot": grid.foot})


def _json_text(content: Values) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
