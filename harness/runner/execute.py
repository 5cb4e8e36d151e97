"""Run trials with an executor, and store exactly one record of each as soon as it ends.

Trials that already have a record are skipped. Finished trials can also be copied from other results folders.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from harness.data.arrays import read_header
from harness.data.split import open_labelled
from harness.errors import HarnessError, UnknownName
from harness.executors.base import Executor, Job, JobEnd
from harness.experiment.plan import Plan
from harness.experiment.resolve import Progress, Resolved, prepare_dataset
from harness.experiment.schema import Experiment
from harness.host.catalog import find_metric
from harness.records.record import (
    Circumstances,
    Measured,
    Record,
    TrialNames,
    checksum_of_ranks,
    field_names,
    make_record,
)
from harness.records.store import Store, read_machines, read_ranks, read_records, read_same_code
from harness.report.lines import notices_of
from harness.syntax.expression import Params
from harness.system.machine import describe_versions, read_commit, wait_until_idle
from harness.text import as_note, as_warning, counted
from harness.trials.run import run_trial_job
from harness.trials.score import ScoredTrial, Scorer, result_from_plain, score_trial
from harness.trials.trial import Trial, TrialJob

CLOCK_SLACK, START_SLACK, CPU_SLACK = 0.05, 5.0, 1.0
"""Tolerances in seconds: between two clocks, and for a process to start, send its ranks and end: wall and CPU time."""


EXPOSED = (
    "this system does not let harness hide the data home from learners, where they could read test labels. "
    "A machine with Linux user namespaces hides it (SECURITY.md)."
)
"""The note on trials whose process could open the folders with labels."""


@dataclass(frozen=True)
class Start:
    """The time at which a trial started, and the load of the machine then."""

    time: str
    load: float


def circumstances_of(trial: Trial, end: JobEnd, common: Circumstances, start: Start) -> Circumstances:
    """Return the circumstances of a trial: those of this machine, or of the worker that ran it.

    Parameters
    ----------
    trial : Trial
    end : JobEnd
        The end of its job; `site` describes the worker.
    common : Circumstances
        The circumstances that all trials of the run share.
    start : Start
        The start as seen by this machine.
    """
    timed = replace(common, total_seconds=end.seconds, total_cpu_seconds=end.cpu_seconds, processes=end.processes)
    site = end.site
    if site is None:
        return replace(timed, versions={**common.versions, **trial.packages}, started=start.time, load=start.load)
    return replace(
        timed,
        versions=dict(site.versions),
        machine=site.machine.id,
        jobs=site.at_once,
        started=site.started or start.time,
        load=site.load,
    )


def record_end(trial: Trial, end: JobEnd, circumstances: Circumstances, scorer: Scorer) -> tuple[Record, bytes | None]:
    """Score a trial and return its record and the bytes of its ranking.

    A failed trial has a record too, with the error and the output of its process, and no ranking.
    """
    scored = _score(trial, end, scorer)
    measured = _checked_clock(scored.measured, end)
    if measured.status != "ok":
        measured = replace(measured, output=end.output)
    record = make_record(plain_names(trial), measured, circumstances)
    if measured.status != "ok" or scored.ranks is None:
        return record, None
    return replace(record, ranks_crc32=checksum_of_ranks(scored.ranks)), scored.ranks


def _checked_clock(measured: Measured, end: JobEnd) -> Measured:
    """Return the measurement, or an error if the clocks of the trial and its supervisor disagree.

    A learner could otherwise improve its times by changing the clock of its process, or by working in a process that
    is not a descendant of it.
    """
    if measured.status != "ok":
        return measured
    wall = _Clocks(clocked_seconds(measured), measured.clock_seconds or 0.0, end.seconds)
    if not wall.agree(START_SLACK):
        return Measured(status="error", message=wall.describe("time"))
    if end.cpu_seconds is None:
        return measured
    cpu = _Clocks(measured.fit_cpu_seconds or 0.0, measured.clock_cpu_seconds or 0.0, end.cpu_seconds)
    if not cpu.agree(CPU_SLACK):
        return Measured(status="error", message=cpu.describe("CPU time"))
    return measured


@dataclass(frozen=True)
class _Clocks:
    """Seconds that a trial took: those of its parts and of all of it by its own clock, and by the supervisor's."""

    parts: float
    own: float
    supervisor: float

    def agree(self, slack: float) -> bool:
        """Return whether the three fit together; the supervisor's clock may have a quarter and `slack` more."""
        is_below = self.parts <= self.own + CLOCK_SLACK and self.own <= self.supervisor + CLOCK_SLACK
        return is_below and self.supervisor <= 1.25 * self.own + slack

    def describe(self, unit: str) -> str:
        """Return the message for clocks that disagree."""
        return (
            f"its clock cannot be trusted: by the {unit} of its process, the parts of the trial took "
            f"{self.parts:.3g} s and all of it {self.own:.3g} s; its supervisor measured {self.supervisor:.3g} s"
        )


