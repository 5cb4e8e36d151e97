"""Runs trials on the workers of a Dask cluster: hands them out, and takes in what comes back, once.

The host decides who gets what: a trial is bound to one worker, so that nobody else runs it unasked, and whoever is lost
is known by name. However many trials there are in all, workers have those that they run and one ahead.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from harness.cluster.attempts import Answered, Attempt, Attempts, Failed, Forgotten, Heard, InPhase
from harness.cluster.calling import Caller, WorkerGone
from harness.cluster.connecting import Connection
from harness.cluster.delivering import Delivered, Deliveries
from harness.cluster.handing import Handing
from harness.cluster.lookout import Lookout, Present
from harness.cluster.messages import Answer, Order, end_of, read_answer
from harness.cluster.parcels import Parcel, data_parcel, representation_parcel
from harness.cluster.roster import Luggage, Member, Roster, Welcomed
from harness.cluster.waiting import Waiting
from harness.errors import HarnessError
from harness.executors.base import Job, JobEnd, OnPhase, Workplace
from harness.trials.trial import TrialJob
from harness.wording import counted, in_a_line

CHECK_SECONDS = 0.5
"""How often, with nothing heard, it is checked whether the scheduler is still there."""
MOST_SENT = 2
"""How often a worker is sent what it says to lack for one trial, before it is given up."""
SENDERS = 8
"""Data homes that are sent to at once."""


class ClusterExecutor:
    """The trials of one run on the workers of one cluster; see `harness.executors.base.Executor`."""

    def __init__(self, connection: Connection, luggage: Luggage, say: Callable[[str], None]) -> None:
        self._connection, self._luggage, self._say = connection, luggage, say
        self.client = connection.client
        self._workplace = Workplace()
        self._events: queue.SimpleQueue[Present | Welcomed | Heard | Delivered] = queue.SimpleQueue()
        caller = Caller(self.client)
        self.deliveries = Deliveries(caller)
        self.roster = Roster(caller, self.deliveries, luggage, self._events.put)
        self._lookout = Lookout(connection, self._events.put)
        self._senders = ThreadPoolExecutor(SENDERS, "harness-sending")
        self._attempts = Attempts(self.client, self._events.put)
        self._ended: deque[tuple[Job, JobEnd]] = deque()
        self._has_said_waiting = False

    def prepare(self, workplace: Workplace, on_slow: Callable[[], None] | None = None) -> None:
        """Settle what trials find on every worker."""
        self._workplace = workplace

    def run(
        self, jobs: Iterable[Job], *, at_once: int = 1, on_phase: OnPhase | None = None
    ) -> Iterator[tuple[Job, JobEnd]]:
        """Run the jobs, on as many workers as there are, and give each back as it ends."""
        tell = on_phase or _tell_nobody
        handing = Handing(Waiting(jobs), self.roster, self._attempts, self._order_of, tell)
        self._lookout.start()
        try:
            while True:
                handing.hand_out()
                while self._ended:
                    yield self._ended.popleft()
                if handing.is_over():
                    return
                self._hear(handing, tell)
                self._lookout.check()
        except HarnessError:
            yield from self._ended  # what is done is kept, whatever ends the run
            raise
        finally:
            self._lookout.stop()
            self._attempts.end_all()

    def close(self) -> None:
        """End what runs on the workers, and the cluster where it was started for this."""
        self._attempts.close()
        self._senders.shutdown(wait=False, cancel_futures=True)
        self._connection.close()

    def _order_of(self, job: Job) -> Order:
        return Order(
            job=job,
            topic=self.client.id,
            parcels=_parcels_of(job),
            code=self._luggage.code,
            preload=self._workplace.preload,
            threads=self._workplace.threads,
            environments=self._luggage.environments,
            allow_differences=self._luggage.allow_differences,
        )

    # -- hearing -----------------------------------------------------------------------------------------------------

    def _hear(self, handing: Handing, on_phase: OnPhase) -> None:
        """Take in what has come; where nothing has, wait for it, but not for long."""
        try:
            event = self._events.get(timeout=CHECK_SECONDS)
            while True:
                if isinstance(event, Present):
                    self._on_present(event, handing)
                elif isinstance(event, Welcomed):
                    self._on_welcomed(event)
                elif event.attempt in self._attempts.by_key:  # else its trial is elsewhere, or ended
                    self._on_heard(event, self._attempts.by_key[event.attempt], handing, on_phase)
                event = self._events.get_nowait()
        except queue.Empty:
            return

    def _on_present(self, present: Present, handing: Handing) -> None:
        self._lookout.note()
        for member in self.roster.look(present.addresses):
            for key in list(member.line):
                self._lose(key, handing, "")
        if self.roster.members:
            self._has_said_waiting = False
        elif not self.roster.is_asking() and not self._has_said_waiting:
            self._has_said_waiting = True
            self._say(f"waiting for workers: {self._connection.address} has none that could take a trial")

    def _on_welcomed(self, welcomed: Welcomed) -> None:
        """Let a worker in; HarnessError names all that may not have trials, once all have answered and none began."""
        self.roster.add(welcomed)
        if self._attempts.has_begun_any:
            if welcomed.refused:
                self._say(f"warning: gets no trials: worker {welcomed.address}: {welcomed.refused}")
            return
        if self.roster.aside and not self.roster.is_asking():
            lines = [f"worker {address}: {reason}" for address, reason in sorted(self.roster.aside.items())]
            raise HarnessError(
                "\n".join(lines),
                next_step="give all workers what this machine has, or allow it with --allow-differences",
            )

    def _on_heard(self, heard: Heard | Delivered, attempt: Attempt, handing: Handing, on_phase: OnPhase) -> None:
        handing.begin(attempt)
        match heard:
            case InPhase():
                on_phase(attempt.task.job, heard.phase, attempt.member.name)
            case Answered():
                self._on_answer(heard, attempt, handing, on_phase)
            case Delivered():
                self._on_delivered(heard, attempt, handing)
            case Failed(key, error):
                self._lose(key, handing, in_a_line(f"{type(error).__name__}: {error}", 200))
            case Forgotten(key):
                handing.put_back(key)

    def _on_answer(self, heard: Answered, attempt: Attempt, handing: Handing, on_phase: OnPhase) -> None:
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
            member.has_ended_one = True
            member.holds |= {parcel.name for parcel in attempt.order.parcels}
            self._ended.append((job, self._placed(end_of(answer, blob), attempt, answer)))
        elif answer.kind == "lacking" and attempt.times_sent == MOST_SENT:
            self._put_aside(member, f"does not keep what it is sent: {', '.join(answer.lacking)}", handing)
        elif answer.kind == "lacking":
            on_phase(job, "sending data", member.name)
            self._send(heard.attempt, attempt, answer.lacking)
        elif answer.kind == "unable":
            self._put_aside(member, answer.message, handing)
        else:
            self._lose(heard.attempt, handing, "")

    def _placed(self, end: JobEnd, attempt: Attempt, answer: Answer) -> JobEnd:
        """The end with where it was: on a machine that is shared also where who shared it has gone meanwhile."""
        site = self.roster.site_of(attempt.member)
        here = replace(
            site,
            versions={**site.versions, **answer.packages},
            at_once=max(site.at_once, attempt.at_once),
            started=answer.started,
            load=answer.load,
        )
        return replace(end, site=here)

    # -- what a worker lacks -----------------------------------------------------------------------------------------

    def _send(self, key: str, attempt: Attempt, lacking: tuple[str, ...]) -> None:
        """Have the parcels sent that a worker lacks; the attempt keeps its place meanwhile."""
        wanted = [parcel for parcel in (*attempt.order.parcels, *self._luggage.code) if parcel.name in lacking]
        member = attempt.member

        def deliver() -> None:
            try:
                self.deliveries.deliver(member.hello.home, member.address, wanted)
                self._events.put(Delivered(key))
            except Exception as error:
                self._events.put(Delivered(key, error))

        self._senders.submit(deliver)

    def _on_delivered(self, delivered: Delivered, attempt: Attempt, handing: Handing) -> None:
        if isinstance(delivered.error, WorkerGone):
            self._lose(delivered.attempt, handing, "while it was sent data")
        elif delivered.error is not None:
            self._put_aside(attempt.member, str(delivered.error), handing)
        else:
            handing.give_again(delivered.attempt)

    def _put_aside(self, member: Member, reason: str, handing: Handing) -> None:
        """Give a worker that cannot run trials no more of them; HarnessError where it was the last."""
        handing.put_all_back(member)
        self.roster.put_aside(member, reason)
        told = f"worker {member.name}: {reason}"
        if not self.roster.members:
            raise HarnessError(told, next_step="what is done is kept; the same command goes on from there")
        self._say(f"warning: gets no more trials: {told}")

    # -- losing ------------------------------------------------------------------------------------------------------

    def _lose(self, key: str, handing: Handing, reason: str) -> None:
        """A worker was lost with a trial: where that has happened too often, it has crashed."""
        site = self.roster.site_of(self._attempts.by_key[key].member)
        task = handing.lose(key, reason)
        if task is not None:
            times = counted(len(task.lost_on), "worker was", "workers were")
            message = f"{times} lost with it: {', '.join(task.lost_on)}"
            self._ended.append((task.job, JobEnd("crash", message=message, site=site)))


def _parcels_of(job: Job) -> tuple[Parcel, ...]:
    if not isinstance(job.payload, TrialJob):
        return ()
    trial = job.payload.trial
    data = data_parcel(trial.data_folder, trial.fingerprint)
    seen = representation_parcel(trial.represented_folder) if trial.represented_folder else None
    return (data, seen) if seen else (data,)


def _tell_nobody(job: Job, phase: str, worker: str = "", /) -> None: ...
