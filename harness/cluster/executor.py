"""Runs trials on the workers of a Dask cluster: gives each its next one, and takes in what comes back, once.

The host decides who gets what: a trial is bound to one worker, so that nobody else runs it unasked, and whoever is lost
is known by name. At most as many trials are under way as the workers take at once, however many there are in all.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from harness.cluster.attempts import Attempt, Attempts, Heard
from harness.cluster.calling import Caller, WorkerGone
from harness.cluster.connecting import Connection
from harness.cluster.delivering import Deliveries
from harness.cluster.messages import Answer, Order, end_of, read_answer
from harness.cluster.parcels import Parcel, data_parcel, representation_parcel
from harness.cluster.roster import Luggage, Member, Roster, Welcomed
from harness.cluster.waiting import Task, Waiting
from harness.errors import HarnessError
from harness.executors.base import Job, JobEnd, OnPhase, Workplace
from harness.trials.trial import TrialJob
from harness.wording import counted, in_a_line

LOOK_SECONDS = 0.5
"""How often it is looked who is there."""
PATIENCE_SECONDS = 10.0
"""How long a scheduler may be away that has been there."""
MOST_LOST = 3
"""Workers that may be lost with one trial before it counts as crashed."""
SENDERS = 8
"""Data homes that are sent to at once."""


class ClusterExecutor:
    """The trials of one run on the workers of one cluster; see `harness.executors.base.Executor`."""

    def __init__(self, connection: Connection, luggage: Luggage, say: Callable[[str], None]) -> None:
        self._connection, self._luggage, self._say = connection, luggage, say
        self.client = connection.client
        self._workplace = Workplace()
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        caller = Caller(self.client)
        self.deliveries = Deliveries(caller)
        self.roster = Roster(caller, self.deliveries, luggage, self._events.put)
        self._senders = ThreadPoolExecutor(SENDERS, "harness-sending")
        self._attempts = Attempts(self.client, self._events.put)
        self._ended: deque[tuple[Job, JobEnd]] = deque()
        self._looked = self._last_there = 0.0
        self._has_begun = self._has_said_waiting = False

    def prepare(self, workplace: Workplace, on_slow: Callable[[], None] | None = None) -> None:
        """Settle what trials find on every worker."""
        self._workplace = workplace

    def run(
        self, jobs: Iterable[Job], *, at_once: int = 1, on_phase: OnPhase | None = None
    ) -> Iterator[tuple[Job, JobEnd]]:
        """Run the jobs, on as many workers as there are, and give each back as it ends."""
        waiting = Waiting(jobs)
        tell = on_phase or _tell_nobody
        self._last_there = time.monotonic()
        try:
            while True:
                self._look_round(waiting)
                self._hand_out(waiting, tell)
                while self._ended:
                    yield self._ended.popleft()
                if not self._attempts.by_key and waiting.is_empty():
                    return
                self._hear(waiting, tell)
        finally:
            self._attempts.end_all()

    def close(self) -> None:
        """End what runs on the workers, and the cluster where it was started for this."""
        self._attempts.close()
        self._senders.shutdown(wait=False, cancel_futures=True)
        self._connection.close()

    # -- who is there ------------------------------------------------------------------------------------------------

    def _look_round(self, waiting: Waiting) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        for member in self.roster.look(self._present()):
            for key in list(member.busy):
                self._lose(key, waiting, "")
        if self.roster.members:
            self._has_said_waiting = False
        elif not self.roster.is_asking() and not self._has_said_waiting:
            self._has_said_waiting = True
            self._say(f"waiting for workers: {self._connection.address} has none that could take a trial")

    def _present(self) -> list[str]:
        """The addresses of all workers; HarnessError where the scheduler has gone."""
        if self.client.status == "running":
            try:
                there: dict[str, int] = self.client.sync(
                    self.client.scheduler.ncores, callback_timeout=PATIENCE_SECONDS
                )
                self._last_there = time.monotonic()
                return list(there)
            except (TimeoutError, OSError, AttributeError):  # no scheduler any more, or none yet
                pass
        away = time.monotonic() - self._last_there
        if self.client.status in ("closing", "closed") or away > PATIENCE_SECONDS:
            raise HarnessError(
                f"the scheduler at {self._connection.address} does not answer any more",
                culprit="--on",
                next_step="what is done is kept; once it is back, the same command goes on from there",
            )
        return list(self.roster.members)

    def _on_welcomed(self, welcomed: Welcomed) -> None:
        self.roster.add(welcomed)
        if not welcomed.refused:
            return
        lines = [f"worker {address}: {reason}" for address, reason in sorted(welcomed.refused.items())]
        if not self._has_begun:
            raise HarnessError(
                "\n".join(lines),
                next_step="give all workers what this machine has, or allow it with --allow-differences",
            )
        for line in lines:
            self._say(f"warning: gets no trials: {line}")

    # -- handing out -------------------------------------------------------------------------------------------------

    def _hand_out(self, waiting: Waiting, on_phase: OnPhase) -> None:
        if not self._has_begun and self.roster.is_asking():
            return  # whoever differs is named before anybody runs anything
        kinds = {member.kind for member in self.roster.members.values()}
        for member in list(self.roster.members.values()):
            while len(member.busy) < member.hello.slots:
                task = waiting.take(member.kind, kinds)
                if task is None:
                    break
                self._has_begun = True
                self._give(task, member, self._parcels_of(task.job))
                on_phase(task.job, "start", member.name)

    def _give(self, task: Task, member: Member, parcels: tuple[Parcel, ...]) -> None:
        order = Order(
            job=task.job,
            topic=self.client.id,
            parcels=parcels,
            code=self._luggage.code,
            preload=self._workplace.preload,
            threads=self._workplace.threads,
            environments=self._luggage.environments,
            allow_differences=self._luggage.allow_differences,
        )
        self._attempts.begin(task, member, order)

    def _parcels_of(self, job: Job) -> tuple[Parcel, ...]:
        if not isinstance(job.payload, TrialJob):
            return ()
        trial = job.payload.trial
        parcels = [data_parcel(trial.data_folder, trial.fingerprint)]
        seen = representation_parcel(trial.represented_folder) if trial.represented_folder else None
        return (*parcels, seen) if seen else tuple(parcels)

    # -- hearing -----------------------------------------------------------------------------------------------------

    def _hear(self, waiting: Waiting, on_phase: OnPhase) -> None:
        """Take in what has come, and what comes until it is time to look round again."""
        try:
            event = self._events.get(timeout=LOOK_SECONDS)
            while True:
                if isinstance(event, Welcomed):
                    self._on_welcomed(event)
                else:
                    self._take_in(event, waiting, on_phase)
                event = self._events.get_nowait()
        except queue.Empty:
            return

    def _take_in(self, heard: Heard, waiting: Waiting, on_phase: OnPhase) -> None:
        attempt = self._attempts.by_key.get(heard.attempt)
        if attempt is None:  # of an attempt that was given up: its trial is elsewhere, or ended
            return
        job = attempt.task.job
        if heard.phase:
            on_phase(job, heard.phase, attempt.member.name)
        elif heard.is_delivered:
            self._on_delivered(heard, attempt, waiting)
        elif heard.content is not None:
            self._on_answer(heard, attempt, waiting, on_phase)
        elif heard.error is not None:
            self._lose(heard.attempt, waiting, in_a_line(f"{type(heard.error).__name__}: {heard.error}", 200))
        else:  # the scheduler was away, and has forgotten it
            self._attempts.end(heard.attempt)
            waiting.put_back(attempt.task)

    def _on_answer(self, heard: Heard, attempt: Attempt, waiting: Waiting, on_phase: OnPhase) -> None:
        job, member = attempt.task.job, attempt.member
        try:
            answer, blob = read_answer(heard.content, job.blob_bytes)
        except ValueError as error:
            self._attempts.end(heard.attempt)
            trouble = f"what worker {member.name} reported cannot be read: {in_a_line(str(error), 200)}"
            self._ended.append((job, JobEnd("crash", message=trouble, site=self.roster.site_of(member))))
            return
        if answer.kind == "end":
            self._attempts.end(heard.attempt)
            self._ended.append((job, self._placed(end_of(answer, blob), member, answer)))
        elif answer.kind == "lacking":
            on_phase(job, "sending data", member.name)
            self._send(heard.attempt, attempt, answer.lacking)
        elif answer.kind == "unable":
            self._put_aside(heard.attempt, answer.message, waiting)
        else:
            self._lose(heard.attempt, waiting, "")

    def _placed(self, end: JobEnd, member: Member, answer: Answer) -> JobEnd:
        site = self.roster.site_of(member)
        versions = {**site.versions, **answer.packages}
        return replace(end, site=replace(site, versions=versions, started=answer.started, load=answer.load))

    # -- what a worker lacks -----------------------------------------------------------------------------------------

    def _send(self, key: str, attempt: Attempt, lacking: tuple[str, ...]) -> None:
        """Have the parcels sent that a worker lacks; the attempt keeps its place meanwhile."""
        wanted = [parcel for parcel in (*attempt.order.parcels, *self._luggage.code) if parcel.name in lacking]
        member = attempt.member

        def deliver() -> None:
            try:
                self.deliveries.deliver(member.hello.home, member.address, wanted)
                self._events.put(Heard(key, is_delivered=True))
            except Exception as error:
                self._events.put(Heard(key, error=error, is_delivered=True))

        self._senders.submit(deliver)

    def _on_delivered(self, heard: Heard, attempt: Attempt, waiting: Waiting) -> None:
        if isinstance(heard.error, WorkerGone):
            self._lose(heard.attempt, waiting, "while it was sent data")
            return
        if heard.error is not None:
            self._put_aside(heard.attempt, str(heard.error), waiting)
            return
        self._attempts.end(heard.attempt)
        self._give(attempt.task, attempt.member, attempt.order.parcels)

    def _put_aside(self, key: str, reason: str, waiting: Waiting) -> None:
        """Give a worker that cannot run trials no more of them; HarnessError where it was the last."""
        attempt = self._attempts.by_key[key]
        self._attempts.end(key)
        waiting.put_back(attempt.task)
        self.roster.put_aside(attempt.member, reason)
        told = f"worker {attempt.member.name}: {reason}"
        if not self.roster.members:
            raise HarnessError(told, next_step="what is done is kept; the same command goes on from there")
        self._say(f"warning: gets no more trials: {told}")

    # -- losing ------------------------------------------------------------------------------------------------------

    def _lose(self, key: str, waiting: Waiting, reason: str) -> None:
        """A worker was lost with a trial: another gets it, unless that has happened too often."""
        attempt = self._attempts.by_key[key]
        self._attempts.end(key)
        task, member = attempt.task, attempt.member
        task.lost_on.append(f"{member.name}{f' ({reason})' if reason else ''}")
        if len(task.lost_on) < MOST_LOST:
            waiting.put_back(task)
            return
        times = counted(len(task.lost_on), "worker was", "workers were")
        message = f"{times} lost with it: {', '.join(task.lost_on)}"
        self._ended.append((task.job, JobEnd("crash", message=message, site=self.roster.site_of(member))))


def _tell_nobody(job: Job, phase: str, worker: str = "", /) -> None: ...
