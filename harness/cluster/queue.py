"""The jobs of a run that have not ended: pending jobs, and attempts to run them on workers.

A job is in one of three states, which only `JobQueue` changes:

- *pending*: the job is not assigned to a worker;
- *assigned*: the job waits at a worker, which runs other jobs first;
- *running*: the worker has a slot for the job, or has reported something about it.

    pending -- assign --> assigned -- mark_running --> running -- finish --> ended
       ^                     |                            |
       +----- release -------+------------ lose ----------+

Only a running job counts as lost with its worker. It becomes pending again, and is then assigned to a free slot. After
`MAX_LOST` lost workers the job counts as crashed.

Every attempt has a unique key. A late reply to an earlier attempt of the same job is therefore ignored.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import secrets
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from distributed import Client, Future

from harness.cluster.messages import Assignment, pack_assignment
from harness.cluster.worker import run_assignment
from harness.cluster.workers import WorkerState
from harness.errors import HarnessError
from harness.executors.base import Job
from harness.text import in_a_line

MAX_LOST: Final = 3
"""A job counts as crashed when this number of workers was lost while they ran it."""
LOOK_AHEAD = 2_000
"""The number of pending jobs in memory. Further jobs are taken from their iterator when there is room."""
PHASE_LENGTH = 100
"""Longer names of phases are cut."""


@dataclass
class PendingJob:
    """A job without a worker, and the names of workers that were lost while they ran it."""

    job: Job
    lost_on: list[str] = field(default_factory=list)


@dataclass
class Attempt:
    """An attempt to run a job on one worker."""

    key: str
    """The unique key of the attempt, which is also the key of its Dask task."""
    pending: PendingJob
    worker: WorkerState
    assignment: Assignment
    future: Future | None
    """The Dask task; None when the attempt is over."""
    is_running: bool = False
    at_once: int = 1
    """The number of slots on its machine when it started: so many jobs may have shared the machine."""
    times_sent: int = 0
    """The number of times that missing artifacts were sent to its worker."""

    @property
    def job(self) -> Job:
        """The job of this attempt."""
        return self.pending.job


class JobQueue:
    """Pending jobs and attempts of one run; the docstring of this module explains their states.

    Parameters
    ----------
    jobs : iterable of Job
        All jobs of the run.
    tasks : TaskClient
        Submits and cancels attempts.
    """

    def __init__(self, jobs: Iterable[Job], tasks: TaskClient) -> None:
        self.pending = PendingJobs(jobs)
        self._tasks = tasks
        self._attempts: dict[str, Attempt] = {}
        self._on_worker: dict[str, list[Attempt]] = {}
        """By address, attempts in the order of their assignment. A worker runs the first ones, one per slot."""

    def is_finished(self) -> bool:
        """Return whether every job has ended."""
        return not self._attempts and self.pending.is_empty()

    def find(self, key: str) -> Attempt | None:
        """Return the attempt with this key; None if it has ended or was cancelled."""
        return self._attempts.get(key)

    def attempts_on(self, worker: WorkerState) -> list[Attempt]:
        """Return the attempts on a worker in the order of their assignment."""
        return list(self._on_worker.get(worker.address, ()))

    def assign(self, pending: PendingJob, worker: WorkerState, assignment: Assignment) -> Attempt:
        """Assign a job to a worker, and return the attempt. Dask cannot move it to another worker.

        Parameters
        ----------
        pending : PendingJob
            The job, which must not be in the queue any more.
        worker : WorkerState
            The worker that is to run it.
        assignment : Assignment
            The job with its artifacts, code and settings.
        """
        key = f"harness-trial-{secrets.token_hex(16)}"
        future = self._tasks.submit(replace(assignment, attempt=key), worker.address)
        attempt = Attempt(key, pending, worker, assignment, future)
        self._attempts[key] = attempt
        self._on_worker.setdefault(worker.address, []).append(attempt)
        return attempt

    def mark_running(self, attempt: Attempt, at_once: int) -> bool:
        """Mark an attempt as running.

        Parameters
        ----------
        attempt : Attempt
            The attempt.
        at_once : int
            Number of jobs that its machine may run at the same time.

        Returns
        -------
        bool
            False if it was already marked.
        """
        if attempt.is_running:
            return False
        attempt.is_running, attempt.at_once = True, at_once
        return True

    def finish(self, attempt: Attempt) -> None:
        """Remove an attempt without cancelling its task; later events about it are ignored."""
        del self._attempts[attempt.key]
        self._on_worker[attempt.worker.address].remove(attempt)
        attempt.future = None  # without a reference, Dask releases the result on the worker

    def resend(self, attempt: Attempt) -> None:
        """Submit a new attempt to the same worker, after the artifacts that it lacked were sent."""
        self.finish(attempt)
        again = self.assign(attempt.pending, attempt.worker, attempt.assignment)
        again.is_running, again.at_once = attempt.is_running, attempt.at_once
        again.times_sent = attempt.times_sent + 1

    def release(self, attempt: Attempt) -> None:
        """Cancel an attempt, and make its job pending again."""
        self._cancel(attempt)
        self.pending.put_back(attempt.pending)

    def lose(self, attempt: Attempt, reason: str = "") -> bool:
        """End an attempt whose worker was lost.

        Parameters
        ----------
        attempt : Attempt
            The attempt. If it was not running, the loss does not count against its job.
        reason : str
            The reason for the loss, if it is known.

        Returns
        -------
        bool
            True if the job has lost `MAX_LOST` workers, and counts as crashed. Otherwise it is pending again.
        """
        self._cancel(attempt)
        pending = attempt.pending
        if attempt.is_running:
            pending.lost_on.append(f"{attempt.worker.name} ({reason})" if reason else attempt.worker.name)
        if len(pending.lost_on) >= MAX_LOST:
            return True
        self.pending.put_back(pending)
        return False

    def cancel_all(self) -> None:
        """Cancel every attempt."""
        futures = [attempt.future for attempt in self._attempts.values() if attempt.future is not None]
        self._attempts.clear()
        self._on_worker.clear()
        self._tasks.cancel(futures)

    def _cancel(self, attempt: Attempt) -> None:
        """Remove an attempt and cancel its task. A worker that reconnects then does not run it either."""
        if attempt.future is not None:
            self._tasks.cancel([attempt.future])
        self.finish(attempt)


# -- pending jobs ----------------------------------------------------------------------------------------------------


class PendingJobs:
    """The pending jobs of one run, in their order.

    Jobs with the same affinity stay on one kind of machine, which makes their times comparable. The first machine that
    takes such a job determines the kind. Another kind takes over only if no worker of the first kind is left.

    Parameters
    ----------
    jobs : iterable of Job
        All jobs of the run. At most `LOOK_AHEAD` of them are taken in advance.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._source = iter(jobs)
        self._by_affinity: dict[str, deque[PendingJob]] = {}
        self._kinds: dict[str, str] = {}
        """By affinity, the kind of machine that took the last job of it."""
        self._held = 0
        self.n_lost = 0
        """The number of pending jobs that were lost with a worker before."""
        self._is_exhausted = False

    def is_empty(self) -> bool:
        """Return whether no job is pending and the iterator of jobs is exhausted."""
        self._draw()
        return self._is_exhausted and not self._held

    def take(self, kind: str, kinds: Collection[str]) -> PendingJob | None:
        """Remove and return the next job for a machine.

        Parameters
        ----------
        kind : str
            The kind of the machine.
        kinds : collection of str
            The kinds of all machines that can run jobs at present.

        Returns
        -------
        PendingJob or None
            None if all pending jobs are for other kinds.
        """
        self._draw()
        affinity = self._choose_affinity(kind, kinds)
        if affinity is None:
            return None
        self._kinds[affinity] = kind
        pending = self._by_affinity[affinity].popleft()
        if not self._by_affinity[affinity]:
            del self._by_affinity[affinity]
        self._held -= 1
        self.n_lost -= bool(pending.lost_on)
        return pending

    def put_back(self, pending: PendingJob) -> None:
        """Add a job again, before all other jobs of its affinity.

        If its affinity has no other pending jobs, it also comes before all other affinities.

        Parameters
        ----------
        pending : PendingJob
            A job that was taken from the queue and has not ended.
        """
        affinity = pending.job.affinity
        if affinity not in self._by_affinity:
            self._by_affinity = {affinity: deque(), **self._by_affinity}
        self._by_affinity[affinity].appendleft(pending)
        self._held += 1
        self.n_lost += bool(pending.lost_on)

    def _choose_affinity(self, kind: str, kinds: Collection[str]) -> str | None:
        """Return the first affinity that belongs to this kind, or else the first that belongs to no present kind."""
        free = None
        for affinity in self._by_affinity:
            taken_by = self._kinds.get(affinity)
            if taken_by == kind:
                return affinity
            if free is None and taken_by not in kinds:
                free = affinity
        return free

    def _draw(self) -> None:
        """Take jobs from the iterator until `LOOK_AHEAD` are pending, or it is exhausted."""
        while self._held < LOOK_AHEAD and not self._is_exhausted:
            job = next(self._source, None)
            if job is None:
                self._is_exhausted = True
                return
            self._by_affinity.setdefault(job.affinity, deque()).append(PendingJob(job))
            self._held += 1


