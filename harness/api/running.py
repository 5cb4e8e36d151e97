"""Running an experiment: plan, resume, run, tell what happens. What `harness run` and `harness.run` do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.api.describing import experiment_file, write_experiment
from harness.api.giving_up import Exhausted, Rule, find_exhausted, is_larger_of_its_kind, leave_out
from harness.api.leaking import tell_leaks
from harness.api.placing import trial_executor
from harness.api.readying import ready_for_data, ready_for_trials
from harness.api.request import RawExperiment, Request, read_request
from harness.api.resolving import read_experiment
from harness.api.results import Results, read_results
from harness.api.resuming import Work, complete, take_over, tell_done
from harness.api.session import Session
from harness.api.status import keeping_status
from harness.budget import Budgeted, size_of
from harness.data.arrays import Header
from harness.errors import DataError, SpecError
from harness.executors.base import Executor
from harness.experiment.housing import with_environments
from harness.experiment.keys import key_of
from harness.experiment.pairs import tell_incompatible
from harness.experiment.plan import plan
from harness.experiment.refusing import check_set_ups
from harness.experiment.resolve import Resolved
from harness.experiment.schema import Experiment
from harness.machine import Machine, describe_machine
from harness.progress import Progress
from harness.recording import as_planned
from harness.representing import groups_of, represent_shared
from harness.runner import Conditions, pending, prepare_dataset, run_trials
from harness.store import EXPERIMENT, RECORDS, open_store
from harness.trials.trial import Trial
from harness.wording import counted

MANY = 2
"""Trials at once, where a cluster decides how many: enough for none to wait for another's group."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What decides where results go and what of them is taken from before; nothing of it decides a number."""

    out: Path | None = None
    retry_failed: bool = False
    rerun: tuple[str, ...] = ()
    """Learners, by name or label, whose trials all run again."""
    quiet_seconds: float | None = None
    """How long to wait, before each trial, until nothing else is at work on the machine; None for not at all."""
    reuse: tuple[Path, ...] = ()
    without_absent: bool = False
    """Whether to go on without data that is not at hand."""
    may_build: bool = True
    """Whether to build the environments that learners need and that are not there."""
    client: Any = None
    """A `distributed.Client` whose workers run the trials, in the place of what the experiment names."""
    allow_differences: bool = False
    """Whether workers may have other versions and other code than this machine."""


@dataclass(frozen=True)
class Plan:
    """What would run."""

    experiment: Experiment
    trials: tuple[Trial, ...]
    incompatible: tuple[str, ...]
    """Learners that cannot run on some of the data, a line each."""


@dataclass(frozen=True)
class Ran:
    """What there is after a run."""

    results: Results
    absent: Mapping[str, DataError] = field(default_factory=dict)
    """Data sets that are not at hand, with the error that says why."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C: what was finished is kept, and the same call goes on from there."""

    def __init__(self, folder: Path, kept: int, total: int) -> None:
        super().__init__(folder, kept, total)
        self.folder, self.kept, self.total = folder, kept, total

    def __str__(self) -> str:
        done = counted(self.total, "trial is", "trials are")
        return f"interrupted: {self.kept} of {done} kept in {self.folder}; the same command goes on from there"


def plan_request(request: Request, session: Session, executor: Executor, progress: Progress) -> Plan:
    """What would run; data sets that were never read are read on the way."""
    resolved = read_experiment(read_request(request, session.catalog), session)
    resolved = with_environments(resolved, may_build=False, say=progress.say)
    ready_for_data(executor, resolved, session)
    headers = {dataset.name: prepare_dataset(dataset, executor) for dataset in resolved.datasets}
    trials = plan(resolved, headers)
    ready_for_trials(executor, resolved, session, progress)
    check_set_ups(trials, executor)
    return Plan(resolved.experiment, trials, tell_incompatible(resolved, headers))


def run_request(request: Request, options: RunOptions, session: Session, executor: Executor, progress: Progress) -> Ran:
    """Read what is asked for and run it."""
    return run_raw(read_request(request, session.catalog), options, session, executor, progress)


