"""`harness run`: read the experiment, plan it, run what is not done, show the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness import api
from harness.cli.lists import show_rows
from harness.cli.options import FilePath, OneName, names_option, plugin_options, read_duration
from harness.cli.showing import end_code, show_table, tell_page
from harness.errors import SpecError
from harness.executors import TRIALS, start_executor
from harness.expression import parse_value, split_list
from harness.wording import counted

if TYPE_CHECKING:
    from harness.api import Plan, Request, Session

FILE_KEYS = (
    *("learners", "datasets", "metrics", "trials", "representation", "split", "seed", "jobs", "threads", "curves"),
    *("timeout", "memory", "give_up", "on"),
)
"""Flags that stand for keys of an experiment file."""


@click.command()
@click.argument("experiment", required=False, type=OneName("experiments"))
@names_option(
    "--learners",
    kind="learners",
    help="What to compare: pa,'small=pa(C=0.1)',module:Class(...); all, flat, tree and 'topdown-*' are groups.",
)
@names_option(
    *("--datasets", "--data"),
    kind="datasets",
    help="What to compare on: digits,'topics(rows=500)',titles.csv.  [default: icd10cm]",
)
@names_option("--metrics", kind="metrics", help="Columns of the table.  [default: those meant to be shown]")
@click.option("--trials", type=int, help="Trials of each learner on each data set.  [default: 7]")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME.PARAM=VALUE",
    help="A parameter: pa.C=0.1; a list is a grid: pa.C=[0.1,1]; for one data set: pa@digits.C=1.",
)
@click.option(
    "--tune",
    multiple=True,
    metavar="NAME.PARAM=VALUES",
    help="Choose on a validation part of the training rows: pa.C=[0.1,1,10], representation=[words,chars].",
)
@click.option("--curves/--no-curves", default=None, help="Measure after each pass as well, outside the clock.")
@names_option(
    "--representation",
    kind="representations",
    help="What learners see of the data, one or several: words,chars(ngrams=2:5).  [default: the data set's own]",
)
@click.option(
    "--split",
    help="holdout:SHARE, stratified:SHARE, [stratified-]kfold:K, grouped:COLUMN, time:COLUMN or given[:NAME].  "
    "[default: holdout:0.1]",
)
@click.option("--seed", type=int, help="Seed of the first trial; the next ones count on.  [default: 0]")
@click.option("--jobs", type=int, help="Trials at once; times are clean only with 1.  [default: 1]")
@click.option(
    "--on",
    metavar="CLUSTER",
    help="Run trials on a Dask cluster: local:4, tcp://HOST:PORT, tls://HOST:PORT or scheduler-file:PATH.",
)
@click.option("--threads", type=int, help="Threads a learner may use.  [default: 1]")
@click.option("--timeout", help="Kill a trial after this time: 90s, 10m, 2h.")
@click.option("--memory", help="Kill a trial above this much memory of its own: 512MB, 4GB.")
@click.option(
    "--give-up/--no-give-up",
    default=None,
    help="Leave out a learner on data larger than that on which it ran out of time or memory.",
)
@click.option("--out", type=FilePath(), help="Results folder.  [default: results/NAME, by content]")
@click.option("--retry-failed", is_flag=True, help="Run failed trials again.")
@names_option("--rerun", kind="learners", help="Run all trials of these learners again.")
@click.option(
    "--wait-for-quiet",
    "quiet_wait",
    is_flag=False,
    flag_value="10m",
    metavar="[TIME]",
    help="Before each trial, wait until nothing else is at work: for 10m at most, or for this time.",
)
@click.option("--reuse", multiple=True, type=FilePath(), help="Take finished trials from this folder.")
@click.option("--no-build", is_flag=True, help="Build no environment: where a learner's is missing, stop and say so.")
@click.option("--allow-differences", is_flag=True, help="Let workers have other versions and code than this machine.")
@click.option("--dry-run", is_flag=True, help="Print the plan and stop.")
@plugin_options
def run(
    experiment: str | None,
    session: Session,
    out: Path | None,
    retry_failed: bool,
    rerun: str | None,
    quiet_wait: str | None,
    reuse: tuple[Path, ...],
    no_build: bool,
    allow_differences: bool,
    dry_run: bool,
    debug: bool,
    **flags: Any,
) -> int:
    """Run an experiment: a TOML file, a registered experiment, or what the flags say.

    The same command again resumes: finished trials are never repeated.
    """
    # The server imports what every trial needs while the experiment is read here.
    executor = start_executor(TRIALS, flags["threads"] or 1)
    try:
        request = read_flags(experiment, flags)
        asked = split_list(flags["metrics"]) if flags["metrics"] else None
        progress = api.choose_progress(True, session, asked)
        if dry_run:
            return show_plan(api.plan_request(request, session, executor, progress))
        options = api.RunOptions(
            out=out,
            retry_failed=retry_failed,
            rerun=tuple(split_list(rerun)) if rerun else (),
            quiet_seconds=read_duration(quiet_wait, "--wait-for-quiet") if quiet_wait else None,
            reuse=reuse,
            may_build=not no_build,
            allow_differences=allow_differences,
        )
        results = api.run_request(request, options, session, executor, progress).results
    finally:
        executor.close()
    click.echo()
    show_table(results.table())
    columns = f" --metrics {','.join(results.asked)}" if results.asked else ""
    folder = results.folders[0]
    click.echo(f"\nResults are in {folder}; `harness table {folder}{columns}` shows them again.", err=True)
    tell_page(results)
    return end_code(results)


# -- reading the command line ----------------------------------------------------------------------------------------


def read_flags(experiment: str | None, flags: dict[str, Any]) -> Request:
    """What the flags ask for."""
    settings: dict[str, dict[str, Any]] = {}
    for text in flags["settings"]:
        target, parameter, value = parse_setting(text)
        settings.setdefault(target, {})[parameter] = value
    tune: dict[str, Any] = {}
    for text in flags["tune"]:
        name, equals, tried = text.partition("=")
        if equals and name.strip() == "representation":
            tune["representation"] = split_list(tried.strip().removeprefix("[").removesuffix("]"))
            continue
        target, parameter, values = parse_setting(text, "--tune")
        tune.setdefault(target, {})[parameter] = values if isinstance(values, list) else [values]
    given = {key: flags[key] for key in FILE_KEYS if flags[key] is not None}
    return api.Request(experiment=experiment, given=given, settings=settings, tune=tune)


def parse_setting(text: str, flag: str = "--set") -> tuple[str, str, Any]:
    """Take `pa.C=0.1` or `pa@digits.C=0.1` apart."""
    name, equals, value = text.partition("=")
    target, dot, parameter = name.strip().rpartition(".")
    if not (equals and dot and target and parameter):
        raise SpecError(f"{flag} {text}: expected NAME.PARAM=VALUE, such as pa.C=0.1")
    return target, parameter, parse_value(value.strip())


# -- telling ---------------------------------------------------------------------------------------------------------


def show_plan(planned: Plan) -> int:
    """Print every trial, and what cannot run; the exit code says whether there is any."""
    rows = []
    for trial in planned.trials:
        params = {name: value for name, value in trial.params.items() if name != "random_state"}
        row = {
            "key": trial.key[:8],
            "learner": trial.label,
            "parameters": ", ".join(f"{name}={value}" for name, value in params.items()),
            "data set": trial.dataset,
            "representation": trial.representation,
            "split": str(trial.split),
            "seed": str(trial.seed),
        }
        rows.append(row)
    folded = {"learner": 20, "parameters": 16, "data set": 16}
    show_rows(rows, folded, ("split", "representation"), "A wider window has them.")
    experiment = planned.experiment
    timeout = f"{experiment.timeout_seconds:g} s" if experiment.timeout_seconds else "none"
    memory = f"{experiment.memory_bytes / 1e9:g} GB" if experiment.memory_bytes else "none"
    click.echo(
        f"\n{counted(len(rows), 'trial')}, {experiment.jobs} at once, {counted(experiment.threads, 'thread')} each; "
        f"time limit {timeout}, memory limit {memory}"
    )
    for line in planned.incompatible:
        click.echo(f"warning: {line}", err=True)
    return 1 if planned.incompatible else 0
