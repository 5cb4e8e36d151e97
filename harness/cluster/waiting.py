"""Jobs that wait for a worker, in their order. Trials of one data set and number stay on one kind of machine.

They are what a table compares: times are comparable where the processor is of one model. A kind of machine takes a
group of trials when it begins one, and keeps it as long as a worker of that kind is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from harness.executors.base import Job
from harness.trials.trial import TrialJob

LOOK_AHEAD = 2_000
"""Jobs that are looked through for one that suits: of however many there are, no more are held here."""
Group = tuple[str, int]


@dataclass
class Task:
    """A job, and the workers that were lost while they had it."""

    job: Job
    lost_on: list[str] = field(default_factory=list)


class Waiting:
    """The jobs of one run that no worker has."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._source = iter(jobs)
        self._groups: dict[Group, deque[Task]] = {}
        self._kinds: dict[Group, str] = {}
        self._held = 0
        self.n_lost = 0
        """Of those that wait, how many were lost with a worker before."""
        self._is_exhausted = False

    def is_empty(self) -> bool:
        """Whether no job waits, and none will come."""
        self._look_ahead()
        return self._is_exhausted and not self._held

    def take(self, kind: str, kinds: Collection[str]) -> Task | None:
        """The first job for a machine of this kind, of the kinds that are there; None where others are to have them."""
        self._look_ahead()
        own = unbegun = None
        for group in self._groups:
            of_kind = self._kinds.get(group)
            if of_kind == kind:
                own = group
                break
            if unbegun is None and of_kind not in kinds:
                unbegun = group
        chosen = own if own is not None else unbegun
        if chosen is None:
            return None
        self._kinds[chosen] = kind
        task = self._groups[chosen].popleft()
        self._held -= 1
        self.n_lost -= bool(task.lost_on)
        if not self._groups[chosen]:
            del self._groups[chosen]
        return task

    def put_back(self, task: Task) -> None:
        """Have a job wait again, before all others of its group, and its group before those that come later."""
        group = _group_of(task.job)
        if group not in self._groups:
            self._groups = {group: deque(), **self._groups}
        self._groups[group].appendleft(task)
        self._held += 1
        self.n_lost += bool(task.lost_on)

    def _look_ahead(self) -> None:
        while self._held < LOOK_AHEAD and not self._is_exhausted:
            job = next(self._source, None)
            if job is None:
                self._is_exhausted = True
                return
            self._groups.setdefault(_group_of(job), deque()).append(Task(job))
            self._held += 1


def _group_of(job: Job) -> Group:
    if isinstance(job.payload, TrialJob):
        trial = job.payload.trial
        return trial.fingerprint, trial.number
    return "", 0