def run_raw(raw: RawExperiment, options: RunOptions, session: Session, executor: Executor, progress: Progress) -> Ran:
    """Run what is not done yet and keep every result."""
    resolved = read_experiment(raw, session)
    _check_waiting(resolved.experiment, options)
    resolved = with_environments(resolved, may_build=options.may_build, say=progress.say)
    ready_for_data(executor, resolved, session)
    machine = describe_machine()
    try:
        resolved, headers, absent = _read_data(resolved, executor, progress, options.without_absent)
        experiment = resolved.experiment
        ready_for_trials(executor, resolved, session, progress)
        trials, incompatible = plan(resolved, headers), tell_incompatible(resolved, headers)
        for line in (*incompatible, *_crowded(experiment.threads, machine.cores), *tell_leaks(trials)):
            progress.say(f"warning: {line}")
        folder = options.out or Path("results") / default_folder(trials, experiment)
        is_new = not (folder / RECORDS).exists()
        if is_new:
            check_set_ups(trials, executor)  # where a value is refused, no folder is left behind
        with open_store(folder) as store, keeping_status(progress, folder) as kept:
            work = Work(resolved, trials, session, store, executor, kept, _budgeted(trials, headers, experiment))
            todo = _find_todo(work, options)
            if not is_new:
                check_set_ups(todo, executor)
            _describe(work, raw, machine, incompatible)
            _run_in_store(work, todo, machine, options)
            if work.budgeted is not None:
                _describe(work, raw, machine, (*incompatible, *work.budgeted.tell_left_out(store.records)))
            done = [trial for trial in trials if trial.key in store.records]
            records = [as_planned(store.records[trial.key], trial) for trial in done]
    finally:
        progress.end()
    results = read_results([folder], session, records=records, asked=experiment.metrics)
    return Ran(results, absent)


def _check_waiting(experiment: Experiment, options: RunOptions) -> None:
    """SpecError where a run is to wait for a quiet machine and cannot."""
    if options.quiet_seconds is None:
        return
    if options.client is not None or experiment.on is not None:
        raise SpecError(
            "--wait-for-quiet waits for this machine, and --on runs trials on others: leave out one of the two"
        )
    if experiment.jobs > 1:
        raise SpecError("--wait-for-quiet would wait for the other trials of --jobs: leave out one of the two")


def _budgeted(trials: Sequence[Trial], headers: Mapping[str, Header], experiment: Experiment) -> Budgeted | None:
    """The trials under the experiment's budget, where it has one."""
    if experiment.budget is None:
        return None
    sizes = {name: size_of(header) for name, header in headers.items()}
    return Budgeted(trials, sizes, experiment.budget)


def _find_todo(work: Work, options: RunOptions) -> Sequence[Trial]:
    """Take what is done elsewhere; gives the trials that are left to run."""
    take_over(options.reuse, work.trials, work.store, work.progress)
    return pending(work.trials, work.store, retry_failed=options.retry_failed, rerun=options.rerun)


def _describe(work: Work, raw: RawExperiment, machine: Machine, incompatible: Sequence[str]) -> None:
    """Write down what is asked for, where it takes nothing away from what stands there."""
    folder = work.store.folder
    text = write_experiment(raw.table, folder)
    file = experiment_file(folder, text, work.store.records.values(), work.trials)
    work.store.describe(text, machine, incompatible, file=file.name)
    if file.name != EXPERIMENT:
        work.progress.say(f"{folder} holds more than this run: {EXPERIMENT} stays, this one is in {file.name}")


