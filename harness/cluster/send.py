"""The host's connections to workers: send artifacts, and call functions.

An artifact is sent in pieces over Dask's connections. Neither end keeps more than a few pieces in memory. Workers that
share a data home receive an artifact only once.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import Client
from distributed.protocol import to_serialize
from distributed.protocol.pickle import dumps

from harness.cluster.artifacts import Artifact, checksum_of, files_of, pieces_of
from harness.cluster.messages import CallFailed, WorkerGone
from harness.cluster.receive import (
    PIECE_OP,
    Checksums,
    begin_transfer,
    finish_transfer,
)
from harness.errors import DataError

# -- artifacts -------------------------------------------------------------------------------------------------------

PIECE_BYTES = 8 << 20
MAX_UNCONFIRMED = 4
"""The number of pieces that are sent before the first of them has to be confirmed."""


@dataclass(frozen=True)
class ArtifactsSent:
    """An event: the artifacts for an attempt were sent to its worker, or sending failed with an error."""

    attempt: str
    error: Exception | None = None


class TransferRefused(DataError):
    """Raised if a worker cannot store an artifact, with the worker's message."""


class Transfers:
    """Sends artifacts to workers. Several threads may use it: an artifact is not sent twice at a time to a data home.

    Parameters
    ----------
    caller : Caller
        Calls functions on workers.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._running: dict[tuple[str, str], Future[int]] = {}
        """By data home and name of the artifact, the running transfers."""
        self._lock = threading.Lock()
        self.sent_bytes = 0

    def send(self, home: str, worker: str, artifacts: Iterable[Artifact]) -> None:
        """Send artifacts to a data home through one of its workers, and wait until they have arrived.

        If another thread is already sending one of them to this data home, wait for that transfer instead. If it fails,
        send the artifact through this worker.

        Parameters
        ----------
        home : str
            The identifier of the data home.
        worker : str
            The address of the worker.
        artifacts : iterable of Artifact
            The artifacts that the worker lacks.

        Raises
        ------
        TransferRefused
            If the worker cannot store an artifact.
        WorkerGone
            If the worker is lost.
        """
        for artifact in artifacts:
            while not self._is_sent(home, worker, artifact):
                pass

    def _is_sent(self, home: str, worker: str, artifact: Artifact) -> bool:
        """Send an artifact, or wait for a running transfer of it; return False if that transfer has failed."""
        wanted = (home, artifact.name)
        with self._lock:
            running = self._running.get(wanted)
            if running is None:
                own: Future[int] = Future()
                self._running[wanted] = own
        if running is not None:
            return running.exception() is None
        self._send(wanted, worker, artifact, own)
        return True

    def _send(self, wanted: tuple[str, str], worker: str, artifact: Artifact, transfer: Future[int]) -> None:
        try:
            n_bytes = send_artifact(self._caller, worker, artifact)
            self.sent_bytes += n_bytes
            transfer.set_result(n_bytes)
        except BaseException as error:
            transfer.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._running[wanted]


def send_artifact(caller: Caller, worker: str, artifact: Artifact) -> int:
    """Send an artifact to a worker, and return its size in bytes.

    This blocks, so it must not be called in the thread of the client's event loop.

    Parameters
    ----------
    caller : Caller
        Connection to the workers.
    worker : str
        The Dask address of the worker.
    artifact : Artifact
        The artifact, whose files are on this machine.

    Raises
    ------
    DataError
        If a file cannot be read on this machine, or if the worker refuses the artifact.
    """
    try:
        n_bytes: int = caller.client.sync(_send, caller, worker, artifact)
    except OSError as error:
        if error.filename is None:
            raise
        raise DataError(f"{error.filename} cannot be read: {error.strerror}") from error
    return n_bytes


async def _send(caller: Caller, worker: str, artifact: Artifact) -> int:
    """Send the files of an artifact in pieces, one after the other; return the artifact's size in bytes."""
    source = Path(artifact.source)
    files = files_of(artifact)
    n_bytes = sum((source / file).stat().st_size for file in files)
    transfer = secrets.token_hex(8)
    _check(await caller.call_soon(worker, begin_transfer, transfer, artifact, n_bytes))
    checksums: Checksums = {}
    for file in files:
        await _send_file(caller, worker, transfer, source, str(file), checksums)
    _check(await caller.call_soon(worker, finish_transfer, transfer, checksums))
    return n_bytes