def clocked_seconds(measured: Measured) -> float:
    """Return the sum of the times of a trial's parts.

    Prediction and ranking are left out: their times are estimates for all test rows from half of them, so they may
    exceed the time that was spent.
    """
    parts = (
        measured.load_seconds,
        measured.tune_seconds,
        measured.import_seconds,
        measured.warmup_seconds,
        measured.stage_seconds,
        measured.fit_seconds,
    )
    return sum(part for part in parts if part is not None)


def _score(trial: Trial, end: JobEnd, scorer: Scorer) -> ScoredTrial:
    """Compute the metrics of a trial with the labels of its test rows, which its process does not have."""
    if end.status != "ok":
        return ScoredTrial(Measured(status=end.status, message=end.message))
    try:
        result = result_from_plain(end.answer)
        if result.measured.status != "ok":
            return ScoredTrial(result.measured)
        drawn = open_labelled(trial.data_folder, trial.split, trial.seed)
        return score_trial(result, end.blob, drawn, trial.depth, scorer)
    except ValueError as error:  # the learner's code may have changed the answer
        return ScoredTrial(Measured(status="crash", message=f"what the trial returned cannot be used: {error}"))
    except OSError as error:  # the dataset was removed in the meantime
        return ScoredTrial(Measured(status="error", message=f"it could not be scored: {error}"))


def as_planned(record: Record, trial: Trial) -> Record:
    """Return an earlier record with the present names of its trial, such as the label, which the key does not cover.

    Key and code digest are kept: they identify the code that made the record, and its stored ranks.
    """
    return replace(record, **vars(plain_names(trial)) | {"key": record.key, "code": record.code})


def plain_names(trial: Trial) -> TrialNames:
    """Return the names of a trial with values that stay the same when written as JSON and read again."""
    names = {name: getattr(trial, name) for name in field_names(TrialNames)}
    names["params"] = _as_json_has_it(trial.params)
    names["dataset_params"] = _as_json_has_it(trial.dataset_params)
    return TrialNames(**names)


def _as_json_has_it(params: Params) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(dict(params), default=repr))
    return plain


NPY_HEADS_BYTES = 1 << 16
"""An upper bound for the bytes of all array headers in a ranking."""
MOST_POINTS = 1000
"""Maximum number of points in a learning curve."""
TRIAL_TARGET = f"{run_trial_job.__module__}:{run_trial_job.__name__}"


# -- trials ----------------------------------------------------------------------------------------------------------


def pending(
    trials: Iterable[Trial], store: Store, *, retry_failed: bool = False, rerun: Iterable[str] = ()
) -> list[Trial]:
    """Return the trials to run.

    Parameters
    ----------
    trials : iterable of Trial
        The planned trials.
    store : Store
        Has the records of earlier runs.
    retry_failed : bool
        True to include trials whose record has an error.
    rerun : iterable of str
        Labels, families or names of learners whose trials are included even if they have a record.

    Raises
    ------
    UnknownName
        If a name in `rerun` matches no learner.
    """
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
    """Return the names that `--rerun` accepts for the learner of a trial."""
    return {trial.label, trial.family, trial.learner}


def _check_known(names: set[str], trials: Sequence[Trial]) -> None:
    """Raise UnknownName for a name that no learner has: it is most likely misspelt."""
    known: dict[str, None] = {}
    for trial in trials:
        known |= dict.fromkeys(sorted(names_of(trial)))
    for name in sorted(names - known.keys()):
        raise UnknownName(f"--rerun {name!r} matches no learner of this run; there are: {', '.join(known)}")


def reuse(
    trials: Iterable[Trial], earlier: Mapping[str, Record], store: Store, ranks_of: Callable[[str], bytes | None]
) -> int:
    """Copy finished trials into the store, and return their number.

    Parameters
    ----------
    trials : iterable of Trial
        The planned trials.
    earlier : mapping
        Records of another results folder by key.
    store : Store
        Gets the records that it lacks.
    ranks_of : callable
        Returns the ranks of a trial by key, or None.
    """
    taken = 0
    for trial in trials:
        record = earlier.get(trial.key)
        if record is not None and record.status == "ok" and trial.key not in store.records:
            store.append(as_planned(record, trial), ranks_of(trial.key))
            taken += 1
    return taken


