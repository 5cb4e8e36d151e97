"""The Dask executor: runs jobs on the workers of a cluster.

`ClusterExecutor.run` is a loop in one thread. The `Dispatcher` assigns jobs to workers, the loop yields jobs that have
ended, and then it waits for the next event. Other threads only put events into a queue:

- `WorkerMonitor` polls the scheduler: `WorkersSeen`;
- `WorkerRegistry` checks new workers: `WorkerChecked`;
- `TaskClient` submits attempts: `Replied`, `PhaseChanged`, `Failed`, `Forgotten`;
- a pool of threads sends artifacts that a worker lacks: `ArtifactsSent`.

The host, not Dask's scheduler, decides which worker runs which job, and binds each attempt to one worker. If a worker
is lost, the host therefore knows which jobs were running there and may have caused it.
"""

from __future__ import annotations

import asyncio
import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.cluster.messages import (
    Artifact,
    Assignment,
    Reply,
    Requirements,
    WorkerGone,
    artifact_of,
    end_of,
    read_reply,
)
from harness.cluster.queue import Attempt, AttemptEvent, Failed, Forgotten, JobQueue, PhaseChanged, Replied, TaskClient
from harness.cluster.transfer import ArtifactsSent, Caller, Transfers
from harness.cluster.workers import WorkerChecked, WorkerRegistry, WorkerState
from harness.errors import HarnessError
from harness.executors.base import Job, JobEnd, OnPhase, Workplace
from harness.text import as_warning, counted, in_a_line

if TYPE_CHECKING:
    from harness.cluster import Connection

CHECK_SECONDS = 0.5
"""The time between two checks of the connection to the scheduler when there are no events."""
MAX_SENT = 2
"""After artifacts were sent so often for one attempt, a worker that still lacks them is set aside."""
SENDERS = 8
"""The largest number of attempts for which artifacts are sent at the same time."""


