"""Represent once, train many: what several learners see of the same rows is computed before their trials, and kept.

It is computed in a process of its own, not in the first learner's trial: nothing reaches from one trial to another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from harness.data.arrays import read_header
from harness.data.represented import is_large, make_room
from harness.executors.base import Executor, Job
from harness.progress import Progress
from harness.trials.represent import REPRESENT_TARGET, RepresentJob
from harness.trials.trial import Trial


def groups_of(trials: Sequence[Trial], at_once: int) -> Iterator[list[Trial]]:
    """Trials that follow each other on the same rows; where several run at once, all, so that none waits for a group.

    What one group sees is kept before it begins, so that the disk never has to hold what all of them see.
    """
    if at_once > 1:
        yield list(trials)
        return
    for _, group in groupby(trials, key=lambda trial: (trial.dataset, trial.number)):
        yield list(group)


def represent_shared(trials: Sequence[Trial], executor: Executor, progress: Progress, at_once: int = 1) -> None:
    """Compute and keep what at least two of these trials see, or what is large, unless it is kept already."""
    shared = Counter(trial.represented_folder for trial in trials if trial.represented_folder)
    jobs = {}
    for trial in trials:
        folder = trial.represented_folder
        wanted = shared[folder] > 1 or (folder != "" and _is_large(trial))
        if wanted and folder not in jobs and not Path(folder).exists():
            jobs[folder] = _job_of(trial)
            progress.say(f"representing {trial.dataset} as {trial.representation}, seed {trial.seed}, for all learners")
    if not jobs:
        return
    make_room()
    for job, end in executor.run(jobs.values(), at_once=at_once):
        trouble = end.message if end.status != "ok" else end.answer
        if trouble:
            progress.say(f"warning: not represented ahead, each trial will try: {job.payload.folder.name}: {trouble}")


def _is_large(trial: Trial) -> bool:
    """Whether a trial had better map its rows than hold them."""
    header = read_header(Path(trial.data_folder))
    return header is not None and is_large(header.nonzeros)


def _job_of(trial: Trial) -> Job:
    payload = RepresentJob(
        trial.data_folder, trial.split, trial.seed, trial.representing, Path(trial.represented_folder)
    )
    return Job(REPRESENT_TARGET, payload)
