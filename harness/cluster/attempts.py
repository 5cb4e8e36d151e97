"""Trials that workers have: each attempt has a key of its own, so that what comes too late is not taken for another."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from distributed import Client, Future

from harness.cluster.messages import Order, pack_order
from harness.cluster.roster import Member
from harness.cluster.waiting import Task
from harness.cluster.working import run_order
from harness.errors import HarnessError
from harness.wording import in_a_line

PHASE_LENGTH = 100


@dataclass
class Attempt:
    """A task that one worker has."""

    task: Task
    member: Member
    order: Order
    future: Future | None
    has_begun: bool = False
    """Whether it is taken to run there: until then it waits behind another."""
    at_once: int = 1
    """Trials that shared its machine when it began, as many as they may be."""
    times_sent: int = 0
    """How often its worker was sent what it lacked for it."""


@dataclass(frozen=True)
class InPhase:
    """A trial has come to its next phase, as its worker tells."""

    attempt: str
    phase: str


@dataclass(frozen=True)
class Answered:
    """What a worker gave back, as it came."""

    attempt: str
    content: object


@dataclass(frozen=True)
class Failed:
    """An attempt that no answer comes of, and why."""

    attempt: str
    error: BaseException


@dataclass(frozen=True)
class Forgotten:
    """An attempt that the scheduler does not know any more: it was away meanwhile."""

    attempt: str


Heard = InPhase | Answered | Failed | Forgotten


class Attempts:
    """All that are under way. What is heard of them is told from other threads, as it comes."""

    def __init__(self, client: Client, tell: Callable[[Heard], None]) -> None:
        self._client, self._tell = client, tell
        self.by_key: dict[str, Attempt] = {}
        self.has_begun_any = False
        """Whether a worker ever got one."""
        # Events of this topic are dropped by the scheduler once this client has gone.
        client.subscribe_topic(client.id, self._on_event)

    def begin(self, task: Task, member: Member, order: Order) -> Attempt:
        """Bind a task to a worker: nobody else will run it."""
        key = f"harness-trial-{secrets.token_hex(16)}"
        content = _packed(replace(order, attempt=key))
        future = self._client.submit(
            run_order, content, key=key, workers=[member.address], allow_other_workers=False, pure=False, retries=0
        )
        member.line.append(key)
        self.has_begun_any = True
        self.by_key[key] = Attempt(task, member, order, future)
        self._client.loop.add_callback(self._collect, key, future)
        return self.by_key[key]

    def end(self, key: str) -> Attempt:
        """An attempt has been answered, or nobody waits for it any more: what still comes of it is not heard."""
        attempt = self.by_key.pop(key)
        attempt.member.line.remove(key)
        attempt.future = None  # and with it goes what the worker keeps of it
        return attempt

    def withdraw(self, key: str) -> Attempt:
        """End an attempt that has not been answered, so that nobody runs it either, now or when its worker returns."""
        future = self.by_key[key].future
        if future is not None:
            self._cancel([future])
        return self.end(key)

    def end_all(self) -> None:
        """Have every worker end what it runs."""
        futures = [attempt.future for attempt in self.by_key.values() if attempt.future is not None]
        for attempt in self.by_key.values():
            attempt.member.line.clear()
        self.by_key.clear()
        self._cancel(futures)

    def close(self) -> None:
        """End all, and listen no more."""
        self.end_all()
        with contextlib.suppress(Exception):  # a client that has lost its scheduler has nobody to tell
            self._client.unsubscribe_topic(self._client.id)

    def _cancel(self, futures: list[Future]) -> None:
        if futures and self._client.status == "running":
            with contextlib.suppress(Exception):  # a scheduler that has gone has cancelled them
                self._client.cancel(futures, force=True)

    async def _collect(self, key: str, future: Future) -> None:
        """Wait for an answer inside of the client's loop, where waiting for thousands costs no thread."""
        try:
            (content,) = await self._client.gather([future], asynchronous=True)
            self._tell(Answered(key, content))
        except (asyncio.CancelledError, concurrent.futures.CancelledError):
            self._tell(Forgotten(key))
        except Exception as error:
            self._tell(Failed(key, error))

    async def _on_event(self, event: tuple[float, Any]) -> None:
        """A phase that a worker tells; whatever else comes under this topic is dask's own."""
        _, told = event
        if isinstance(told, dict) and isinstance(told.get("phase"), str) and isinstance(told.get("attempt"), str):
            self._tell(InPhase(told["attempt"], in_a_line(told["phase"], PHASE_LENGTH)))


def _packed(order: Order) -> bytes:
    try:
        return pack_order(order)
    except Exception as error:  # whatever a value says that cannot be pickled
        raise HarnessError(
            f"the job {order.job.target} cannot be sent to a worker: {type(error).__name__}: {error}"
        ) from error
