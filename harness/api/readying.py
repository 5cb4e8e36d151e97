"""An executor made ready for an experiment: first for reading its data, then for its trials."""

from __future__ import annotations

from harness.api.session import Session
from harness.executors import paths_of
from harness.executors.base import Executor, Workplace
from harness.experiment.resolve import Resolved
from harness.progress import Progress

COMPILING = "compiling kernels; this happens once, later runs find them ready"


def ready_for_data(executor: Executor, resolved: Resolved, session: Session) -> None:
    """Have data sets be read before anything is compiled: a question about the columns of a file comes at once."""
    executor.prepare(Workplace(threads=resolved.experiment.threads, path=paths_of(session.folders)))


def ready_for_trials(executor: Executor, resolved: Resolved, session: Session, progress: Progress) -> None:
    """Have the modules imported that the learners of an experiment want warm."""
    experiment = resolved.experiment
    workplace = Workplace(resolved.preload, experiment.threads, paths_of(session.folders), resolved.interpreters)
    executor.prepare(workplace, lambda: progress.say(COMPILING))
