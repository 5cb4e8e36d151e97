"""What of a run is done already: taken from other folders, told of, completed with metrics that it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.api.session import Session
from harness.budget import Budgeted
from harness.errors import HarnessError
from harness.executors.base import Executor
from harness.experiment.resolve import Resolved
from harness.experiment.schema import Experiment
from harness.metric import find_metric
from harness.progress import Progress
from harness.record import Record
from harness.rescore import dataset_opener, fill_in, tell_curves
from harness.runner import prepare_dataset, reuse
from harness.store import Store, read_machines, read_ranks, read_records
from harness.trials.trial import Trial
from harness.wording import counted


@dataclass(frozen=True)
class Work:
    """What a run works on."""

    resolved: Resolved
    trials: tuple[Trial, ...]
    session: Session
    store: Store
    executor: Executor
    progress: Progress
    budgeted: Budgeted | None = None
    """The trials under the experiment's budget, where it has one."""


def take_over(folders: Sequence[Path], trials: Sequence[Trial], store: Store, progress: Progress) -> None:
    """Take finished trials from other folders."""
    for folder in folders:
        if folder.resolve() == store.folder.resolve():
            raise HarnessError(f"--reuse {folder} is the results folder itself: it resumes by itself")
        earlier = {record.key: record for record in read_records(folder)}
        taken = reuse(trials, earlier, store, partial(read_ranks, folder))
        used = {record.machine for record in store.records.values()}
        for machine in read_machines(folder).values():
            if machine.id in used:
                store.add_machine(machine)
        progress.say(f"{counted(taken, 'finished trial')} taken from {folder}")


def tell_done(work: Work, todo: Sequence[Trial]) -> None:
    """Say what is there already, and what of it the new run would have done otherwise."""
    records, experiment = work.store.records, work.resolved.experiment
    waiting = {trial.key for trial in todo}
    done = [records[trial.key] for trial in work.trials if trial.key in records and trial.key not in waiting]
    if not done:
        return
    text = f"{len(done)} of {counted(len(work.trials), 'trial is', 'trials are')} done already in {work.store.folder}"
    failed = sum(record.status != "ok" for record in done)
    if failed:
        text += f", {failed} of them failed (--retry-failed runs those again)"
    work.progress.say(text)
    others = [record for record in done if _timed_otherwise(record, experiment)]
    if others:
        timed = counted(len(others), "of these was", "of these were")
        work.progress.say(f"{timed} timed with other --threads or --jobs; another --out times them again")


def _timed_otherwise(record: Record, experiment: Experiment) -> bool:
    if experiment.on is not None:  # how many share a machine is for the cluster to say
        return record.threads != experiment.threads
    return (record.threads, record.jobs) != (experiment.threads, experiment.jobs)


def complete(work: Work) -> None:
    """Give finished trials the metrics that are asked for and that they lack, as far as their saved ranks allow."""
    records, catalog = work.store.records, work.session.catalog
    asked = [find_metric(name, catalog) for name in work.resolved.experiment.metrics or ()]
    finished = [trial.key for trial in work.trials if _is_finished(records.get(trial.key))]
    lacking = [entry for entry in asked if any(entry.spec.name not in records[key].scores for key in finished)]
    if not lacking:
        return
    prepare = partial(prepare_dataset, executor=work.executor, progress=work.progress)
    outcome = fill_in(work.store, finished, lacking, dataset_opener(catalog, prepare))
    names = [entry.spec.name for entry in lacking]
    if outcome.changed:
        known = {name for key in finished for name in records[key].rescored}
        computed = ", ".join(name for name in names if name in known)
        work.progress.say(f"{computed}: computed for {counted(outcome.changed, 'finished trial')} from saved ranks")
    if outcome.trouble:
        more = len(set(outcome.trouble)) - 1
        like_it = f" (and {counted(more, 'warning')} more like it)" if more else ""
        work.progress.say(f"warning: {outcome.trouble[0]}{like_it}")
    curves = tell_curves([records[key] for key in finished], names)
    if curves:
        work.progress.say(f"warning: {curves}")


def _is_finished(record: Record | None) -> bool:
    return record is not None and record.status == "ok"