class ClusterExecutor:
    """Runs the jobs of one run on the workers of one cluster; see `harness.executors.base.Executor`.

    Parameters
    ----------
    connection : Connection
        The client of the cluster. `close` closes it.
    requirements : Requirements
        The code and the environments that every worker needs, and the code by which it is compared with the host.
    say : callable
        Called with each warning, a line of text.
    """

    def __init__(self, connection: Connection, requirements: Requirements, say: Callable[[str], None]) -> None:
        self._connection, self._requirements, self._say = connection, requirements, say
        self.client = connection.client
        self._workplace = Workplace()
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        caller = Caller(self.client)
        self.transfers = Transfers(caller)
        self.workers = WorkerRegistry(caller, self.transfers, requirements, self._events.put)
        self._monitor = WorkerMonitor(connection, self._events.put)
        self._senders = ThreadPoolExecutor(SENDERS, "harness-sending")
        self._tasks = TaskClient(self.client, self._events.put)
        self.queue = JobQueue((), self._tasks)
        self._on_phase: OnPhase = _ignore_phase
        self._ended: deque[tuple[Job, JobEnd]] = deque()
        self._has_said_waiting = False

    def prepare(self, workplace: Workplace, on_slow: Callable[[], None] | None = None) -> None:
        """Set up the processes of jobs on all workers; `on_slow` is not used here."""
        self._workplace = workplace

    def run(
        self, jobs: Iterable[Job], *, at_once: int = 1, on_phase: OnPhase | None = None
    ) -> Iterator[tuple[Job, JobEnd]]:
        """Run jobs on all workers, and yield each job with its end.

        Parameters
        ----------
        jobs : iterable of Job
            Jobs in the order in which they should start.
        at_once : int, default=1
            Not used: each worker runs as many jobs as it has slots.
        on_phase : OnPhase, optional
            Called with a job, its new phase and the name of its worker.

        Raises
        ------
        HarnessError
            If the scheduler is lost, if workers differ from the host before the first job, or if no worker that can
            run jobs is left. All jobs that have ended are yielded before the error is raised.
        """
        self.queue = JobQueue(jobs, self._tasks)
        self._on_phase = on_phase or _ignore_phase
        dispatcher = Dispatcher(self.queue, self.workers, self._assignment_for, self._start)
        self._monitor.start()
        try:
            while True:
                if self._tasks.has_submitted or not self.workers.is_checking():
                    dispatcher.dispatch()  # the first job waits until all present workers are checked
                while self._ended:
                    yield self._ended.popleft()
                if self.queue.is_finished():
                    return
                self._handle_events()
                self._monitor.check()
        except HarnessError:
            yield from self._ended
            raise
        finally:
            self._monitor.stop()
            self.queue.cancel_all()

    def close(self) -> None:
        """Stop all jobs, and close the connection, together with a cluster that was started for this run."""
        self.queue.cancel_all()
        self._tasks.close()
        self._senders.shutdown(wait=False, cancel_futures=True)
        self._connection.close()

    def _assignment_for(self, job: Job) -> Assignment:
        """Return a job with the artifacts and settings that a worker needs for it."""
        artifacts = [artifact_of(each) for each in job.inputs]
        return Assignment(
            job=job,
            topic=self.client.id,
            artifacts=tuple(artifact for artifact in artifacts if artifact is not None),
            code=self._requirements.code,
            preload=self._workplace.preload,
            threads=self._workplace.threads,
            read_only=self._workplace.read_only,
            hidden=self._workplace.hidden,
            environments=self._requirements.environments,
            allow_differences=self._requirements.allow_differences,
        )

    def _start(self, attempt: Attempt) -> None:
        """Mark an attempt as running, and report this to the caller of `run`, unless it was done before."""
        if self.queue.mark_running(attempt, self.workers.site_of(attempt.worker).at_once):
            self._on_phase(attempt.job, "start", attempt.worker.name)

    # -- events ------------------------------------------------------------------------------------------------------

    def _handle_events(self) -> None:
        """Wait for an event for at most `CHECK_SECONDS`, and handle all events that have arrived."""
        try:
            event = self._events.get(timeout=CHECK_SECONDS)
            while True:
                self._handle(event)
                event = self._events.get_nowait()
        except queue.Empty:
            return

    def _handle(self, event: WorkersSeen | WorkerChecked | AttemptEvent | ArtifactsSent) -> None:
        match event:
            case WorkersSeen():
                self._on_workers_seen(event)
            case WorkerChecked():
                self._on_worker_checked(event)
            case _:
                attempt = self.queue.find(event.attempt)
                if attempt is not None:  # otherwise its job has ended, or has a newer attempt
                    self._start(attempt)
                    self._on_attempt_event(event, attempt)

    def _on_workers_seen(self, seen: WorkersSeen) -> None:
        """Lose the attempts of workers that have left, and report if no worker is left."""
        self._monitor.note_answer()
        for worker in self.workers.update(seen.addresses):
            for attempt in self.queue.attempts_on(worker):
                self._lose(attempt)
        if self.workers.usable:
            self._has_said_waiting = False
        elif not self.workers.is_checking() and not self._has_said_waiting:
            self._has_said_waiting = True
            self._say(f"waiting for workers: {self._connection.address} has none that can run trials")

    def _on_worker_checked(self, checked: WorkerChecked) -> None:
        """Add a worker to the registry, or warn about it.

        Before the first job, HarnessError if workers differ from the host, or if no worker can run jobs.
        """
        self.workers.add(checked)
        if checked.problem and (self._tasks.has_submitted or not checked.differs):
            self._say(as_warning(f"worker {checked.address} gets no trials: {checked.problem}"))
        if not self._tasks.has_submitted and not self.workers.is_checking():
            self.workers.check_start()

    def _on_attempt_event(self, event: AttemptEvent | ArtifactsSent, attempt: Attempt) -> None:
        match event:
            case PhaseChanged():
                self._on_phase(attempt.job, event.phase, attempt.worker.name)
            case Replied():
                self._on_reply(event.content, attempt)
            case ArtifactsSent():
                self._on_artifacts_sent(event, attempt)
            case Failed():
                self._lose(attempt, in_a_line(f"{type(event.error).__name__}: {event.error}", 200))
            case Forgotten():
                self.queue.release(attempt)

    def _on_reply(self, content: object, attempt: Attempt) -> None:
        """Act on the reply of a worker: the job has ended, artifacts are missing, or the worker cannot run it."""
        job, worker = attempt.job, attempt.worker
        try:
            reply, blob = read_reply(content, job.blob_bytes)
        except ValueError as error:
            self.queue.finish(attempt)
            message = f"the reply of worker {worker.name} cannot be read: {in_a_line(str(error), 200)}"
            self._ended.append((job, JobEnd("crash", message=message, site=self.workers.site_of(worker))))
            return
        if reply.kind == "end":
            self._on_end(reply, blob, attempt)
        elif reply.kind == "lacking" and attempt.times_sent == MAX_SENT:
            self._set_aside(worker, f"it does not keep what it is sent: {', '.join(reply.lacking)}")
        elif reply.kind == "lacking":
            self._on_phase(job, "sending data", worker.name)
            self._send(attempt, reply.lacking)
        elif reply.kind == "unable":
            self._set_aside(worker, reply.message)
        else:
            self._lose(attempt)

    def _on_end(self, reply: Reply, blob: bytes | None, attempt: Attempt) -> None:
        """Record the end of a job, with the description of the worker that ran it."""
        self.queue.finish(attempt)
        attempt.worker.has_finished_a_job = True
        attempt.worker.artifacts |= {artifact.name for artifact in attempt.assignment.artifacts}
        end = replace(end_of(reply, blob), site=self.workers.site_of(attempt.worker))
        assert end.site is not None
        site = replace(
            end.site,
            versions={**end.site.versions, **reply.packages},
            # If another worker on this machine has left since the start, the job still counts as sharing the machine.
            at_once=max(end.site.at_once, attempt.at_once),
            started=reply.started,
            load=reply.load,
        )
        self._ended.append((attempt.job, replace(end, site=site)))

    def _lose(self, attempt: Attempt, reason: str = "") -> None:
        """End an attempt whose worker was lost. Its job crashes if it has lost too many workers."""
        site = self.workers.site_of(attempt.worker)
        if self.queue.lose(attempt, reason):
            lost_on = attempt.pending.lost_on
            message = f"{counted(len(lost_on), 'worker was', 'workers were')} lost with it: {', '.join(lost_on)}"
            self._ended.append((attempt.job, JobEnd("crash", message=message, site=site)))

    # -- artifacts that a worker lacks -------------------------------------------------------------------------------

    def _send(self, attempt: Attempt, lacking: tuple[str, ...]) -> None:
        """Send artifacts to a worker in another thread. The attempt occupies its slot on the worker in the meantime."""
        wanted = [each for each in (*attempt.assignment.artifacts, *self._requirements.code) if each.name in lacking]
        self._senders.submit(self._send_now, attempt.key, attempt.worker, wanted)

    def _send_now(self, key: str, worker: WorkerState, wanted: list[Artifact]) -> None:
        try:
            self.transfers.send(worker.description.home, worker.address, wanted)
            self._events.put(ArtifactsSent(key))
        except Exception as error:
            self._events.put(ArtifactsSent(key, error))

    def _on_artifacts_sent(self, sent: ArtifactsSent, attempt: Attempt) -> None:
        """Submit the attempt again, unless sending has failed."""
        if isinstance(sent.error, WorkerGone):
            self._lose(attempt, "while data was sent to it")
        elif sent.error is not None:
            self._set_aside(attempt.worker, str(sent.error))
        else:
            self.queue.resend(attempt)

    def _set_aside(self, worker: WorkerState, reason: str) -> None:
        """Take all jobs from a worker that cannot run them; HarnessError if no usable worker is left."""
        for attempt in self.queue.attempts_on(worker):
            self.queue.release(attempt)
        self.workers.set_aside(worker, reason)
        if not self.workers.usable:
            raise HarnessError(
                f"worker {worker.name}: {reason}",
                next_step="Finished trials are kept. The same command runs the remaining ones.",
            )
        self._say(as_warning(f"worker {worker.name} gets no more trials: {reason}"))