def run_trials(
    trials: Sequence[Trial],
    scorer: Scorer,
    experiment: Experiment,
    circumstances: Circumstances,
    executor: Executor,
    store: Store,
    progress: Progress,
    *,
    wait_for_idle: float | None = None,
    noticed: set[str] | None = None,
) -> None:
    """Run trials, and store the record of each as soon as it ends.

    Parameters
    ----------
    trials : sequence of Trial
        Run in this order, `experiment.jobs` at the same time.
    scorer : Scorer
        Computes the metrics.
    experiment : Experiment
        Has the limits and the number of threads.
    circumstances : Circumstances
        Those that all trials share.
    executor, store, progress : Executor, Store and Progress
        Run trials, store records, and show both.
    wait_for_idle : float, optional
        Wait up to this many seconds before each trial until the machine is idle.
    noticed : set of str, optional
        Warnings that were shown before. Each warning is shown once and then added.
    """
    waiting = _wait_before_each(trials, wait_for_idle, progress)
    jobs = (make_job(trial, scorer, experiment) for trial in waiting)
    starts = _Starts(progress)
    shown = set() if noticed is None else noticed
    for job, end in executor.run(jobs, at_once=experiment.jobs, on_phase=starts.on_phase):
        trial = job.payload.trial
        ended = circumstances_of(trial, end, circumstances, starts.take(trial))
        if end.site:
            store.add_machine(end.site.machine)
        record, ranks = record_end(trial, end, ended, scorer)
        store.append(record, ranks)
        progress.on_record(record)
        _show_notices(record, end, shown, progress)


def _wait_before_each(trials: Iterable[Trial], seconds: float | None, progress: Progress) -> Iterator[Trial]:
    """Yield the trials, each after waiting up to `seconds` for an idle machine; None to not wait."""
    for trial in trials:
        if seconds is not None:
            wait_until_idle(seconds, progress.say)
        yield trial


def make_job(trial: Trial, scorer: Scorer, experiment: Experiment) -> Job:
    """Return the job of a trial, with what the metrics need and the limits of the experiment."""
    specs = [entry.spec for entry in scorer.metrics]
    payload = TrialJob(
        trial=trial,
        time_single_rows=any(spec.single for spec in specs),
        find_confidence=any(spec.confidence for spec in specs),
        threads=experiment.threads,
    )
    return Job(
        TRIAL_TARGET,
        payload,
        experiment.timeout,
        experiment.memory,
        blob_bytes=most_rank_bytes(trial),
        group=trial.code_group,
        inputs=payload.inputs,
        affinity=payload.affinity,
        tuning_seconds=trial.tuning_plan.most_seconds(experiment.timeout) if trial.tuning_plan else 0.0,
    )


