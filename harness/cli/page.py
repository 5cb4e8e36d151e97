"""`harness page`: results to look at in a browser, as one file that needs no server and no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import api
from harness.cli.options import plugin_options
from harness.stats import TESTS

if TYPE_CHECKING:
    from harness.api import Session


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", default="report.html", show_default=True, type=click.Path(path_type=Path), help="File to write.")
@click.option("--title", default="Results", show_default=True, help="What stands on top.")
@click.option("--apart", is_flag=True, help="Each folder by itself, to choose from, and not all in one table.")
@click.option(
    "--test", type=click.Choice(list(TESTS)), default="sign", show_default=True, help="What tells learners apart."
)
@click.option("--mixed-machines", is_flag=True, help="Show times even where machines or threads differ.")
@plugin_options
def page(
    results: tuple[Path, ...],
    out: Path,
    title: str,
    apart: bool,
    test: str,
    mixed_machines: bool,
    session: Session,
    debug: bool,
) -> None:
    """Make a page of one or more results folders, or of all folders below one.

    One HTML file: verdicts, the table to sort and filter, figures, failures. It loads nothing from elsewhere.
    """
    folders = api.find_folders(results)
    together = [[folder] for folder in folders] if apart else [folders]
    several = [api.read_results(members, session) for members in together]
    made = api.make_page(several, title=title, test=test, mixed_machines=mixed_machines)
    path = made.save(out)
    click.echo(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB); open it in a browser", err=True)
