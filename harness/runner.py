"""Plan -> executor -> records -> store. Skips what is done, keeps every result the moment it is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.contract import MetricSpec
from harness.data.arrays import Header, folder_of, is_whole, read_header
from harness.data.folders import remove
from harness.data.parsing import parse_apart
from harness.errors import DataError, UnknownName
from harness.executors.base import Executor, Job
from harness.experiment.resolve import ResolvedDataset
from harness.groups import notices_of
from harness.machine import describe_versions, read_commit
from harness.metric import call_of
from harness.progress import Progress, Silence
from harness.quiet import wait_until_quiet
from harness.record import Circumstances, Record
from harness.recording import Start, as_planned, circumstances_of, record_end
from harness.store import Store
from harness.trials.running import run_trial_job
from harness.trials.trial import Trial, TrialJob

NPY_HEADS_BYTES = 1 << 16
"""More than the heads of a file of arrays take."""
TRIAL_TARGET = f"{run_trial_job.__module__}:{run_trial_job.__name__}"


@dataclass(frozen=True)
class Conditions:
    """Under what conditions trials run: none of them decides a result, all of them decide times."""

    threads: int
    jobs: int
    timeout_seconds: float | None
    memory_bytes: int | None
    machine_id: str
    quiet_seconds: float | None = None
    """How long to wait before a trial until nothing else is at work; None for not at all."""


# -- data ------------------------------------------------------------------------------------------------------------


def prepare_dataset(dataset: ResolvedDataset, executor: Executor, progress: Progress | None = None) -> Header:
    """The header of one data set, parsing it, and before it the one that it is made from, unless it is kept."""
    wrapped = prepare_dataset(dataset.wrapped, executor, progress) if dataset.wrapped else None
    folder = _folder(dataset, wrapped)
    tell = progress or Silence()
    header = read_header(folder)
    if header is not None and is_whole(header):
        return header
    if header is not None:
        tell.say(f"warning: {folder} was changed since {dataset.name} was read: reading it again")
        remove(folder)
    tell.on_data(dataset.name)
    spec = dataset.entry.spec
    made_from = {spec.wraps: wrapped.folder} if wrapped else None
    return parse_apart(dataset.name, spec.load, dataset.ref.params, folder, executor, made_from)


def _folder(dataset: ResolvedDataset, wrapped: Header | None) -> Path:
    """Where a data set is kept, by all that decides its content: of what it is made from, the content itself."""
    params = dict(dataset.params)
    if wrapped:
        params[dataset.entry.spec.wraps] = wrapped.fingerprint
    try:
        return folder_of(dataset.entry, params)
    except DataError:
        raise
    except Exception as error:  # the stamp of a data set is a plugin's code
        raise DataError(f"{type(error).__name__}: {error}", culprit=f"data set {dataset.name!r}") from error


# -- trials ----------------------------------------------------------------------------------------------------------


def pending(
    trials: Iterable[Trial], store: Store, *, retry_failed: bool = False, rerun: Iterable[str] = ()
) -> list[Trial]:
    """The trials that still have to run: those without a record, and those that are to run again."""
    planned = list(trials)
    again = set(rerun)
    _check_known(again, planned)
    todo = []
    for trial in planned:
        record = store.records.get(trial.key)
        if record is None or (retry_failed and record.status != "ok") or again & names_of(trial):
            todo.append(trial)
    return todo


def names_of(trial: Trial) -> set[str]:
    """All that its learner may be called by."""
    return {trial.label, trial.family, trial.learner}


def _check_known(names: set[str], trials: Sequence[Trial]) -> None:
    """A name to run again that no learner has is most likely misspelt, and nothing would run again."""
    known: dict[str, None] = {}
    for trial in trials:
        known |= dict.fromkeys(sorted(names_of(trial)))
    for name in sorted(names - known.keys()):
        raise UnknownName(f"--rerun {name!r} matches no learner of this run; there are: {', '.join(known)}")


def reuse(
    trials: Iterable[Trial], earlier: Mapping[str, Record], store: Store, ranks_of: Callable[[str], bytes | None]
) -> int:
    """Take over finished trials of an earlier folder; gives how many."""
    taken = 0
    for trial in trials:
        record = earlier.get(trial.key)
        if record is not None and record.status == "ok" and trial.key not in store.records:
            store.append(as_planned(record, trial), ranks_of(trial.key))
            taken += 1
    return taken


def run_trials(
    trials: Sequence[Trial],
    metrics: Iterable[MetricSpec],
    conditions: Conditions,
    executor: Executor,
    store: Store,
    progress: Progress,
    noticed: set[str] | None = None,
) -> None:
    """Run the trials; each one's record is in the store before the next one's is.

    What was said of a learner stands in `noticed`, so that it is said once.
    """
    specs = list(metrics)
    calls = tuple(call_of(spec) for spec in specs)
    time_single_rows = any(spec.single for spec in specs)
    find_confidence = any(spec.confidence for spec in specs)
    circumstances = common_circumstances(conditions)
    started: dict[str, Start] = {}
    said = set() if noticed is None else noticed

    def job_of(trial: Trial) -> Job:
        payload = TrialJob(
            trial=trial,
            metrics=calls,
            time_single_rows=time_single_rows,
            find_confidence=find_confidence,
            threads=conditions.threads,
        )
        return Job(
            TRIAL_TARGET,
            payload,
            conditions.timeout_seconds,
            conditions.memory_bytes,
            blob_bytes=most_rank_bytes(trial),
            group=trial.code_group,
        )

    def on_phase(job: Job, phase: str, worker: str = "", /) -> None:
        trial = job.payload.trial
        if trial.key not in started:
            started[trial.key] = Start(datetime.now(UTC).isoformat(timespec="seconds"), os.getloadavg()[0])
        progress.on_phase(trial, phase, worker)

    def jobs() -> Iterator[Job]:
        for trial in trials:
            if conditions.quiet_seconds is not None:
                wait_until_quiet(conditions.quiet_seconds, progress.say)
            yield job_of(trial)

    for job, end in executor.run(jobs(), at_once=conditions.jobs, on_phase=on_phase):
        trial = job.payload.trial
        ended = circumstances_of(trial, end, circumstances, started.pop(trial.key))
        if end.site:
            store.add_machine(end.site.machine)
        record = record_end(trial, end, ended)
        store.append(record, end.blob if record.status == "ok" else None)
        progress.on_record(record)
        for notice in notices_of(record):
            told = f"{record.label} on {record.dataset}: {notice}"
            if told not in said:  # once is enough, the foot of the table counts them
                said.add(told)
                progress.say(f"warning: {told}")


def common_circumstances(conditions: Conditions) -> Circumstances:
    """What is known of the circumstances before a trial begins."""
    return Circumstances(
        threads=conditions.threads,
        jobs=conditions.jobs,
        machine=conditions.machine_id,
        versions=describe_versions(),
        commit=read_commit(),
    )


def most_rank_bytes(trial: Trial) -> int:
    """How much a trial's ranks and what stands behind them can take, for every row that there is.

    A rank and a place of four bytes each, as deep as asked; two scores and a confidence of four bytes.
    """
    header = read_header(Path(trial.data_folder))
    rows = header.rows if header else 0
    return NPY_HEADS_BYTES + 4 * rows * (2 * trial.depth + 3)
