"""`harness compare`: what changed between two results folders, with paired tests and the settings that differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness import api
from harness.cli.format_option import format_option
from harness.cli.options import FilePath, names_option, plugin_options
from harness.cli.showing import show_grid
from harness.errors import HarnessError
from harness.expression import split_list
from harness.tables.formats import FORMATS

if TYPE_CHECKING:
    from harness.api import Session


@click.command()
@click.argument("first", type=FilePath())
@click.argument("second", type=FilePath())
@names_option("--metrics", kind="metrics", help="What to compare.  [default: the columns of a table]")
@click.option("--learners", metavar="LABEL,LABEL", help="This learner of the first with that one of the second.")
@click.option("--instances", is_flag=True, help="Also McNemar's test on the test rows, from the saved ranks.")
@format_option
@plugin_options
def compare(
    first: Path,
    second: Path,
    metrics: str | None,
    learners: str | None,
    instances: bool,
    form: str,
    session: Session,
    debug: bool,
) -> None:
    """Compare two results folders: the first is before, the second after.

    One folder may stand twice, to compare two of its learners: --learners pa,ooz.
    """
    before, after = api.read_results([first], session), api.read_results([second], session)
    found = before.compare(after, metrics=metrics, learners=_two(learners), instances=instances)
    show_grid(found.changes, form)
    if FORMATS[form].for_programs:  # one table a file
        return
    click.echo()
    show_grid(found.settings, form)
    for line in found.alone:
        click.echo(line)


def _two(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = split_list(text)
    if len(names) != 2:
        raise HarnessError(f"--learners {text}: expected two labels, one for each folder, such as pa,ooz")
    return names[0], names[1]
