"""`harness run`: read the experiment, plan it, run what is not done, show the table."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.executing import COMMON, FAILED_TRIALS, end_code, execute, experiment_path, plan_trials
from harness.cli.options import NameList, OneName, plugin_options
from harness.cli.table import choose_columns, show_table
from harness.contract import REPRESENTATIONS
from harness.errors import SpecError
from harness.host import Catalog, discover
from harness.wording import counted

if TYPE_CHECKING:
    from harness.experiment.plan import Trial
    from harness.experiment.spec import Experiment


@click.command()
@click.argument("experiment", required=False, type=OneName("experiments"))
@click.option("--learners", type=NameList("learners"), help="What to compare: pa,'small=pa(C=0.1)',module:Class(...).")
@click.option(
    *("--datasets", "--data"),
    type=NameList("datasets"),
    help="What to compare on: digits,'topics(rows=500)',titles.csv.  [default: icd10cm]",
)
@click.option("--metrics", type=NameList("metrics"), help="Columns of the table.  [default: those meant to be shown]")
@click.option("--trials", type=int, help="Trials of each learner on each data set.  [default: 3]")
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
    help="Choose a parameter on a validation part of the training rows: pa.C=[0.1,1,10].",
)
@click.option("--curves/--no-curves", default=None, help="Measure after each pass as well, outside the clock.")
@click.option(
    "--representation",
    help=f"{', '.join(REPRESENTATIONS[:-1])} or {REPRESENTATIONS[-1]}.  [default: the data set's own]",
)
@click.option(
    "--split", help="holdout:SHARE, stratified:SHARE, [stratified-]kfold:K or given[:NAME].  [default: holdout:0.1]"
)
@click.option("--seed", type=int, help="Seed of the first trial; the next ones count on.  [default: 0]")
@click.option("--jobs", type=int, help="Trials at once; times are clean only with 1.  [default: 1]")
@click.option("--threads", type=int, help="Threads a learner may use.  [default: 1]")
@click.option("--timeout", help="Kill a trial after this time: 90s, 10m, 2h.")
@click.option("--memory", help="Kill a trial above this resident memory: 512MB, 4GB.")
@click.option("--out", type=click.Path(path_type=Path), help="Results folder.  [default: results/NAME, by content]")
@click.option("--retry-failed", is_flag=True, help="Run failed trials again.")
@click.option("--reuse", multiple=True, type=click.Path(path_type=Path), help="Take finished trials from this folder.")
@click.option("--dry-run", is_flag=True, help="Print the plan and stop.")
@plugin_options
def run(experiment: str | None, folders: tuple[Path, ...], disabled: tuple[str, ...], debug: bool, **flags: Any) -> int:
    """Run an experiment: a TOML file, a registered experiment, or what the flags say.

    The same command again resumes: finished trials are never repeated.
    """
    from harness.executors.local import LocalExecutor

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill ends like Ctrl-C
    with LocalExecutor(preload=None, threads=flags["threads"] or 1, common=COMMON) as executor:
        # The server imports what every trial needs while the experiment is read here.
        from harness.experiment.resolve import resolve
        from harness.experiment.spec import build

        catalog = discover(folders, disabled)
        raw, source = read_raw(experiment, flags, catalog)
        resolved = resolve(build(raw, source), catalog)
        executor.prepare(
            preload=[module for learner in resolved.learners for module in learner.preload],
            threads=resolved.experiment.threads,
            path=[str(folder.resolve()) for folder in folders],
        )
        if flags["dry_run"]:
            return show_plan(*plan_trials(resolved, executor), resolved.experiment)
        ran = execute(resolved, catalog, raw, executor, flags)
    click.echo()
    chosen = choose_columns(catalog, resolved.experiment.metrics, ran.records)
    show_table(ran.records, chosen, ran.machines, notes=ran.incompatible)
    columns = f" --metrics {','.join(resolved.experiment.metrics)}" if resolved.experiment.metrics else ""
    click.echo(f"\nResults are in {ran.folder}; `harness table {ran.folder}{columns}` shows them again.", err=True)
    return end_code(ran)


# -- reading the command line ----------------------------------------------------------------------------------------


def read_raw(name: str | None, flags: dict[str, Any], catalog: Catalog) -> tuple[dict[str, Any], str]:
    """The experiment as one raw table: the file or registered experiment, if any, and the flags laid over it."""
    from harness.experiment.spec import read_file

    raw: dict[str, Any] = {}
    source = "command line"
    simple = ("learners", "datasets", "metrics", "trials", "representation", "split", "seed", "jobs", "threads")
    given = {key: flags[key] for key in (*simple, "curves", "timeout", "memory") if flags[key] is not None}
    if name is not None:
        path = experiment_path(name, catalog)
        raw, source = read_file(path), f"{path} and {source}" if given or flags["settings"] else str(path)
    elif not flags["learners"]:
        raise SpecError("nothing to run: give --learners (`harness list learners`) or an experiment file")
    raw |= given
    for text in flags["settings"]:
        target, parameter, value = parse_setting(text)
        tables = raw.setdefault("set", {})
        if not isinstance(tables, dict) or not isinstance(tables.setdefault(target, {}), dict):
            raise SpecError(f"{source}: set: expected tables of parameters, one a learner or data set")
        tables[target][parameter] = value
    for text in flags["tune"]:
        target, parameter, values = parse_setting(text, "--tune")
        tuned = raw.setdefault("tune", {}).setdefault("params", {})
        tuned.setdefault(target, {})[parameter] = values if isinstance(values, list) else [values]
    return raw, source


def parse_setting(text: str, flag: str = "--set") -> tuple[str, str, Any]:
    """Take `pa.C=0.1` or `pa@digits.C=0.1` apart."""
    from harness.expression import parse_value

    name, equals, value = text.partition("=")
    target, dot, parameter = name.strip().rpartition(".")
    if not (equals and dot and target and parameter):
        raise SpecError(f"{flag} {text}: expected NAME.PARAM=VALUE, such as pa.C=0.1")
    return target, parameter, parse_value(value.strip())


# -- telling ---------------------------------------------------------------------------------------------------------


def show_plan(trials: Sequence[Trial], incompatible: Sequence[str], experiment: Experiment) -> int:
    """Print every trial, and what cannot run; the exit code says whether there is any."""
    from tabulate import tabulate

    rows = [
        {
            "key": trial.key[:8],
            "learner": trial.label,
            "parameters": ", ".join(f"{k}={v}" for k, v in trial.params.items() if k != "random_state"),
            "data set": trial.dataset,
            "representation": trial.representation,
            "split": trial.split,
            "seed": trial.seed,
        }
        for trial in trials
    ]
    click.echo(tabulate(rows, headers="keys", tablefmt="simple", disable_numparse=True))
    timeout = f"{experiment.timeout_seconds:g} s" if experiment.timeout_seconds else "none"
    memory = f"{experiment.memory_bytes / 1e9:g} GB" if experiment.memory_bytes else "none"
    click.echo(
        f"\n{counted(len(trials), 'trial')}, {experiment.jobs} at once, {counted(experiment.threads, 'thread')} each; "
        f"time limit {timeout}, memory limit {memory}"
    )
    for line in incompatible:
        click.echo(f"warning: {line}", err=True)
    return FAILED_TRIALS if incompatible else 0
