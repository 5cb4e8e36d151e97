"""Values that a learner refuses, found before anything trains: it is asked once a set-up, not once a trial."""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import SpecError
from harness.executors.base import Executor, Job
from harness.trials.refusals import find_refusals
from harness.trials.trial import Trial

REFUSALS_TARGET = f"{find_refusals.__module__}:{find_refusals.__name__}"
MOST_SECONDS = 120.0
"""To import and to make learners; what takes longer, or dies, is left to the trials to report."""


def check_set_ups(trials: Iterable[Trial], executor: Executor) -> None:
    """SpecError with a line for each learner that refuses the values that these trials would give it."""
    refused: dict[str, None] = {}
    asked = _set_ups_by_group(trials)
    jobs = [_job_of(group, set_ups) for group, set_ups in asked.items()]
    for job, end in executor.run(jobs):
        if end.status != "ok":
            continue
        for trial, refusal in zip(asked[job.group], end.answer, strict=True):
            if refusal:
                refused[_tell(trial, refusal)] = None
    if refused:
        raise SpecError("\n".join(refused))


def _set_ups_by_group(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    """One trial of each learner, as set up, on each data set, by whose code they run; the others differ in seeds."""
    first: dict[tuple[str, str], Trial] = {}
    for trial in trials:
        first.setdefault((trial.label, trial.dataset), trial)
    groups: dict[str, list[Trial]] = {}
    for trial in first.values():
        groups.setdefault(trial.code_group, []).append(trial)
    return groups


def _job_of(group: str, set_ups: Iterable[Trial]) -> Job:
    blueprints = tuple(trial.blueprint for trial in set_ups)
    return Job(REFUSALS_TARGET, blueprints, MOST_SECONDS, group=group)


def _tell(trial: Trial, refusal: str) -> str:
    known = "" if ":" in trial.learner else f"; `harness explain {trial.learner}` tells what it takes"
    return f"learner {trial.label!r} refuses {refusal}{known}"
