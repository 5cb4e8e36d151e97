"""What a run takes from before: finished trials of other folders, and whether those that are there were timed alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from harness.errors import HarnessError
from harness.experiment.schema import Experiment
from harness.progress import Progress
from harness.record import Record
from harness.runner import reuse
from harness.store import Store, read_ranks, read_records
from harness.trials.trial import Trial
from harness.wording import counted


def take_over(folders: Sequence[Path], trials: Sequence[Trial], store: Store, progress: Progress) -> None:
    """Take finished trials from other folders."""
    for folder in folders:
        if folder.resolve() == store.folder.resolve():
            raise HarnessError(f"--reuse {folder} is the results folder itself: it resumes by itself")
        earlier = {record.key: record for record in read_records(folder)}
        taken = reuse(trials, earlier, store, partial(read_ranks, folder))
        progress.say(f"{counted(taken, 'finished trial')} taken from {folder}")


def timed_otherwise(record: Record, experiment: Experiment) -> bool:
    """Whether a trial ran with as many threads, and beside as many others, as this experiment would have it."""
    return (record.threads, record.jobs) != (experiment.threads, experiment.jobs)
