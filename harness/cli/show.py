"""`harness show`: all that is known of one learner's trials in a results folder, those that failed first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import api
from harness.cli.options import plugin_options

if TYPE_CHECKING:
    from harness.api import Session


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("label")
@click.option("--dataset", help="Only on this data set.")
@plugin_options
def show(results: Path, label: str, dataset: str | None, session: Session, debug: bool) -> None:
    """Show one learner's trials: parameters, tuning, tracebacks, output.

    Those that failed come first. LABEL is what the learner goes by in the table, such as pa or 'pa(C=0.1)'.
    """
    click.echo(api.read_results([results], session).show(label, dataset), nl=False)
