"""Who is there: workers as they come and go, each asked what it is before its first trial, put aside if it differs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from harness.cluster.calling import Caller, WorkerGone
from harness.cluster.delivering import Deliveries
from harness.cluster.describing import CodeTarget, Reference, describe_code, describe_worker, differences
from harness.cluster.messages import Hello, Order, WantedEnvironment, read_hello
from harness.cluster.parcels import Parcel
from harness.errors import HarnessError
from harness.executors.base import Site
from harness.machine import describe_versions
from harness.wording import in_a_line

ASKERS = 32
"""Workers that are asked at once: one that does not answer holds up nobody else."""
MESSAGE_LENGTH = 500


@dataclass(frozen=True)
class Luggage:
    """What goes with every trial of a run, and what workers are compared by."""

    code: tuple[Parcel, ...] = ()
    environments: Mapping[str, WantedEnvironment] = field(default_factory=dict)
    targets: Mapping[str, CodeTarget] = field(default_factory=dict)
    allow_differences: bool = False

    @cached_property
    def reference(self) -> Reference:
        """What this host has."""
        return Reference(describe_versions(), describe_code(self.targets))


@dataclass
class Member:
    """A worker that trials may run on."""

    address: str
    hello: Hello
    differing: Mapping[str, str] = field(default_factory=dict)
    """Digests of code that differs from the host's, where that was allowed."""
    line: list[str] = field(default_factory=list)
    """Attempts that it has, in the order in which it got them: as many as it takes at once run, the others wait."""
    has_ended_one: bool = False
    """Whether it has run a trial to its end."""
    holds: set[str] = field(default_factory=set)
    """Parcels that trials have found there, by name."""

    def has_all(self, order: Order) -> bool:
        """Whether trials have found there all that this one reads."""
        return all(parcel.name in self.holds for parcel in order.parcels)

    @property
    def name(self) -> str:
        """As people know it: the name that it was given, with its address where that says more."""
        return self.hello.name if self.hello.name == self.address else f"{self.hello.name} ({self.address})"

    @property
    def kind(self) -> str:
        """Of its machine: the model of its processor."""
        return self.hello.machine.processor


@dataclass(frozen=True)
class Welcomed:
    """A worker that was asked: it may have trials, or may not, and why; or it did not answer."""

    address: str
    member: Member | None = None
    refused: str = ""


class Roster:
    """The workers of a cluster, as one run knows them."""

    def __init__(self, caller: Caller, deliveries: Deliveries, luggage: Luggage, tell: Callable[[Any], None]) -> None:
        self._caller, self._deliveries, self._luggage, self._tell = caller, deliveries, luggage, tell
        self.members: dict[str, Member] = {}
        self.aside: dict[str, str] = {}
        """Workers that get no trial, and why."""
        self._asked: set[str] = set()
        self._may_ask = threading.BoundedSemaphore(ASKERS)

    def look(self, present: Iterable[str]) -> list[Member]:
        """Take note of who is there now: new ones are asked what they are; gives those that have gone."""
        there = set(present)
        lost = [self.members.pop(address) for address in set(self.members) - there]
        for address in set(self.aside) - there:
            del self.aside[address]
        self._asked &= there
        for address in sorted(there - self._asked):
            self._asked.add(address)
            threading.Thread(target=self._welcome, args=(address,), name="harness-welcome", daemon=True).start()
        return lost

    def is_asking(self) -> bool:
        """Whether some have been asked and have not answered yet."""
        return bool(self._asked - set(self.members) - set(self.aside))

    def add(self, welcomed: Welcomed) -> None:
        """Let a worker in that may have trials, if it is still there."""
        if welcomed.address not in self._asked:
            return
        if welcomed.member is not None:
            self.members[welcomed.address] = welcomed.member
        elif welcomed.refused:
            self.aside[welcomed.address] = welcomed.refused
        else:
            self._asked.remove(welcomed.address)  # if it is still there, it is asked again

    def put_aside(self, member: Member, reason: str) -> None:
        """Give a worker no more trials."""
        self.members.pop(member.address, None)
        self.aside[member.address] = reason

    def site_of(self, member: Member) -> Site:
        """Where a trial runs that this worker gets."""
        slots: Counter[str] = Counter()
        for other in self.members.values():
            slots[other.hello.host] += other.hello.slots
        hello = member.hello
        versions = {**hello.versions, **member.differing}
        return Site(member.name, hello.machine, versions, at_once=max(1, slots[hello.host]))

    # -- in threads of their own -------------------------------------------------------------------------------------

    def _welcome(self, address: str) -> None:
        try:
            with self._may_ask:
                member = self._judge(address, self._complete(address))
            self._tell(Welcomed(address, member))
        except (WorkerGone, OSError):  # it has gone, or the scheduler has, which is noticed elsewhere
            self._tell(Welcomed(address))
        except (HarnessError, ValueError) as error:
            self._tell(Welcomed(address, refused=str(error)))
        except Exception as error:  # whatever a worker makes of a question: nobody must wait for it in vain
            self._tell(Welcomed(address, refused=in_a_line(f"{type(error).__name__}: {error}", MESSAGE_LENGTH)))

    def _ask(self, address: str) -> Hello:
        answer = self._caller.call(address, describe_worker, self._luggage.targets, self._luggage.code)
        return read_hello(answer)

    def _complete(self, address: str) -> Hello:
        """What a worker says once it has all code that is sent along."""
        hello = self._ask(address)
        if hello.lacking:
            lacking = [parcel for parcel in self._luggage.code if parcel.name in hello.lacking]
            self._deliveries.deliver(hello.home, address, lacking)
            hello = self._ask(address)
        if hello.lacking:
            raise HarnessError(f"does not keep what it is sent: {', '.join(hello.lacking)}")
        return hello

    def _judge(self, address: str, hello: Hello) -> Member:
        """A member; HarnessError names what it has that is not as it is here."""
        reference = self._luggage.reference
        told = differences(reference, hello)
        if not told:
            return Member(address, hello)
        if not self._luggage.allow_differences:
            raise HarnessError(f"has {', '.join(told)}", culprit=hello.name)
        other = {name: digest for name, digest in hello.code.items() if reference.code.get(name) != digest}
        return Member(address, hello, {f"code of {name}": digest for name, digest in other.items()})
