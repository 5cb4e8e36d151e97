"""`harness table`: the comparison table of one or more results folders, from what is stored, with no training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness import api
from harness.cli.format_option import format_option
from harness.cli.options import FilePath, OneName, names_option, plugin_options
from harness.cli.showing import show_grid, show_table
from harness.errors import HarnessError
from harness.stats import SPREADS, TESTS
from harness.tables.choosing import EXAMPLES
from harness.tables.table import ROW_HEADINGS

if TYPE_CHECKING:
    from harness.api import Session

TEST_HELP = "What tells learners apart: sign test, corrected resampled t-test, or wins in nine of ten trials."
SPREAD_HELP = "Behind the ±: standard deviation, Student's 95% interval, or the papers' binomial one."


@click.command()
@click.argument("results", nargs=-1, required=True, type=FilePath())
@format_option
@names_option("--metrics", kind="metrics", help="Columns, in this order.")
@click.option("--by", type=click.Choice(list(ROW_HEADINGS)), default="dataset", show_default=True)
@click.option("--mixed-machines", is_flag=True, help="Show times even where machines or threads differ.")
@click.option("--test", type=click.Choice(list(TESTS)), default="sign", show_default=True, help=TEST_HELP)
@click.option("--spread", type=click.Choice(list(SPREADS)), default="sd", show_default=True, help=SPREAD_HELP)
@click.option("--sort", type=OneName("metrics"), metavar="METRIC", help="Rows by the mean of a metric, the best first.")
@click.option("--where", multiple=True, metavar="CONDITION", help=f"Compare only these lines: {EXAMPLES}.")
@click.option("--best", type=OneName("metrics"), metavar="METRIC", help="Only the best by it, as far as can be told.")
@click.option("--matrix", is_flag=True, help="Instead: trials won, tied and lost, each learner against each other one.")
@click.option("--ranks", is_flag=True, help="Instead: average ranks over data sets (Friedman, Nemenyi).")
@click.option("--against", metavar="published|FILE.csv", help="Instead: published numbers with ours beside them.")
@plugin_options
def table(
    results: tuple[Path, ...],
    form: str,
    metrics: str | None,
    matrix: bool,
    ranks: bool,
    against: str | None,
    session: Session,
    debug: bool,
    **shape: Any,
) -> None:
    """Make the table of one or more results folders."""
    if matrix + ranks + (against is not None) > 1:
        raise HarnessError("--matrix, --ranks and --against are tables of their own: give one of them")
    opened = api.read_results(results, session)
    if against is not None:
        grids = [opened.against(against, metrics)]
    elif matrix:
        grids = opened.matrix(metrics, test=shape["test"])
    elif ranks:
        grids = opened.ranks(metrics)
    else:
        show_table(opened.table(metrics, **shape), form)
        return
    for place, grid in enumerate(grids):
        if place:
            click.echo()
        show_grid(grid, form)
