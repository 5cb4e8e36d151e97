"""Functions called on workers, beside their tasks: straight from here where that is possible, else by the scheduler.

What they give back is bytes or text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from distributed import Client
from distributed.protocol.pickle import dumps

from harness.errors import HarnessError

REACH_SECONDS = 3.0
"""After so long without an answer to a first call a worker is taken to be out of reach, as behind Kubernetes."""


ANSWER_SECONDS = 120.0
"""How long a worker may take to answer: it may have to import all that a plugin brings, on a disk far away."""


class CallFailed(HarnessError):
    """A function that could not be run on a worker, which is there."""


class WorkerGone(HarnessError):
    """A worker that did not answer a call."""


class Caller:
    """Calls on the workers of one client."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._direct: dict[str, bool] = {}
        """By worker, whether it can be reached from here."""

    def call(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function gives on a worker; from any thread but the client's own. WorkerGone where none answers."""
        try:
            return self.client.sync(self.call_soon, worker, function, *arguments, callback_timeout=ANSWER_SECONDS)
        except TimeoutError as error:
            raise WorkerGone(f"no answer in {ANSWER_SECONDS:g} s") from error

    async def call_soon(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """The same inside of the client's own loop."""
        message = {"function": dumps(function), "args": dumps(arguments)}
        response = await self.tell(worker, "run", wait=True, kwargs=dumps({}), **message)
        if not isinstance(response, dict):
            raise CallFailed(f"it answers with a {type(response).__name__}")
        if response.get("status") != "OK":
            raise CallFailed(f"{response.get('text') or response.get('exception_text') or 'no reason given'}")
        return response.get("result")

    async def tell(self, worker: str, op: str, **message: Any) -> Any:
        """What a worker answers to a call that it knows; WorkerGone where it does not answer."""
        is_direct = await self.is_in_reach(worker)
        try:
            if is_direct:
                return await getattr(self.client.rpc(worker), op)(**message)
            spread = {"op": op, **message}
            told = await self.client.scheduler.broadcast(msg=spread, workers=[worker], on_error="return_pickle")
        except (TimeoutError, OSError, KeyError) as error:
            raise WorkerGone(f"{type(error).__name__}: {error}") from error
        response = told[worker]
        if isinstance(response, bytes):
            raise WorkerGone("its scheduler could not reach it")  # why is pickled, and stays so
        return response

    async def is_in_reach(self, worker: str) -> bool:
        """Whether a worker can be called straight from here; found out once."""
        if worker not in self._direct:
            try:
                await asyncio.wait_for(self.client.rpc(worker).identity(), REACH_SECONDS)
                self._direct[worker] = True
            except (TimeoutError, OSError):
                self._direct[worker] = False
        return self._direct[worker]