class _Starts:
    """Shows the phases of trials, and remembers when each trial entered its first phase."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._started: dict[str, Start] = {}

    def on_phase(self, job: Job, phase: str, worker: str = "", /) -> None:
        trial = job.payload.trial
        if trial.key not in self._started:
            self._started[trial.key] = Start(datetime.now(UTC).isoformat(timespec="seconds"), os.getloadavg()[0])
        self._progress.on_phase(trial, phase, worker)

    def take(self, trial: Trial) -> Start:
        """Return the start of a trial that has ended, and forget it."""
        return self._started.pop(trial.key)


def _show_notices(record: Record, end: JobEnd, shown: set[str], progress: Progress) -> None:
    """Show the warnings and notes on a trial that were not shown before; the table counts the warnings."""
    for notice in _notices_on(record, end):
        if notice not in shown:
            shown.add(notice)
            progress.say(notice)


def _notices_on(record: Record, end: JobEnd) -> list[str]:
    """Return warnings and notes on a trial that has ended."""
    notices = [as_warning(f"{record.label} on {record.dataset}: {notice}") for notice in notices_of(record)]
    if record.status == "ok" and record.message:
        notices.append(as_warning(record.message))
    if end.is_exposed:
        notices.append(as_note(EXPOSED))
    return notices


def common_circumstances(experiment: Experiment, machine_id: str) -> Circumstances:
    """Return the circumstances that all trials of a run share."""
    return Circumstances(
        threads=experiment.threads,
        jobs=experiment.jobs,
        machine=machine_id,
        versions=describe_versions(),
        commit=read_commit(),
    )


def most_rank_bytes(trial: Trial) -> int:
    """Return an upper bound for the bytes of a trial's rankings, as if every row were a test row.

    Each row has `depth` ranks and places, two scores and a confidence, with four bytes each.
    """
    header = read_header(Path(trial.data_folder))
    rows = header.rows if header else 0
    rankings = 1 + MOST_POINTS if trial.curves else 1
    return rankings * (NPY_HEADS_BYTES + 4 * rows * (2 * trial.depth + 3))


# -- trials that already have a record -------------------------------------------------------------------------------


def take_over(folders: Sequence[Path], trials: Sequence[Trial], store: Store, progress: Progress) -> None:
    """Copy finished trials, and the machines that they ran on, from other results folders.

    Raises
    ------
    HarnessError
        If one of the folders is the store itself.
    """
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


def adopt_same_code(trials: Sequence[Trial], store: Store) -> None:
    """Use records of earlier code for trials of the present code, if the folder states that the results are the same.

    The statements are described at `harness.records.store.SameCode`. The file of records does not change.
    """
    same = {(one.learner, one.representation, one.recorded): one.present for one in read_same_code(store.folder)}
    if not same:
        return
    adopted = {}
    for record in store.records.values():
        present = same.get((record.learner, record.representation, record.code))
        if present is not None and record.status == "ok":
            adopted[present, decisive_names(record)] = record
    for trial in trials:
        earlier = adopted.get((trial.code, decisive_names(trial)))
        if trial.key not in store.records and earlier is not None and has_same_plan(earlier, trial):
            store.records[trial.key] = earlier


DECISIVE = (
    "learner",
    "learner_distribution",
    "learner_version",
    "packages",
    "params",
    "fingerprint",
    "representation",
    "split",
    "seed",
    "depth",
    "to_tune",
)
"""The names of a trial that its key covers, without the code."""


def decisive_names(names: Trial | Record) -> str:
    """Return the names of a trial or record that decide its result, as one text that can be compared."""
    plain = names if isinstance(names, Record) else plain_names(names)
    return json.dumps([getattr(plain, name) for name in DECISIVE], default=str, sort_keys=True)


def has_same_plan(record: Record, trial: Trial) -> bool:
    """Return whether a record was made with the curves and the tuning candidates that a trial requires."""
    planned = trial.tuning_plan.candidates if trial.tuning_plan else ()
    tried = [_as_json_has_it(candidate.params) for candidate in record.tuning]
    has_same_tuning = tried == [_as_json_has_it(params) for params in planned[: len(tried)]]
    return has_same_tuning and bool(record.curve) == trial.curves and bool(record.tuning) == bool(planned)


def report_done(planned: Plan, todo: Sequence[Trial], store: Store, progress: Progress) -> None:
    """Show how many trials already have a record, and how many of these had other threads or jobs."""
    records = store.records
    waiting = {trial.key for trial in todo}
    done = [records[trial.key] for trial in planned.trials if trial.key in records and trial.key not in waiting]
    if not done:
        return
    text = f"{len(done)} of {counted(len(planned.trials), 'trial is', 'trials are')} done already in {store.folder}"
    failed = sum(record.status != "ok" for record in done)
    if failed:
        text += f", {failed} of them failed (--retry-failed runs those again)"
    progress.say(text)
    others = [record for record in done if _timed_otherwise(record, planned.experiment)]
    if others:
        timed = counted(len(others), "of these was", "of these were")
        progress.say(f"{timed} timed with other --threads or --jobs; another --out times them again")


def _timed_otherwise(record: Record, experiment: Experiment) -> bool:
    if experiment.on is not None:  # the cluster decides how many trials run at once
        return record.threads != experiment.threads
    return (record.threads, record.jobs) != (experiment.threads, experiment.jobs)


def complete_metrics(
    resolved: Resolved, trials: Sequence[Trial], store: Store, executor: Executor, progress: Progress
) -> None:
    """Compute metrics that finished trials lack from their stored ranks, and warn of those that cannot be computed."""
    records, catalog = store.records, resolved.catalog
    requested = [find_metric(name, catalog) for name in resolved.experiment.metrics or ()]
    finished = [trial.key for trial in trials if _is_finished(records.get(trial.key))]
    lacking = [entry for entry in requested if any(entry.spec.name not in records[key].scores for key in finished)]
    if not lacking:
        return
    from harness.results.saved_ranks import SavedRanks, describe_missing_curves, fill_in  # noqa: PLC0415 (rarely needed)

    prepare = partial(prepare_dataset, executor=executor, progress=progress)
    outcome = fill_in(store, finished, lacking, SavedRanks({}, catalog, prepare).data, executor)
    names = [entry.spec.name for entry in lacking]
    if outcome.changed:
        known = {name for key in finished for name in records[key].rescored}
        computed = ", ".join(name for name in names if name in known)
        progress.say(f"{computed}: computed for {counted(outcome.changed, 'finished trial')} from saved ranks")
    if outcome.trouble:
        more = len(set(outcome.trouble)) - 1
        like_it = f" (and {counted(more, 'warning')} more like it)" if more else ""
        progress.say(as_warning(f"{outcome.trouble[0]}{like_it}"))
    curves = describe_missing_curves([records[key] for key in finished], names)
    if curves:
        progress.say(as_warning(curves))


def _is_finished(record: Record | None) -> bool:
    return record is not None and record.status == "ok"
