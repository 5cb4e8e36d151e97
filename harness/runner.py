"""Plan -> executor -> records -> store. Skips what is done, keeps every result the moment it is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from harness.contract import MetricSpec
from harness.data.arrays import Header, folder_of, read_header
from harness.data.parsing import parse_apart
from harness.errors import DataError
from harness.executors.local import Job, JobEnd, LocalExecutor
from harness.experiment.plan import Trial, as_payload
from harness.experiment.resolve import Resolved, ResolvedDataset
from harness.host import Entry
from harness.machine import describe_versions, read_commit
from harness.record import Record
from harness.split import parse_split
from harness.store import Store
from harness.trials.trial import run_job

TRIAL_TARGET = f"{run_job.__module__}:{run_job.__name__}"


@dataclass(frozen=True)
class Conditions:
    """Under what conditions trials run: none of them decides a result, all of them decide times."""

    threads: int
    jobs: int
    timeout_seconds: float | None
    memory_bytes: int | None
    machine_id: str


@dataclass(frozen=True)
class Listener:
    """Whom to tell what happens; the command line draws its progress from it."""

    on_data: Callable[[str], None] = lambda name: None
    on_phase: Callable[[Trial, str], None] = lambda trial, phase: None
    on_record: Callable[[Record], None] = lambda record: None


def prepare_data(resolved: Resolved, executor: LocalExecutor, listener: Listener) -> dict[str, Header]:
    """The header of every data set, parsing those that are not kept yet, each in a process of its own."""
    return {d.choice.name: prepare_dataset(d, executor, listener) for d in resolved.datasets}


def prepare_dataset(dataset: ResolvedDataset, executor: LocalExecutor, listener: Listener) -> Header:
    """The header of one data set, parsing it, and before it the one inside, unless it is kept."""
    inside = prepare_dataset(dataset.inner, executor, listener) if dataset.inner else None
    folder = _folder(dataset, inside)
    header = read_header(folder)
    if header is None:
        listener.on_data(dataset.choice.name)
        spec = dataset.entry.spec
        made_from = {spec.wraps: inside.folder} if inside else None
        header = parse_apart(dataset.choice.name, spec.load, dataset.choice.params, folder, executor, made_from)
    return header


def _folder(dataset: ResolvedDataset, inside: Header | None) -> Path:
    content = {dataset.entry.spec.wraps: inside.fingerprint} if inside else {}
    try:
        return folder_of(dataset.entry, {**dataset.params, **content})
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"data set {dataset.choice.name!r}: {type(error).__name__}: {error}") from error


def pending(trials: Iterable[Trial], store: Store, *, retry_failed: bool) -> list[Trial]:
    """The trials that still have to run."""
    done = {r.key for r in store.records.values() if r.status == "ok" or not retry_failed}
    return [trial for trial in trials if trial.key not in done]


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
    trials: Iterable[Trial],
    metrics: Iterable[Entry[MetricSpec]],
    conditions: Conditions,
    executor: LocalExecutor,
    store: Store,
    listener: Listener,
) -> None:
    """Run the trials; each one's record is in the store before the next one's is."""
    wanted = [entry.spec for entry in metrics]
    targets, single = {spec.name: spec.compute for spec in wanted}, any(spec.single for spec in wanted)
    shared: dict[str, Any] = {
        "versions": describe_versions(),
        "commit": read_commit(),
        "machine": conditions.machine_id,
    }
    shared |= {"threads": conditions.threads, "jobs": conditions.jobs}
    by_key = {trial.key: trial for trial in trials}
    started: dict[str, str] = {}

    def job(trial: Trial) -> Job:
        payload = {"trial": as_payload(trial), "metrics": targets, "single": single, "threads": conditions.threads}
        return Job(TRIAL_TARGET, payload, conditions.timeout_seconds, conditions.memory_bytes)

    def on_phase(job: Job, phase: str) -> None:
        key = job.payload["trial"]["key"]
        started.setdefault(key, datetime.now(UTC).isoformat(timespec="seconds"))
        listener.on_phase(by_key[key], phase)

    jobs = (job(trial) for trial in by_key.values())
    for finished, end in executor.run(jobs, at_once=conditions.jobs, on_phase=on_phase):
        trial = by_key[finished.payload["trial"]["key"]]
        record = make_record(trial, end, {**shared, "started": started[trial.key]})
        store.append(record, end.blob if record.status == "ok" else None)
        listener.on_record(record)


def make_record(trial: Trial, end: JobEnd, shared: Mapping[str, Any]) -> Record:
    """Exactly one record for a trial, however it ended."""
    answer = end.answer if end.answer is not None else {"status": end.status, "message": end.message}
    if answer["status"] != "ok":
        answer = {**answer, "output": end.output}
    whole = {**_planned(trial), **answer, **shared, "total_seconds": end.seconds}
    return TypeAdapter(Record).validate_python(whole)


def as_planned(record: Record, trial: Trial) -> Record:
    """A record made before, by the names that its trial goes by now: labels and numbers are no part of the key."""
    return replace(record, **_planned(trial))


def _planned(trial: Trial) -> dict[str, Any]:
    names = (
        *("key", "label", "learner", "learner_kind", "learner_distribution", "learner_version", "dataset"),
        "dataset_source",
        *("fingerprint", "representation", "split", "number", "seed", "depth"),
    )
    # What comes back from a plain JSON line must equal what went in, so values are made plain here.
    params = json.loads(json.dumps({"params": trial.params, "dataset_params": trial.dataset_params}, default=repr))
    family = {"family": trial.label, "dataset_family": trial.dataset, "split": parse_split(trial.split)}
    return {**{name: getattr(trial, name) for name in names}, **params, **family}
