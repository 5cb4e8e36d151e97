"""Plan -> executor -> records -> store. Skips what is done, keeps every result the moment it is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.contract import MetricSpec
from harness.data.arrays import Header, folder_of, read_header
from harness.data.parsing import parse_apart
from harness.errors import DataError
from harness.executors.base import Executor, Job, JobEnd
from harness.experiment.resolve import ResolvedDataset
from harness.machine import describe_versions, read_commit
from harness.metric import call_of
from harness.params import Params
from harness.progress import Progress, Silence
from harness.record import Circumstances, Measured, Record, TrialNames, field_names, make_record
from harness.record_lines import measured_from_plain
from harness.store import Store
from harness.trials.running import run_trial_job
from harness.trials.trial import Trial, TrialJob

TRIAL_TARGET = f"{run_trial_job.__module__}:{run_trial_job.__name__}"


@dataclass(frozen=True)
class Conditions:
    """Under what conditions trials run: none of them decides a result, all of them decide times."""

    threads: int
    jobs: int
    timeout_seconds: float | None
    memory_bytes: int | None
    machine_id: str


# -- data ------------------------------------------------------------------------------------------------------------


def prepare_dataset(dataset: ResolvedDataset, executor: Executor, progress: Progress | None = None) -> Header:
    """The header of one data set, parsing it, and before it the one that it is made from, unless it is kept."""
    wrapped = prepare_dataset(dataset.wrapped, executor, progress) if dataset.wrapped else None
    folder = _folder(dataset, wrapped)
    header = read_header(folder)
    if header is not None:
        return header
    (progress or Silence()).on_data(dataset.name)
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


def pending(trials: Iterable[Trial], store: Store, *, retry_failed: bool) -> list[Trial]:
    """The trials that still have to run."""
    todo = []
    for trial in trials:
        record = store.records.get(trial.key)
        if record is None or (retry_failed and record.status != "ok"):
            todo.append(trial)
    return todo


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
) -> None:
    """Run the trials; each one's record is in the store before the next one's is."""
    specs = list(metrics)
    calls = tuple(call_of(spec) for spec in specs)
    time_single_rows = any(spec.single for spec in specs)
    circumstances = Circumstances(
        threads=conditions.threads,
        jobs=conditions.jobs,
        machine=conditions.machine_id,
        versions=describe_versions(),
        commit=read_commit(),
    )
    started: dict[str, str] = {}

    def job_of(trial: Trial) -> Job:
        payload = TrialJob(trial=trial, metrics=calls, time_single_rows=time_single_rows, threads=conditions.threads)
        return Job(TRIAL_TARGET, payload, conditions.timeout_seconds, conditions.memory_bytes)

    def on_phase(job: Job, phase: str) -> None:
        trial = job.payload.trial
        started.setdefault(trial.key, datetime.now(UTC).isoformat(timespec="seconds"))
        progress.on_phase(trial, phase)

    for job, end in executor.run(map(job_of, trials), at_once=conditions.jobs, on_phase=on_phase):
        trial = job.payload.trial
        ended = replace(circumstances, started=started[trial.key], total_seconds=end.seconds)
        record = record_end(trial, end, ended)
        store.append(record, end.blob if record.status == "ok" else None)
        progress.on_record(record)


def record_end(trial: Trial, end: JobEnd, circumstances: Circumstances) -> Record:
    """Exactly one record for a trial, however it ended."""
    measured = _measured(end)
    if measured.status != "ok":
        measured = replace(measured, output=end.output)
    return make_record(_plain_names(trial), measured, circumstances)


def _measured(end: JobEnd) -> Measured:
    if end.status != "ok":
        return Measured(status=end.status, message=end.message)
    try:
        return measured_from_plain(end.answer)
    except ValueError as error:  # whatever ran in that process may have written on its line
        return Measured(status="crash", message=f"what the trial answered cannot be used: {error}")


def as_planned(record: Record, trial: Trial) -> Record:
    """A record made before, by the names that its trial goes by now: labels and numbers are no part of the key."""
    return replace(record, **vars(_plain_names(trial)))


def _plain_names(trial: Trial) -> TrialNames:
    """A trial's names as a record keeps them: what comes back from a JSON line must equal what went in."""
    names = {name: getattr(trial, name) for name in field_names(TrialNames)}
    names["params"] = _as_json_has_it(trial.params)
    names["dataset_params"] = _as_json_has_it(trial.dataset_params)
    return TrialNames(**names)


def _as_json_has_it(params: Params) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(dict(params), default=repr))
    return plain
