"""`harness run`: read the experiment, plan it, run what is not done, show the table."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import NameList, OneName, plugin_options
from harness.errors import HarnessError, SpecError, UnknownName
from harness.host import Catalog, discover

if TYPE_CHECKING:
    from harness.plan import Trial
    from harness.record import Record
    from harness.resolve import Resolved
    from harness.spec import Experiment

FAILED_TRIALS, INTERRUPTED = 1, 130
COMMON = ("harness.trial", "sklearn.base")
"""What every trial imports: the machinery, and what learners are made of."""


@click.command()
@click.argument("experiment", required=False, type=OneName("experiments"))
@click.option("--learners", type=NameList("learners"), help="What to compare: pa,'small=pa(C=0.1)',module:Class(...).")
@click.option("--datasets", type=NameList("datasets"), help="What to compare on.  [default: icd10cm]")
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
@click.option("--representation", help="raw, binary, tf or tfidf.  [default: the data set's own]")
@click.option("--split", help="holdout:SHARE or given[:NAME].  [default: holdout:0.1]")
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
        from harness.resolve import resolve
        from harness.spec import build

        catalog = discover(folders, disabled)
        raw, source = read_raw(experiment, flags, catalog)
        resolved = resolve(build(raw, source), catalog)
        executor.prepare(
            preload=[module for learner in resolved.learners for module in learner.preload],
            threads=resolved.experiment.threads,
            path=[str(folder.resolve()) for folder in folders],
        )
        return _run(resolved, catalog, raw, executor, flags)


def _run(resolved: Resolved, catalog: Catalog, raw: dict[str, Any], executor: Any, flags: dict[str, Any]) -> int:
    from harness.cli.progress import RunProgress
    from harness.cli.table import choose_columns, show_table
    from harness.machine import describe_machine
    from harness.plan import plan
    from harness.runner import Conditions, Listener, as_planned, pending, prepare_data, run_trials
    from harness.store import open_store, read_machines

    experiment = resolved.experiment
    columns = choose_columns(catalog, experiment.metrics)
    machine = describe_machine()
    limits = (experiment.threads, experiment.jobs, experiment.timeout_seconds, experiment.memory_bytes)
    with RunProgress(columns) as progress:
        executor.on_slow = lambda: progress.say("compiling kernels; this happens once, later runs find them ready")
        listener = Listener(progress.on_data, progress.on_phase, progress.on_record)
        trials = plan(resolved, prepare_data(resolved, executor, listener))
        if flags["dry_run"]:
            progress.bar.stop()
            return show_plan(trials, experiment)
        folder = flags["out"] or Path("results") / default_name(trials, experiment)
        with open_store(folder) as store:
            store.describe(to_toml(raw), machine)
            _reuse(flags["reuse"], trials, store, progress.say)
            todo = pending(trials, store, retry_failed=flags["retry_failed"])
            _announce(folder, trials, todo, store.records, experiment, progress.say)
            progress.begin(len(todo))
            try:
                run_trials(todo, resolved.metrics, Conditions(*limits, machine["id"]), executor, store, listener)
            except KeyboardInterrupt:
                progress.bar.stop()
                executor.close()
                kept = sum(trial.key in store.records for trial in trials)
                click.echo(
                    f"interrupted: {kept} of {len(trials)} trials are kept in {folder}; "
                    "the same command goes on from there",
                    err=True,
                )
                return INTERRUPTED
            records = [as_planned(store.records[trial.key], trial) for trial in trials]
        machines = read_machines(folder)
    click.echo()
    show_table(records, choose_columns(catalog, experiment.metrics, records), machines)
    failed = [record for record in records if record.status != "ok"]
    click.echo(f"\nResults are in {folder}; `harness table {folder}` shows them again.", err=True)
    if failed:
        text = f"{len(failed)} of {len(records)} trials failed; tracebacks are in {folder / 'records.jsonl'}"
        click.echo(f"{text}, --retry-failed runs them again.", err=True)
    return FAILED_TRIALS if failed else 0


# -- reading the command line ----------------------------------------------------------------------------------------


def read_raw(name: str | None, flags: dict[str, Any], catalog: Catalog) -> tuple[dict[str, Any], str]:
    """The experiment as one raw table: the file or registered experiment, if any, and the flags laid over it."""
    from harness.spec import read_file

    raw: dict[str, Any] = {}
    source = "command line"
    simple = ("learners", "datasets", "metrics", "trials", "representation", "split", "seed", "jobs", "threads")
    given = {key: flags[key] for key in (*simple, "curves", "timeout", "memory") if flags[key] is not None}
    if name is not None:
        path = _experiment_path(name, catalog)
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


def _experiment_path(name: str, catalog: Catalog) -> Path:
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return path
    try:
        entry = catalog.experiment(name)
    except UnknownName as error:
        raise UnknownName(f"{error}; a file's name ends in .toml") from None
    package, _, file = entry.spec.resource.partition(":")
    try:
        return Path(str(resources.files(package) / file))
    except ImportError as error:
        raise SpecError(f"experiment {name!r} of {entry.origin}: {error}") from error


def to_toml(raw: dict[str, Any]) -> str:
    """The experiment as a file that `harness run` takes."""
    import tomli_w

    text = "# What was asked for: `harness run` takes this file.\n"
    settings: dict[str, dict[str, Any]] = {}
    for target, values in raw.get("set", {}).items():
        for name, value in values.items():
            if _fits_toml(value):
                settings.setdefault(target, {})[name] = value
            else:
                text += f"# It also needs --set {target}.{name}={value!r}\n"
    rest = {key: value for key, value in raw.items() if key != "set"}
    return text + tomli_w.dumps(rest | ({"set": settings} if settings else {}))


def _fits_toml(value: Any) -> bool:
    """Whether a value comes back from TOML as it was: TOML has no none, and makes a list, a grid, of a tuple."""
    import tomllib

    import tomli_w

    try:
        return repr(tomllib.loads(tomli_w.dumps({"value": value}))["value"]) == repr(value)
    except Exception:
        return False


def default_name(trials: Sequence[Trial], experiment: Experiment) -> str:
    """A folder name decided by what is compared on what, so that the same command finds its folder again."""
    from harness.plan import key_of

    first = sorted(trial.key for trial in trials if trial.number == 0)
    words = experiment.name or "-".join(sorted({learner.label for learner in experiment.learners}))
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in words)[:40]
    return f"{safe}-{key_of({'trials': first})[:6]}"


# -- telling ---------------------------------------------------------------------------------------------------------


def show_plan(trials: Sequence[Trial], experiment: Experiment) -> int:
    """Print every trial."""
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
        f"\n{len(trials)} trials, {experiment.jobs} at once, {experiment.threads} thread(s) each; "
        f"time limit {timeout}, memory limit {memory}"
    )
    return 0


def _announce(
    folder: Path,
    trials: Sequence[Trial],
    todo: Sequence[Trial],
    records: dict[str, Record],
    experiment: Experiment,
    say: Any,
) -> None:
    done = [records[t.key] for t in trials if t.key in records and t not in todo]
    if done:
        failed = sum(record.status != "ok" for record in done)
        text = f"{len(done)} of {len(trials)} trials are done already in {folder}"
        say(text + (f", {failed} of them failed (--retry-failed runs those again)" if failed else ""))
        others = [record for record in done if (record.threads, record.jobs) != (experiment.threads, experiment.jobs)]
        if others:
            say(f"{len(others)} of these were timed with other --threads or --jobs; another --out times them again")
    say(f"{len(todo)} trials to run, results in {folder}" if todo else "nothing left to run")


def _reuse(folders: Sequence[Path], trials: Sequence[Trial], store: Any, say: Any) -> None:
    from harness.runner import reuse
    from harness.store import read_ranks, read_records

    for folder in folders:
        if folder.resolve() == store.folder.resolve():
            raise HarnessError(f"--reuse {folder} is the results folder itself: it resumes by itself")
        earlier = {record.key: record for record in read_records(folder)}
        taken = reuse(trials, earlier, store, partial(read_ranks, folder))
        say(f"{taken} finished trials taken from {folder}")
