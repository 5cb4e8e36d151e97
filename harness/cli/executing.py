"""Running an experiment, as `harness run` and `harness reproduce` do: plan, resume, run, tell what happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.errors import DataError, HarnessError, SpecError, UnknownName
from harness.host import Catalog
from harness.wording import counted

if TYPE_CHECKING:
    from harness.experiment.plan import Trial
    from harness.experiment.resolve import Resolved
    from harness.experiment.spec import Experiment
    from harness.record import Record

FAILED_TRIALS, INTERRUPTED = 1, 130
COMMON = ("harness.trials.trial", "sklearn.base")
"""What every trial imports: the machinery, and what learners are made of."""


@dataclass(frozen=True)
class Ran:
    """What there is after a run."""

    folder: Path
    records: list[Record]
    machines: dict[str, Any]
    absent: dict[str, str] = field(default_factory=dict)
    """Data sets that are not at hand, with the reason."""
    incompatible: tuple[str, ...] = ()
    """Learners that cannot run on some of the data, a line each."""


def plan_trials(resolved: Resolved, executor: Any) -> tuple[Sequence[Trial], tuple[str, ...]]:
    """The trials of an experiment, its data read on the way, and what cannot run."""
    from harness.experiment.pairs import tell_incompatible
    from harness.experiment.plan import plan
    from harness.runner import Listener, prepare_data

    headers = prepare_data(resolved, executor, Listener())
    return plan(resolved, headers), tell_incompatible(resolved, headers)


def execute(
    resolved: Resolved,
    catalog: Catalog,
    raw: dict[str, Any],
    executor: Any,
    flags: dict[str, Any],
    *,
    without_absent: bool = False,
) -> Ran:
    """Run what is not done yet and keep every result; `without_absent` goes on without data that is not at hand."""
    from harness.cli.progress import RunProgress
    from harness.cli.table import choose_columns
    from harness.experiment.pairs import tell_incompatible
    from harness.experiment.plan import plan
    from harness.machine import describe_machine
    from harness.runner import Conditions, Listener, as_planned, pending, prepare_dataset, run_trials
    from harness.store import open_store, read_machines

    experiment = resolved.experiment
    machine = describe_machine()
    limits = (experiment.threads, experiment.jobs, experiment.timeout_seconds, experiment.memory_bytes)
    with RunProgress(choose_columns(catalog, experiment.metrics)) as progress:
        executor.on_slow = lambda: progress.say("compiling kernels; this happens once, later runs find them ready")
        listener = Listener(progress.on_data, progress.on_phase, progress.on_record)
        resolved, headers, absent = _read_data(resolved, executor, listener, progress.say, without_absent)
        trials, incompatible = plan(resolved, headers), tell_incompatible(resolved, headers)
        for line in (*incompatible, *_crowded(experiment.threads, machine.cores or experiment.threads)):
            progress.say(f"warning: {line}")
        folder = flags["out"] or Path("results") / default_name(trials, experiment)
        with open_store(folder) as store:
            store.describe(to_toml(raw), machine, incompatible)
            _reuse(flags["reuse"], trials, store, progress.say)
            todo = pending(trials, store, retry_failed=flags["retry_failed"])
            prepare = partial(prepare_dataset, executor=executor, listener=listener)
            try:
                _tell_done(folder, trials, todo, store.records, experiment, progress.say)
                _fill_in(trials, experiment, catalog, store, prepare, progress.say)
                to_run = f"{counted(len(todo), 'trial')} to run, results in {folder}"
                progress.say(to_run if todo else "nothing left to run")
                progress.begin(len(todo))
                run_trials(todo, resolved.metrics, Conditions(*limits, machine.id), executor, store, listener)
            except KeyboardInterrupt:
                progress.bar.stop()
                executor.close()
                kept = sum(trial.key in store.records for trial in trials)
                click.echo(
                    f"interrupted: {kept} of {counted(len(trials), 'trial is', 'trials are')} kept in {folder}; "
                    "the same command goes on from there",
                    err=True,
                )
                raise click.exceptions.Exit(INTERRUPTED) from None
            records = [as_planned(store.records[trial.key], trial) for trial in trials]
        return Ran(folder, records, read_machines(folder), absent, incompatible)


def _read_data(
    resolved: Resolved, executor: Any, listener: Any, say: Any, without_absent: bool
) -> tuple[Resolved, dict[str, Any], dict[str, str]]:
    """The data sets that are at hand, their headers, and what is wrong with the others."""
    from dataclasses import replace

    from harness.runner import prepare_dataset

    headers: dict[str, Any] = {}
    absent: dict[str, str] = {}
    for dataset in resolved.datasets:
        name = dataset.choice.name
        try:
            headers[name] = prepare_dataset(dataset, executor, listener)
        except DataError as error:
            if not without_absent:
                raise
            absent[name] = str(error)
        else:
            if dataset.entry.spec.opens:  # nobody has vouched for a file of the user's: say how it was read
                say(f"{name}: {headers[name].found}")
    kept = tuple(dataset for dataset in resolved.datasets if dataset.choice.name in headers)
    return replace(resolved, datasets=kept), headers, absent


def _crowded(threads: int, cores: int) -> list[str]:
    """A line where learners get more threads than the machine has cores."""
    if threads <= cores:
        return []
    return [
        f"--threads {threads} is more than the {counted(cores, 'core')} of this machine: threads wait for each other"
    ]


def end_code(ran: Ran) -> int:
    """Say what failed, and give the exit code."""
    failed = [record for record in ran.records if record.status != "ok"]
    if failed:
        where = (
            f"; tracebacks are in {ran.folder / 'records.jsonl'}" if any(record.traceback for record in failed) else ""
        )
        click.echo(
            f"{len(failed)} of {counted(len(ran.records), 'trial')} failed{where}; --retry-failed runs them again.",
            err=True,
        )
    return FAILED_TRIALS if failed or ran.incompatible else 0


def experiment_path(name: str, catalog: Catalog) -> Path:
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
    from harness.experiment.plan import key_of

    first = sorted(trial.key for trial in trials if trial.number == 0)
    words = experiment.name or "-".join(sorted({learner.label for learner in experiment.learners}))
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in words)[:40]
    return f"{safe}-{key_of({'trials': first})[:6]}"


def _tell_done(
    folder: Path,
    trials: Sequence[Trial],
    todo: Sequence[Trial],
    records: dict[str, Record],
    experiment: Experiment,
    say: Any,
) -> None:
    """Say what is there already, and what of it the new run would have done otherwise."""
    done = [records[t.key] for t in trials if t.key in records and t not in todo]
    if done:
        failed = sum(record.status != "ok" for record in done)
        text = f"{len(done)} of {counted(len(trials), 'trial is', 'trials are')} done already in {folder}"
        say(text + (f", {failed} of them failed (--retry-failed runs those again)" if failed else ""))
        others = [record for record in done if (record.threads, record.jobs) != (experiment.threads, experiment.jobs)]
        if others:
            timed = counted(len(others), "of these was", "of these were")
            say(f"{timed} timed with other --threads or --jobs; another --out times them again")


def _reuse(folders: Sequence[Path], trials: Sequence[Trial], store: Any, say: Any) -> None:
    from harness.runner import reuse
    from harness.store import read_ranks, read_records

    for folder in folders:
        if folder.resolve() == store.folder.resolve():
            raise HarnessError(f"--reuse {folder} is the results folder itself: it resumes by itself")
        earlier = {record.key: record for record in read_records(folder)}
        taken = reuse(trials, earlier, store, partial(read_ranks, folder))
        say(f"{counted(taken, 'finished trial')} taken from {folder}")


def _fill_in(
    trials: Sequence[Trial], experiment: Experiment, catalog: Catalog, store: Any, prepare: Any, say: Any
) -> None:
    """Give finished trials the metrics that are asked for and that they lack, as far as their saved ranks allow."""
    from harness.metric import find_metric

    asked = [find_metric(name, catalog) for name in experiment.metrics or ()]
    done = [key for t in trials if (key := t.key) in store.records and store.records[key].status == "ok"]
    lacking = [e for e in asked if any(e.spec.name not in store.records[key].scores for key in done)]
    if not lacking:
        return
    from harness.rescore import dataset_opener, fill_in, tell_curves

    outcome = fill_in(store, done, lacking, dataset_opener(catalog, prepare))
    if outcome.changed:
        known = {name for key in done for name in store.records[key].rescored}
        names = ", ".join(entry.spec.name for entry in lacking if entry.spec.name in known)
        say(f"{names}: computed for {counted(outcome.changed, 'finished trial')} from saved ranks")
    if outcome.trouble:
        more = len(set(outcome.trouble)) - 1
        say(f"warning: {outcome.trouble[0]}" + (f" (and {counted(more, 'warning')} more like it)" if more else ""))
    curves = tell_curves([store.records[key] for key in done], [entry.spec.name for entry in lacking])
    if curves:
        say(f"warning: {curves}")
