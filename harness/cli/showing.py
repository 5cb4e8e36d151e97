"""What several commands print: tables, and what failed."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from harness.cli.lists import reader_width
from harness.tables.render_terminal import grid_to_terminal, table_to_terminal
from harness.wording import counted

if TYPE_CHECKING:
    from harness.api import Results
    from harness.tables.grid import Grid
    from harness.tables.table import Table

FAILED_TRIALS = 1


def show_table(table: Table, form: str = "terminal") -> None:
    """Print a table; at a terminal the best is bold, and what is too wide for it goes on below."""
    if form == "terminal":
        click.echo(table_to_terminal(table, colour=sys.stdout.isatty(), width=reader_width()), nl=False)
    else:
        click.echo(table.render(form), nl=False)


def show_grid(grid: Grid, form: str = "terminal") -> None:
    """Print a grid, as wide as the terminal."""
    if form == "terminal":
        click.echo(grid_to_terminal(grid, width=reader_width()), nl=False)
    else:
        click.echo(grid.render(form), nl=False)


def tell_page(results: Results) -> None:
    """Say how to get these results as a page."""
    folder = results.folders[0]
    click.echo(f"`harness page {folder}` makes a page of them, to look at in a browser and to share.", err=True)


def end_code(results: Results) -> int:
    """Say what failed, and give the exit code."""
    failed = [record for record in results.records if record.status != "ok"]
    if failed:
        where = ""
        if any(record.traceback for record in failed):
            first = next(record for record in failed if record.traceback)
            where = f"; `harness show {results.folders[0]} {shlex.quote(first.label)}` shows tracebacks"
        click.echo(
            f"{len(failed)} of {counted(len(results.records), 'trial')} failed{where}; --retry-failed runs them again.",
            err=True,
        )
    return FAILED_TRIALS if failed or results.incompatible else 0