# -- attempts as tasks of Dask ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PhaseChanged:
    """An event: the job of an attempt has entered its next phase."""

    attempt: str
    phase: str


@dataclass(frozen=True)
class Replied:
    """An event: a worker has replied to an attempt. The content is not validated yet."""

    attempt: str
    content: object


@dataclass(frozen=True)
class Failed:
    """An event: the task of an attempt has failed in Dask, for example because its worker was lost."""

    attempt: str
    error: BaseException


@dataclass(frozen=True)
class Forgotten:
    """An event: the scheduler has dropped the task of an attempt, for example because it was restarted."""

    attempt: str


AttemptEvent = PhaseChanged | Replied | Failed | Forgotten


class TaskClient:
    """Submits attempts as Dask tasks, and reports events about them.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    report : callable
        Called with each event, in the thread of the client's event loop.
    """

    def __init__(self, client: Client, report: Callable[[AttemptEvent], None]) -> None:
        self._client, self._report = client, report
        self.has_submitted = False
        """True as soon as an attempt was submitted."""
        # Use the id of the client as the topic: the scheduler drops its events when this client disconnects.
        client.subscribe_topic(client.id, self._on_event)

    def submit(self, assignment: Assignment, address: str) -> Future:
        """Submit an attempt to a worker.

        Parameters
        ----------
        assignment : Assignment
            The job with its artifacts, code and settings; its attempt becomes the key of the task.
        address : str
            The Dask address of the worker.

        Returns
        -------
        Future
            The Dask task.

        Raises
        ------
        HarnessError
            If the job cannot be pickled.
        """
        future = self._client.submit(
            run_assignment,
            _pack(assignment),
            key=assignment.attempt,
            workers=[address],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        self.has_submitted = True
        self._client.loop.add_callback(self._collect, assignment.attempt, future)
        return future

    def cancel(self, futures: list[Future]) -> None:
        """Cancel tasks. Workers then stop the jobs that are running."""
        if futures and self._client.status == "running":
            with contextlib.suppress(Exception):  # a scheduler that has ended has dropped them
                self._client.cancel(futures, force=True)

    def close(self) -> None:
        """Stop receiving phases from workers."""
        with contextlib.suppress(Exception):  # raises if the scheduler has ended
            self._client.unsubscribe_topic(self._client.id)

    async def _collect(self, key: str, future: Future) -> None:
        """Wait for a reply, and report it. This runs in the client's event loop, so waiting needs no threads."""
        try:
            (content,) = await self._client.gather([future], asynchronous=True)
            self._report(Replied(key, content))
        except (asyncio.CancelledError, concurrent.futures.CancelledError):
            self._report(Forgotten(key))
        except Exception as error:
            self._report(Failed(key, error))

    async def _on_event(self, event: tuple[float, Any]) -> None:
        """Report the phase in a message. Other messages of this topic are from Dask, and are ignored."""
        _, message = event
        if not isinstance(message, dict):
            return
        attempt, phase = message.get("attempt"), message.get("phase")
        if isinstance(attempt, str) and isinstance(phase, str):
            self._report(PhaseChanged(attempt, in_a_line(phase, PHASE_LENGTH)))


def _pack(assignment: Assignment) -> bytes:
    """Return an assignment as bytes; HarnessError if the job cannot be pickled."""
    try:
        return pack_assignment(assignment)
    except Exception as error:  # a value that cannot be pickled may raise any error
        raise HarnessError(
            f"the job {assignment.job.target} cannot be sent to a worker: {type(error).__name__}: {error}"
        ) from error
