"""Commands that build on earlier experiments: `reproduce` one of a paper, `suggest` learners for a dataset."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import NameList, OneName, model_options, plugin_options
from harness.cli.output import (
    FAILED_TRIALS,
    print_note,
    print_warning,
    report_failures,
    show_grid,
    show_page_hint,
    show_rows,
    show_table,
)
from harness.errors import SpecError
from harness.experiment.options import given_options
from harness.experiment.schema import Experiment, RunOptions
from harness.text import counted, say

if TYPE_CHECKING:
    from harness.host.catalog import Catalog
    from harness.host.discovery import Session
    from harness.runner.reproduce import PaperExperiment, Reproduction

LIST_FOLDED = {"datasets": 16, "summary": 24}


@click.command()
@click.argument("name", required=False, type=OneName("experiments"))
@click.option("--list", "listed", is_flag=True, help="List the experiments and how long they take, and stop.")
@click.option("--quick", is_flag=True, help="Run a small version, in under two minutes.")
@click.option("--redraw", is_flag=True, help="Write tables and figures again from the records; run no trial.")
@model_options(Experiment, "jobs", "timeout", "memory")
@model_options(RunOptions, "out", "retry_failed", "reuse")
@plugin_options
def reproduce(
    name: str | None,
    listed: bool,
    quick: bool,
    redraw: bool,
    session: Session,
    debug: bool,
    **flags: Any,
) -> int:
    """Run the experiment of a paper and compare with its published numbers.

    Missing datasets are listed with the reason. Repeat the command to resume.
    """
    if listed:
        return show_list(session.catalog)
    if name is None:
        raise SpecError("no experiment named", next_step="`harness reproduce --list` lists them.")
    from harness.executors.local.client import TRIALS, start_executor  # noqa: PLC0415 (--help needs none of these)
    from harness.runner.reproduce import default_out, read_paper, reopen_paper, reproduce_paper  # noqa: PLC0415

    given = given_options(flags, Experiment)
    if redraw:
        paper = read_paper(name, session.catalog, quick=quick, given=given)
        return show_reproduction(reopen_paper(paper, flags["out"] or default_out(paper), session))
    executor = start_executor(TRIALS)
    try:
        paper = read_paper(name, session.catalog, quick=quick, given=given)
        show_estimate(paper)
        done = reproduce_paper(paper, given_options(flags, RunOptions), session, executor)
    finally:
        executor.close()
    return show_reproduction(done)


def show_list(catalog: Catalog) -> int:
    """Print the registered experiments with their expected time; return the exit code."""
    from harness.runner.reproduce import list_papers  # noqa: PLC0415 (--help needs none of it)

    rows = []
    for paper in list_papers(catalog):
        row = {
            "name": paper.name,
            "minutes": f"{paper.minutes:g}" if paper.minutes else "-",
            "quick": "yes" if paper.has_quick else "-",
            "published": "yes" if paper.has_published else "-",
            "datasets": ", ".join(paper.datasets),
            "summary": paper.summary,
        }
        rows.append(row)
    show_rows(rows, LIST_FOLDED, ("published", "quick"), "Use a wider terminal to see them.")
    return 0


def show_estimate(paper: PaperExperiment) -> None:
    """Print how long the experiment is expected to take."""
    if paper.quick:
        print_note("this is the quick version. Do not compare its numbers with the published ones.")
        return
    minutes = paper.experiment.minutes
    if minutes:
        print_note(
            f"this takes about {counted(f'{minutes:g}', 'minute')} on two cores. Interrupt it at any time and repeat "
            "the command to resume, or use --quick for a small version."
        )


def show_reproduction(done: Reproduction) -> int:
    """Print the tables, save them and the figures beside the records, and return the exit code."""
    click.echo()
    if done.results.records:
        show_table(done.results.table())
    if done.published is not None:
        click.echo()
        show_grid(done.published)
    for dataset, reason in done.absent.items():
        print_note(f"no results on {dataset}: {reason}")
    if done.paper.left_out:
        print_note(f"quick version: {done.paper.left_out}.")
    from harness.runner.reproduce import keep_reproduction  # noqa: PLC0415 (--help needs none of it)

    kept = keep_reproduction(done)
    for trouble in kept.troubles:
        print_warning(trouble)
    for path in kept.figures:
        click.echo(f"wrote {path}", err=True)
    click.echo(f"\nResults: {done.results.folders[0]}", err=True)
    if not done.results.records:
        return FAILED_TRIALS
    show_page_hint(done.results)
    return report_failures(done.results)


@click.command()
@click.option(
    "--data",
    type=NameList("datasets"),
    required=True,
    help="Dataset or file: titles.csv, 'titles.csv(text=title)'.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@plugin_options
def suggest(data: str, as_json: bool, session: Session, debug: bool) -> None:
    """Suggest three learners for a dataset, with expected accuracy and times."""
    from tabulate import tabulate  # noqa: PLC0415 (--help needs none of these)

    from harness.runner.suggest import suggest_for  # noqa: PLC0415

    found = suggest_for(data, session)
    if as_json:
        click.echo(json.dumps(asdict(found) | {"command": found.command, "is_guess": found.is_guess}, indent=2))
        return
    click.echo(f"{found.data}: {found.facts.rows:,} rows, {found.facts.classes:,} classes.")
    click.echo(f"Most similar datasets with known results: {', '.join(found.nearest)}.")
    if found.is_guess:
        print_warning("no known dataset is similar. Take these suggestions as a guess.")
    there = list(dict.fromkeys(proposal.dataset for proposal in found.proposals))
    rows = []
    for proposal in found.proposals:
        where = {} if len(there) == 1 else {"on": proposal.dataset}
        row = {
            "learner": proposal.learner,
            "why": proposal.reason,
            "R1": f"{proposal.r1:.3f}",
            **where,
            "below best": f"{proposal.behind:.3f}",
            "train": say(proposal.train_seconds, "seconds"),
            "predict/row": say(proposal.answer_seconds, "seconds"),
        }
        rows.append(row)
    click.echo(f"\n{tabulate(rows, 'keys', tablefmt='simple', disable_numparse=True)}\n")
    click.echo(f"R1 and times: measured on {', '.join(there)}; training times scaled to these rows.")
    click.echo("Below best: R1 below that of the best learner, averaged over the similar datasets by similarity.")
    seconds = say(found.command_seconds, "seconds")
    click.echo(f"To compare them on this data (about {seconds} of training):\n")
    click.echo(f"  {found.command}")
    if found.to_build:
        names = " ".join(found.to_build)
        click.echo(f"\nThe first run builds Python environments for: {names}")
