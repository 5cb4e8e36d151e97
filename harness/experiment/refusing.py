"""Values that a learner refuses, found before anything trains: it is asked once a set-up, not once a trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    asked = {}
    for set_ups in _set_ups_by_code(trials):
        job = _job_of(set_ups)
        asked[id(job)] = job, set_ups
    for job, end in executor.run([job for job, _ in asked.values()]):
        if end.status != "ok":
            continue
        for trial, refusal in zip(asked[id(job)][1], end.answer, strict=True):
            if refusal:
                refused[_tell(trial, refusal)] = None
    if refused:
        raise SpecError("\n".join(refused))


def _set_ups_by_code(trials: Iterable[Trial]) -> list[list[Trial]]:
    """One trial of each learner, as set up, on each data set; the others differ in seeds.

    Those of one plugin are asked together. A `module:Class` is asked alone: importing it may change another's module.
    """
    first: dict[tuple[str, str], Trial] = {}
    for trial in trials:
        first.setdefault((trial.label, trial.dataset), trial)
    together: dict[str, list[Trial]] = {}
    for trial in first.values():
        code = trial.learner if ":" in trial.learner else trial.code_group
        together.setdefault(code, []).append(trial)
    return list(together.values())


def _job_of(set_ups: Sequence[Trial]) -> Job:
    blueprints = tuple(trial.blueprint for trial in set_ups)
    return Job(REFUSALS_TARGET, blueprints, MOST_SECONDS, group=set_ups[0].code_group)


def _tell(trial: Trial, refusal: str) -> str:
    known = "" if ":" in trial.learner else f"; `harness explain {trial.learner}` tells what it takes"
    return f"learner {trial.label!r} refuses its parameters: {refusal}{known}"