def _ignore_phase(job: Job, phase: str, worker: str = "", /) -> None: ...


# -- dispatching -----------------------------------------------------------------------------------------------------

AHEAD = 1
"""The number of jobs that wait at a worker in addition to those that it runs."""


class Dispatcher:
    """Decides which worker gets which job.

    A busy worker gets its next job ahead, and can start it without waiting for the host. When no pending job is left,
    an idle worker takes such a waiting job from another worker of the same kind.

    Parameters
    ----------
    jobs : JobQueue
        The jobs of the run.
    workers : WorkerRegistry
        The workers of the cluster.
    assignment_for : callable
        Returns the assignment for a job.
    start : callable
        Called with each attempt that has a slot, after every dispatch; it must ignore attempts that it has seen.
    """

    def __init__(
        self,
        jobs: JobQueue,
        workers: WorkerRegistry,
        assignment_for: Callable[[Job], Assignment],
        start: Callable[[Attempt], None],
    ) -> None:
        self._queue, self._workers = jobs, workers
        self._assignment_for, self._start = assignment_for, start

    def dispatch(self) -> None:
        """Assign jobs to all free slots, then one job ahead to each worker, and start attempts that have a slot."""
        workers = list(self._workers.usable.values())
        self._fill(workers, 0)
        self._rebalance(workers)
        # A job that was lost with a worker waits for a free slot, and no other job waits behind it. If this worker is
        # lost too, no other job is affected.
        if not self._queue.pending.n_lost:
            self._fill([worker for worker in workers if self._may_have_more(worker)], AHEAD)
        for worker in workers:
            for attempt in self._queue.attempts_on(worker)[: worker.slots]:
                self._start(attempt)

    def _fill(self, workers: list[WorkerState], ahead: int) -> None:
        """Assign jobs until each worker has `ahead` more jobs than slots, or no suitable job is pending."""
        kinds = {worker.kind for worker in self._workers.usable.values()}
        for worker in workers:
            while len(self._queue.attempts_on(worker)) < worker.slots + ahead:
                pending = self._queue.pending.take(worker.kind, kinds)
                if pending is None:
                    break
                assignment = self._assignment_for(pending.job)
                if ahead and not worker.has_all(assignment):
                    self._queue.pending.put_back(pending)
                    break
                self._queue.assign(pending, worker, assignment)

    def _may_have_more(self, worker: WorkerState) -> bool:
        """Return whether a job may wait at a worker.

        The worker must have finished a job before. None of its jobs may have been lost with another worker. None may
        wait for data either: the waiting job would start, and its times would be measured while data arrives.
        """
        attempts = self._queue.attempts_on(worker)
        is_settled = all(worker.has_all(each.assignment) and not each.pending.lost_on for each in attempts)
        return worker.has_finished_a_job and is_settled

    def _rebalance(self, workers: list[WorkerState]) -> None:
        """Move jobs that wait at busy workers to idle workers of the same kind."""
        for kind in {worker.kind for worker in workers}:
            alike = [worker for worker in workers if worker.kind == kind]
            idle = sum(max(0, worker.slots - len(self._queue.attempts_on(worker))) for worker in alike)
            if not idle:
                continue
            ahead = [each for worker in alike for each in self._queue.attempts_on(worker)[worker.slots :]]
            for attempt in [each for each in ahead if not each.is_running][:idle]:
                self._queue.release(attempt)
            self._fill(alike, 0)


