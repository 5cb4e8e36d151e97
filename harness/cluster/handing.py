"""Hands out trials: who gets which, who has one waiting behind the one that it runs, and what happens to those of a
worker that goes.

A worker that is at work has its next trial already, so that no time passes between two; whoever has nothing to do gets
what waits behind another's. Only a trial that was running counts as lost with its worker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from harness.cluster.attempts import Attempt, Attempts
from harness.cluster.messages import Order
from harness.cluster.roster import Member, Roster
from harness.cluster.waiting import Task, Waiting
from harness.executors.base import Job, OnPhase

AHEAD = 1
"""Trials that a worker has beyond those that it runs."""
MOST_LOST: Final = 3
"""Workers that may be lost with one trial before it counts as crashed."""


class Handing:
    """The jobs of one run on their way to workers."""

    def __init__(
        self, waiting: Waiting, roster: Roster, attempts: Attempts, order_of: Callable[[Job], Order], on_phase: OnPhase
    ) -> None:
        self._waiting, self._roster, self._attempts = waiting, roster, attempts
        self._order_of, self._on_phase = order_of, on_phase

    def is_over(self) -> bool:
        """Whether every job has ended."""
        return not self._attempts.by_key and self._waiting.is_empty()

    def hand_out(self) -> None:
        """Give every worker as much as it may have: first to whoever has nothing to do, then ahead."""
        if not self._attempts.has_begun_any and self._roster.is_asking():
            return  # whoever differs is named before anybody runs anything
        members = list(self._roster.members.values())
        self._fill(members, 0)
        self._share(members)
        if not self._waiting.n_lost:  # one that was lost before is given alone: what it does, it does to nobody else
            self._fill([member for member in members if self._may_have_more(member)], AHEAD)
        for member in members:
            for key in member.line[: member.hello.slots]:
                self.begin(self._attempts.by_key[key])

    def begin(self, attempt: Attempt) -> None:
        """Take an attempt to be running: it is first in its worker's line, or something was heard of it."""
        if not attempt.has_begun:
            attempt.has_begun = True
            attempt.at_once = self._roster.site_of(attempt.member).at_once
            self._on_phase(attempt.task.job, "start", attempt.member.name)

    def give_again(self, key: str) -> None:
        """Give a worker once more what it has not begun, as it lacked something then."""
        before = self._attempts.end(key)
        attempt = self._attempts.begin(before.task, before.member, before.order)
        attempt.has_begun, attempt.at_once = before.has_begun, before.at_once
        attempt.times_sent = before.times_sent + 1

    def put_back(self, key: str) -> None:
        """Have a worker's trial wait for the next that is free."""
        self._waiting.put_back(self._attempts.withdraw(key).task)

    def put_all_back(self, member: Member) -> None:
        """The same with all that a worker has."""
        for key in list(member.line):
            self.put_back(key)

    def lose(self, key: str, reason: str) -> Task | None:
        """A worker was lost with a trial: another gets it. Gives the task where that has happened too often."""
        attempt = self._attempts.withdraw(key)
        task = attempt.task
        if attempt.has_begun:
            task.lost_on.append(f"{attempt.member.name}{f' ({reason})' if reason else ''}")
        if len(task.lost_on) >= MOST_LOST:
            return task
        self._waiting.put_back(task)
        return None

    def _fill(self, members: list[Member], ahead: int) -> None:
        """Give these workers trials, until each has so many more than it runs at once."""
        kinds = {member.kind for member in self._roster.members.values()}
        for member in members:
            while len(member.line) < member.hello.slots + ahead:
                task = self._waiting.take(member.kind, kinds)
                if task is None:
                    break
                order = self._order_of(task.job)
                if ahead and not member.has_all(order):
                    self._waiting.put_back(task)
                    break
                self._attempts.begin(task, member, order)

    def _may_have_more(self, member: Member) -> bool:
        """Whether a worker may have trials ahead: it has shown that it can run them, and none is under suspicion.

        Nor does any wait for data: a trial would run while that comes in, and be timed.
        """
        running = [self._attempts.by_key[key] for key in member.line]
        is_settled = all(member.has_all(attempt.order) and not attempt.task.lost_on for attempt in running)
        return member.has_ended_one and is_settled

    def _share(self, members: list[Member]) -> None:
        """Take what waits behind others' trials for those of the same kind of machine that have nothing to do."""
        for kind in {member.kind for member in members}:
            alike = [member for member in members if member.kind == kind]
            free = sum(max(0, member.hello.slots - len(member.line)) for member in alike)
            if not free:
                continue
            behind = [key for member in alike for key in member.line[member.hello.slots :]]
            for key in behind:
                if free and not self._attempts.by_key[key].has_begun:
                    self.put_back(key)
                    free -= 1
            self._fill(alike, 0)
