"""Commands about runs.

`run` runs an experiment, `status` shows the progress of a run, and `rescore` computes other metrics from saved ranks.
`reproduce` runs the experiment of a paper, and `suggest` names learners to run on a dataset.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import FilePath, NameList, OneName, model_options, names_option, plugin_options
from harness.cli.output import (
    FAILED_TRIALS,
    print_note,
    print_warning,
    report_failures,
    show_answer,
    show_grid,
    show_page_hint,
    show_rows,
    show_table,
)
from harness.errors import SpecError
from harness.experiment.options import given_options
from harness.experiment.schema import Experiment, RunOptions
from harness.syntax.expression import split_list
from harness.text import counted, printable, say

if TYPE_CHECKING:
    from harness.experiment.plan import Plan
    from harness.host.catalog import Catalog
    from harness.host.discovery import Session
    from harness.runner.progress import FolderStatus
    from harness.runner.reproduce import PaperExperiment, Reproduction

LIST_FOLDED = {"datasets": 16, "summary": 24}


@click.command()
@click.argument("experiment", required=False, type=OneName("experiments"))
@model_options(Experiment)
@model_options(RunOptions)
@click.option("--dry-run", is_flag=True, help="Print the plan and stop.")
@plugin_options
def run(experiment: str | None, session: Session, dry_run: bool, debug: bool, **flags: Any) -> int:
    """Run an experiment: a TOML file, a registered experiment, or the learners and datasets in the flags.

    Repeat the command to resume: finished trials are not run again.
    """
    from harness.executors.local import TRIALS, start_executor  # noqa: PLC0415 (--help needs none of these)

    # The fork server imports what every trial needs while this process imports what a run needs.
    executor = start_executor(TRIALS, flags["threads"] or 1)
    try:
        from harness.experiment.load import COMMAND_LINE, load_experiment, read_options  # noqa: PLC0415
        from harness.runner.progress import choose_progress  # noqa: PLC0415
        from harness.runner.run import plan_experiment, run_experiment  # noqa: PLC0415

        given = given_options(flags, Experiment)
        raw = load_experiment(experiment, given, session.catalog)
        metrics = split_list(given["metrics"]) if "metrics" in given else None
        progress = choose_progress(True, session, metrics)
        if dry_run:
            return show_plan(plan_experiment(raw, session, executor, progress))
        options = read_options(given_options(flags, RunOptions), COMMAND_LINE)
        results = run_experiment(raw, options, session, executor, progress).results
    finally:
        executor.close()
    click.echo()
    show_answer(results)
    show_table(results.table())
    columns = f" --metrics {','.join(results.requested)}" if results.requested else ""
    folder = results.folders[0]
    click.echo(f"\nResults: {folder}. Table: `harness table {folder}{columns}`", err=True)
    show_page_hint(results)
    return report_failures(results)


def show_plan(planned: Plan) -> int:
    """Print the trials of a plan and return the exit code: 1 if a learner cannot run on a dataset."""
    from harness.runner.run import describe_power  # noqa: PLC0415 (--help needs none of it)

    rows = []
    for trial in planned.trials:
        params = {name: value for name, value in trial.params.items() if name != "random_state"}
        row = {
            "key": trial.key[:8],
            "learner": trial.label,
            "parameters": ", ".join(f"{name}={value}" for name, value in params.items()),
            "dataset": trial.dataset,
            "representation": trial.representation,
            "split": str(trial.split),
            "seed": str(trial.seed),
        }
        rows.append(row)
    folded = {"learner": 20, "parameters": 16, "dataset": 16}
    show_rows(rows, folded, ("split", "representation"), "Use a wider terminal to see them.")
    experiment = planned.experiment
    timeout = f"{experiment.timeout:g} s" if experiment.timeout else "none"
    memory = f"{experiment.memory / 1e9:g} GB" if experiment.memory else "none"
    click.echo(
        f"\n{counted(len(rows), 'trial')}, {experiment.jobs} at once, {counted(experiment.threads, 'thread')} each; "
        f"time limit {timeout}, memory limit {memory}"
    )
    for line in describe_power(planned):
        click.echo(line)
    for line in planned.incompatible:
        print_warning(line)
    return 1 if planned.incompatible else 0


@click.command()
@click.argument("results", type=FilePath())
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--debug", is_flag=True, help="Print the traceback of an error.")
def status(results: Path, as_json: bool, debug: bool) -> None:
    """Show the progress of a run."""
    from harness.runner.progress import read_status  # noqa: PLC0415 (--help needs none of it)

    found = read_status(results)
    if as_json:
        click.echo(json.dumps({**asdict(found), "folder": str(found.folder)}, indent=1))
        return
    for line in describe_status(found, time.time()):
        click.echo(line)


def describe_status(found: FolderStatus, now: float) -> list[str]:
    """Return the status of a results folder, line by line."""
    failed = f", {found.failed} of them failed" if found.failed else ""
    kept = f"{found.folder}: {counted(found.kept, 'record')}{failed}"
    run = found.run
    if not found.is_at_work:
        killed = ". The last run was killed; repeat its command to resume" if run else ""
        return [f"{kept}; no run is active{killed}"]
    if run is None:
        return [f"{kept}; a run is active and prepares its trials"]
    left = "" if run.seconds_left is None else f", about {format_seconds(run.seconds_left)} left"
    done = f"{run.done} of {counted(run.total, 'trial')} done, {len(run.running)} running"
    lines = [kept, f"this run: {done}; {format_seconds(now - run.began)} so far{left}"]
    rows = []
    for trial in run.running:
        seconds = format_seconds(now - trial.began)
        rows.append([printable(trial.worker or "this machine"), printable(trial.what), trial.phase, seconds])
    if rows:
        from tabulate import tabulate  # noqa: PLC0415 (--help needs none of it)

        table = tabulate(sorted(rows), headers=["worker", "trial", "phase", "for"], tablefmt="simple")
        lines += ["", table]
    return lines


def format_seconds(seconds: float) -> str:
    """Return a duration in words: 42 s, 3 min, 1 h 20 min."""
    rounded = max(0, round(seconds))
    if rounded < 120:
        return f"{rounded} s"
    minutes = round(rounded / 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


@click.command()
@click.argument("results", type=FilePath())
@names_option("--metrics", kind="metrics", required=True, help="Compute these metrics: r3,macro_f1,'mrr(depth=10)'.")
@click.option("--again", is_flag=True, help="Compute them again for records that have them.")
@plugin_options
def rescore(results: Path, metrics: str, again: bool, session: Session, debug: bool) -> None:
    """Compute metrics from saved ranks and store them in the records.

    The true classes come from the dataset and the split. A dataset that has changed since the run is an error.
    """
    from harness.results.results import read_results  # noqa: PLC0415 (--help needs none of it)

    opened = read_results([results], session)
    names = ", ".join(metric.name for metric in opened.columns(metrics))
    rescored = opened.rescore_folders(metrics, again=again)
    click.echo(f"{names}: computed for {counted(rescored.changed, 'trial')}; {rescored.kept} had it already")
    if rescored.failed:
        print_note(f"skipped {counted(rescored.failed, 'failed trial')} without ranks.")
    for line in rescored.trouble:
        print_warning(line)


@click.command()
@click.argument("name", required=False, type=OneName("experiments"))
@click.option("--list", "listed", is_flag=True, help="List the experiments and how long they take, and stop.")
@click.option("--quick", is_flag=True, help="Run a small version, in under two minutes.")
@click.option("--redraw", is_flag=True, help="Write tables and figures again from the records; run no trial.")
@names_option("--datasets", kind="datasets", help="Run only these datasets of the experiment, by their labels.")
@model_options(Experiment, "jobs", "on", "timeout", "memory")
@model_options(RunOptions, "out", "retry_failed", "reuse")
@plugin_options
def reproduce(
    name: str | None,
    listed: bool,
    quick: bool,
    redraw: bool,
    datasets: str | None,
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
    from harness.executors.local import TRIALS, start_executor  # noqa: PLC0415 (--help needs none of these)
    from harness.runner.reproduce import (  # noqa: PLC0415 (the same)
        default_out,
        holds_quick_version,
        read_paper,
        reopen_paper,
        reproduce_paper,
    )

    given = given_options(flags, Experiment)
    kept = split_list(datasets or "")
    if redraw:
        quick = quick or (bool(flags["out"]) and holds_quick_version(name, flags["out"], session.catalog))
        paper = read_paper(name, session.catalog, quick=quick, datasets=kept, given=given)
        return show_reproduction(reopen_paper(paper, flags["out"] or default_out(paper), session))
    executor = start_executor(TRIALS)
    try:
        paper = read_paper(name, session.catalog, quick=quick, datasets=kept, given=given)
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
    by_reason: dict[str, list[str]] = {}
    for dataset, reason in done.absent.items():
        by_reason.setdefault(reason, []).append(dataset)
    for reason, names in by_reason.items():
        print_note(f"no results on {', '.join(names)}: {reason}")
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
            "expected R1": f"{proposal.r1:.3f}",
            **where,
            "below best": f"{100 * proposal.behind:.1f} points",
            "train": say(proposal.train_seconds, "seconds"),
            "predict/row": say(proposal.answer_seconds, "seconds"),
        }
        rows.append(row)
    click.echo(f"\n{tabulate(rows, 'keys', tablefmt='simple', disable_numparse=True)}\n")
    click.echo(f"Expected R1 and times: as measured on {', '.join(there)}; training times scaled to these rows.")
    click.echo("Below best: mean distance to the best learner over all measured datasets, similar ones counting more.")
    seconds = say(found.command_seconds, "seconds")
    click.echo(f"To compare them on this data (about {seconds} of training):\n")
    click.echo(f"  {found.command}")
    if found.to_build:
        names = " ".join(found.to_build)
        click.echo(f"\nThe first run builds Python environments for: {names}")