# -- watching the cluster --------------------------------------------------------------------------------------------

POLL_SECONDS = 0.5
LOST_SECONDS = 10.0
"""A scheduler that is disconnected for longer counts as lost."""
SILENT_SECONDS = 60.0
"""A connected scheduler has more time to reply, since its machine may be busy."""


@dataclass(frozen=True)
class WorkersSeen:
    """The addresses of all workers that the scheduler knows."""

    addresses: frozenset[str]


class WorkerMonitor:
    """Polls the scheduler for its workers, in the client's event loop.

    Parameters
    ----------
    connection : Connection
        The connection to the cluster.
    report : callable
        Called with a `WorkersSeen` after each poll, in the thread of the event loop.
    """

    def __init__(self, connection: Connection, report: Callable[[WorkersSeen], None]) -> None:
        self._connection, self._client, self._report = connection, connection.client, report
        self._turn = 0
        """A counter that `start` and `stop` increment. A poll that finds another value than at its start ends."""
        self._last_answer = 0.0

    def start(self) -> None:
        """Start polling."""
        self._turn += 1
        self.note_answer()
        self._client.loop.add_callback(self._poll, self._turn)

    def stop(self) -> None:
        """Stop polling."""
        self._turn += 1

    def note_answer(self) -> None:
        """Record the present time as that of the last reply of the scheduler."""
        self._last_answer = time.monotonic()

    def check(self) -> None:
        """Raise HarnessError if the scheduler is lost."""
        status = self._client.status
        patience = SILENT_SECONDS if status == "running" else LOST_SECONDS
        if status in ("closing", "closed") or time.monotonic() - self._last_answer > patience:
            raise HarnessError(
                f"the scheduler at {self._connection.address} does not answer any more",
                culprit="--on",
                next_step="Finished trials are kept. Once it is back, the same command runs the remaining ones.",
            )

    async def _poll(self, turn: int) -> None:
        """Poll until `start` or `stop` is called again."""
        while turn == self._turn:
            try:
                workers = await asyncio.wait_for(self._client.scheduler.ncores(), SILENT_SECONDS)
                if turn == self._turn:
                    self._report(WorkersSeen(frozenset(workers)))
            except (TimeoutError, OSError, AttributeError):  # no scheduler: `check` decides when it counts as lost
                pass
            await asyncio.sleep(POLL_SECONDS)
