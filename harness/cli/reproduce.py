"""`harness reproduce`: run an experiment of a paper on the data at hand; the published numbers stand beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness import api
from harness.cli.lists import show_rows
from harness.cli.options import FilePath, OneName, plugin_options
from harness.cli.showing import FAILED_TRIALS, end_code, show_grid, show_table, tell_page
from harness.errors import SpecError
from harness.executors import TRIALS, start_executor
from harness.wording import counted

if TYPE_CHECKING:
    from harness.api import PaperExperiment, Reproduction, Session
    from harness.catalog import Catalog

LIST_FOLDED = {"data sets": 16, "summary": 24}


@click.command()
@click.argument("name", required=False, type=OneName("experiments"))
@click.option("--list", "listed", is_flag=True, help="List what can be reproduced, how long it takes, and stop.")
@click.option("--quick", is_flag=True, help="A small version, in under two minutes.")
@click.option("--jobs", type=int, help="Trials at once; times are clean only with 1.  [default: 1]")
@click.option("--timeout", help="Kill a trial after this time: 90s, 10m, 2h.")
@click.option("--memory", help="Kill a trial above this much memory of its own: 512MB, 4GB.")
@click.option("--out", type=FilePath(), help="Results folder.  [default: results/NAME]")
@click.option("--redraw", is_flag=True, help="Make tables and figures anew from the records; run nothing.")
@click.option("--retry-failed", is_flag=True, help="Run failed trials again.")
@click.option("--reuse", multiple=True, type=FilePath(), help="Take finished trials from this folder.")
@plugin_options
def reproduce(
    name: str | None,
    listed: bool,
    quick: bool,
    out: Path | None,
    redraw: bool,
    retry_failed: bool,
    reuse: tuple[Path, ...],
    session: Session,
    debug: bool,
    **limits: Any,
) -> int:
    """Run an experiment of a paper and put the published numbers beside ours.

    Data sets that are not at hand stand in the table with the reason. The same command again resumes.
    """
    if listed:
        return show_list(session.catalog)
    if name is None:
        raise SpecError("reproduce what? `harness reproduce --list` shows what there is")
    given = {key: value for key, value in limits.items() if value is not None}
    if redraw:
        paper = api.read_paper(name, session.catalog, quick=quick, given=given)
        return show_reproduction(api.reopen_paper(paper, out or api.default_out(paper), session))
    executor = start_executor(TRIALS)
    try:
        paper = api.read_paper(name, session.catalog, quick=quick, given=given)
        show_estimate(paper)
        options = api.RunOptions(
            out=out or api.default_out(paper), retry_failed=retry_failed, reuse=reuse, without_absent=True
        )
        progress = api.choose_progress(True, session, paper.experiment.metrics)
        done = api.run_paper(paper, options, session, executor, progress)
    finally:
        executor.close()
    return show_reproduction(done)


def show_list(catalog: Catalog) -> int:
    """Print every registered experiment, with what it takes."""
    rows = []
    for paper in api.list_papers(catalog):
        row = {
            "name": paper.name,
            "minutes": f"{paper.minutes:g}" if paper.minutes else "-",
            "quick": "yes" if paper.has_quick else "-",
            "published": "yes" if paper.has_published else "-",
            "data sets": ", ".join(paper.datasets),
            "summary": paper.summary,
        }
        rows.append(row)
    show_rows(rows, LIST_FOLDED, ("published", "quick"), "A wider window has them.")
    return 0


def show_estimate(paper: PaperExperiment) -> None:
    """Say how long it will take, before it begins."""
    if paper.quick:
        click.echo("The quick version: its numbers are not those to compare with the published ones.", err=True)
        return
    minutes = paper.experiment.minutes
    if minutes:
        click.echo(
            f"This took about {counted(f'{minutes:g}', 'minute')} on two cores with the data that was at "
            "hand; it can be interrupted, and the same command goes on from there. --quick runs a small version.",
            err=True,
        )


def show_reproduction(done: Reproduction) -> int:
    """Print the tables, and keep them in every format, with the figures, beside the records; gives the exit code."""
    click.echo()
    if done.results.records:
        show_table(done.results.table())
    if done.published is not None:
        click.echo()
        show_grid(done.published)
    for dataset, reason in done.absent.items():
        click.echo(f"\n{dataset} is not in the table of ours: {reason}", err=True)
    if done.paper.left_out:
        click.echo(f"\nThe quick version: {done.paper.left_out}.", err=True)
    kept = api.keep_reproduction(done)
    for trouble in kept.troubles:
        click.echo(trouble, err=True)
    for path in kept.figures:
        click.echo(f"wrote {path}", err=True)
    click.echo(f"\nResults are in {done.results.folders[0]}.", err=True)
    if not done.results.records:
        return FAILED_TRIALS
    tell_page(done.results)
    return end_code(done.results)
