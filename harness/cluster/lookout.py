"""Looks out for workers, in the client's own loop: what it sees comes as an event, and nobody waits for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.cluster.connecting import Connection
from harness.errors import HarnessError

LOOK_SECONDS = 0.5
"""How often it is looked who is there."""
PATIENCE_SECONDS = 10.0
"""How long a scheduler may be away that has been there."""
SILENCE_SECONDS = 60.0
"""How long one may say nothing whose connection stands: its machine may be busy, or it imports what it was sent."""


@dataclass(frozen=True)
class Present:
    """The addresses of all workers that the scheduler knows now."""

    addresses: frozenset[str]


class Lookout:
    """Tells who is there, from when it is started until it is stopped."""

    def __init__(self, connection: Connection, tell: Callable[[Any], None]) -> None:
        self._connection, self._client, self._tell = connection, connection.client, tell
        self._turn = 0
        """Raised at every start and stop: a look that belongs to an earlier turn is the last of its kind."""
        self._last_there = 0.0

    def start(self) -> None:
        """Look at once, and then again and again."""
        self._turn += 1
        self.note()
        self._client.loop.add_callback(self._look, self._turn)

    def stop(self) -> None:
        """Look no more."""
        self._turn += 1

    def note(self) -> None:
        """The scheduler has answered."""
        self._last_there = time.monotonic()

    def check(self) -> None:
        """HarnessError where the scheduler has gone."""
        status = self._client.status
        patience = SILENCE_SECONDS if status == "running" else PATIENCE_SECONDS
        if status in ("closing", "closed") or time.monotonic() - self._last_there > patience:
            raise HarnessError(
                f"the scheduler at {self._connection.address} does not answer any more",
                culprit="--on",
                next_step="what is done is kept; once it is back, the same command goes on from there",
            )

    async def _look(self, turn: int) -> None:
        while turn == self._turn:
            try:
                there = await asyncio.wait_for(self._client.scheduler.ncores(), SILENCE_SECONDS)
                if turn == self._turn:
                    self._tell(Present(frozenset(there)))
            except (TimeoutError, OSError, AttributeError):  # no scheduler any more, or none yet: `check` counts
                pass
            await asyncio.sleep(LOOK_SECONDS)