def _run_in_store(work: Work, todo: Sequence[Trial], machine: Machine, options: RunOptions) -> None:
    """Complete what is done, run the rest."""
    trials, store, progress, experiment = work.trials, work.store, work.progress, work.resolved.experiment
    conditions = Conditions(
        experiment.threads,
        experiment.jobs,
        experiment.timeout_seconds,
        experiment.memory_bytes,
        machine.id,
        options.quiet_seconds,
    )
    try:
        tell_done(work, todo)
        complete(work)
        most = "" if work.budgeted is None else "at most "
        to_run = f"{most}{counted(len(todo), 'trial')} to run, results in {store.folder}"
        progress.say(to_run if todo else "nothing left to run")
        progress.begin(len(todo))
        if todo:
            _run_todo(work, todo, conditions, options)
    except KeyboardInterrupt:
        progress.end()
        work.executor.close()
        kept = sum(trial.key in store.records for trial in trials)
        raise RunInterrupted(store.folder, kept, len(trials)) from None


def _run_todo(work: Work, todo: Sequence[Trial], conditions: Conditions, options: RunOptions) -> None:
    metrics = [entry.spec for entry in work.resolved.metrics]
    noticed: set[str] = set()
    place = options.client if options.client is not None else work.resolved.experiment.on
    with trial_executor(work, place, allow_differences=options.allow_differences) as executor:
        at_once = conditions.jobs if place is None else MANY
        rule = _rule_of_giving_up(work)
        groups = groups_of(todo, 1 if rule else at_once)
        if work.budgeted is not None:
            groups = work.budgeted.rounds(work.store.records, todo)
        waiting = {trial.key for trial in todo}  # a record of one of them is what it is run again for
        for group in groups:
            hopeless: dict[str, Exhausted] = {}
            if rule is not None:
                ended = (trial for trial in work.trials if trial.key not in waiting)
                hopeless = find_exhausted(group, ended, work.store.records, rule)
                leave_out(hopeless, conditions, work.store, work.progress)
            worthwhile = [trial for trial in group if trial.key not in hopeless]
            represent_shared(worthwhile, work.executor, work.progress, conditions.jobs)
            run_trials(worthwhile, metrics, conditions, executor, work.store, work.progress, noticed)
            waiting -= {trial.key for trial in group}
    if work.budgeted is not None and work.budgeted.is_spent(work.store.records):
        work.progress.say("the hours of the budget are spent: more of them, in [budget], run what is left")


def _rule_of_giving_up(work: Work) -> Rule | None:
    """By what a learner that ran out of time or memory is not asked again; None where it always is."""
    if work.budgeted is not None:
        return work.budgeted.is_beyond
    return is_larger_of_its_kind if work.resolved.experiment.give_up else None


def _read_data(
    resolved: Resolved, executor: Executor, progress: Progress, without_absent: bool
) -> tuple[Resolved, dict[str, Header], dict[str, DataError]]:
    """The data sets that are at hand, their headers, and what is wrong with the others."""
    headers: dict[str, Header] = {}
    absent: dict[str, DataError] = {}
    kept = []
    for dataset in resolved.datasets:
        try:
            header = prepare_dataset(dataset, executor, progress)
        except DataError as error:
            if not without_absent:
                raise
            absent[dataset.name] = error
            continue
        headers[dataset.name] = header
        kept.append(dataset)
        if dataset.entry.spec.opens:  # nobody has vouched for a file of the user's: say how it was read
            progress.say(f"{dataset.name}: {header.found}")
    return replace(resolved, datasets=tuple(kept)), headers, absent


def _crowded(threads: int, cores: int | None) -> list[str]:
    """A line where learners get more threads than the machine has cores."""
    if cores is None or threads <= cores:
        return []
    return [
        f"--threads {threads} is more than the {counted(cores, 'core')} of this machine: threads wait for each other"
    ]


def default_folder(trials: Sequence[Trial], experiment: Experiment) -> str:
    """The experiment's name; without one, a name by what is compared on what, which the same command finds again."""
    named = (experiment.name or "").strip(".")  # ".." would be another folder
    if named:
        return named
    first = sorted(trial.key for trial in trials if trial.number == 0)
    labels = sorted({trial.family for trial in trials})
    words = "-".join(labels)
    safe = "".join(character if character.isalnum() or character in "-_." else "-" for character in words)
    return f"{safe[:40]}-{key_of({'trials': first})[:6]}"
