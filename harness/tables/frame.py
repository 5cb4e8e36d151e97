"""Records, tables and grids -> pandas data frames, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from harness.record import Record
from harness.record_lines import as_plain
from harness.tables.render_data import plain_rows

if TYPE_CHECKING:
    from harness.tables.grid import Grid
    from harness.tables.table import Table

LONG = ("traceback", "output", "threads_in_force", "versions", "rescored", "curve", "tuning")
"""Fields that are no value of a column."""


def records_frame(records: Iterable[Record]) -> pd.DataFrame:
    """One row a trial: every field but the long ones; each metric and each parameter (`param_C`) as its own column."""
    rows = []
    for record in records:
        fields = as_plain(record)
        for name in LONG:
            del fields[name]
        scores, params = fields.pop("scores"), fields.pop("params")
        for name, value in params.items():
            fields[f"param_{name}"] = value
        rows.append(fields | scores)
    return pd.DataFrame(rows)


def table_frame(table: Table) -> pd.DataFrame:
    """One row for each row of a table: for each metric its mean, `_sd`, `_n` and `_best`."""
    return pd.DataFrame(plain_rows(table))


def grid_frame(grid: Grid) -> pd.DataFrame:
    """One row for each row of a grid, numbers in full."""
    return pd.DataFrame(list(grid.values))