async def _send_file(caller: Caller, worker: str, transfer: str, source: Path, name: str, checksums: Checksums) -> None:
    """Send one file in pieces over Dask's connections, and add the checksums of the pieces to `checksums`."""
    offset = 0
    unconfirmed: deque[asyncio.Task[str]] = deque()
    pieces = pieces_of(source / name, PIECE_BYTES)
    try:
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            sending = caller.tell(
                worker, PIECE_OP, transfer=transfer, name=name, offset=offset, piece=to_serialize(piece)
            )
            unconfirmed.append(asyncio.create_task(sending))
            checksums[name, offset] = await asyncio.to_thread(checksum_of, piece)
            offset += len(piece)
            if len(unconfirmed) == MAX_UNCONFIRMED:
                _check(await unconfirmed.popleft())
        while unconfirmed:
            _check(await unconfirmed.popleft())
    finally:
        for task in unconfirmed:
            task.cancel()


def _check(problem: object) -> None:
    """Raise TransferRefused if a worker has returned a problem."""
    if problem:
        raise TransferRefused(str(problem))


# -- calls -----------------------------------------------------------------------------------------------------------

REACH_SECONDS = 3.0
"""A worker that cannot be reached in this time is called through the scheduler. This is common in Kubernetes."""
ANSWER_SECONDS = 120.0
"""The time limit of a call. It is long, since a worker may have to import large packages from a slow disk."""


class Caller:
    """Calls functions on workers: directly if the host can reach the worker, and otherwise through the scheduler.

    The functions must return bytes or text, since the host does not unpickle data of workers.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._direct: dict[str, bool] = {}
        """By address, True if the host can reach the worker directly."""

    def call(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on a worker, and wait for its result.

        This blocks, so it must not be called in the thread of the client's event loop.

        Parameters
        ----------
        worker : str
            The address of the worker.
        function : callable
            The function. Dask sets its argument `dask_worker`, if it has one.
        *arguments : object
            The arguments, which must be picklable.

        Raises
        ------
        WorkerGone
            If the worker does not reply.
        CallFailed
            If the function raises an error.
        """
        try:
            return self.client.sync(self.call_soon, worker, function, *arguments, callback_timeout=ANSWER_SECONDS)
        except TimeoutError as error:
            raise WorkerGone(f"no answer in {ANSWER_SECONDS:g} s") from error

    async def call_soon(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function as `call` does, but as a coroutine in the client's event loop, without a time limit.

        Parameters
        ----------
        worker : str
            The Dask address of the worker.
        function : callable
            A function that the worker can import.
        *arguments : object
            Its arguments.

        Raises
        ------
        CallFailed
            If the function raises an error on the worker.
        """
        message = {"function": dumps(function), "args": dumps(arguments)}
        response = await self.tell(worker, "run", wait=True, kwargs=dumps({}), **message)
        if not isinstance(response, dict):
            raise CallFailed(f"unexpected answer of type {type(response).__name__}")
        if response.get("status") != "OK":
            raise CallFailed(f"{response.get('text') or response.get('exception_text') or 'no reason given'}")
        return response.get("result")

    async def tell(self, worker: str, op: str, **message: Any) -> Any:
        """Send a message to a handler of a worker, and return the reply.

        Parameters
        ----------
        worker : str
            The address of the worker.
        op : str
            The name of the handler.
        **message : object
            The arguments of the handler.

        Raises
        ------
        WorkerGone
            If the worker cannot be reached, or does not reply.
        """
        is_direct = await self.is_in_reach(worker)
        try:
            if is_direct:
                return await getattr(self.client.rpc(worker), op)(**message)
            content = {"op": op, **message}
            answers = await self.client.scheduler.broadcast(msg=content, workers=[worker], on_error="return_pickle")
        except (TimeoutError, OSError, KeyError) as error:
            raise WorkerGone(f"{type(error).__name__}: {error}") from error
        response = answers[worker]
        if isinstance(response, bytes):  # a pickled exception, which must not be unpickled
            raise WorkerGone("the scheduler could not reach it")
        return response

    async def is_in_reach(self, worker: str) -> bool:
        """Return whether the host can reach a worker directly. The first call tests this, and its result is kept."""
        if worker not in self._direct:
            try:
                await asyncio.wait_for(self.client.rpc(worker).identity(), REACH_SECONDS)
                self._direct[worker] = True
            except (TimeoutError, OSError):
                self._direct[worker] = False
        return self._direct[worker]
