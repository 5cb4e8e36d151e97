"""Transfer to workers: the host calls functions and sends artifacts; the worker stores them.

An artifact is sent in pieces over Dask's connections. Neither end keeps more than a few pieces in memory. Workers that
share a data home receive an artifact only once. A worker stores the files in a hidden folder, and publishes it when it
is complete. If two hosts send the same artifact at the same time, each fills a separate folder, and the first complete
folder is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from distributed import Client, Worker
from distributed.protocol import to_serialize
from distributed.protocol.pickle import dumps

from harness.cluster.messages import Artifact, CallFailed, WorkerGone, checksum_of, files_of, is_intact, pieces_of
from harness.errors import DataError, HarnessError
from harness.files.atomic import publish_folder
from harness.files.home import make_room, not_writable, remove, remove_unfinished, work_folder
from harness.text import in_a_line

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


ABANDONED_SECONDS = 60.0
"""A transfer that receives nothing for this time is dropped, since its host has probably ended."""
MESSAGE_LENGTH = 500
"""Longer messages to the host are cut."""
PIECE_OP = "harness_piece"
"""The name of the handler for pieces, which `begin_transfer` adds to the Dask worker."""
Checksums = dict[tuple[str, int], int]
"""By file and offset, the checksums of pieces, which may arrive in any order."""
INTERRUPTED = "the transfer was interrupted"


@dataclass
class _Transfer:
    """An artifact that is being received."""

    artifact: Artifact
    work: contextlib.ExitStack
    folder: Path
    last_piece: float = field(default_factory=time.monotonic)
    checksums: Checksums = field(default_factory=dict)


_transfers: dict[str, _Transfer] = {}
"""Running transfers, by the identifier that the host has chosen."""


# -- called by the host ----------------------------------------------------------------------------------------------


async def begin_transfer(transfer: str, artifact: Artifact, n_bytes: int, dask_worker: Worker | None = None) -> str:
    """Prepare to receive an artifact in pieces. The host calls this function on the worker.

    Parameters
    ----------
    transfer : str
        A unique identifier for the transfer.
    artifact : Artifact
        The artifact.
    n_bytes : int
        The size of the artifact, which must fit on the disk.
    dask_worker : distributed.Worker
        Set by Dask.

    Returns
    -------
    str
        The reason why this failed, or an empty text.
    """
    if dask_worker is not None:
        dask_worker.handlers[PIECE_OP] = receive_piece
    return await asyncio.to_thread(problem_of, _begin, transfer, artifact, n_bytes)


async def receive_piece(transfer: str, name: str, offset: int, piece: bytes | memoryview) -> str:
    """Write a piece of a file; return the reason why this failed, or an empty text.

    The host does not call this as a function, which would pickle the piece, but as a handler of the Dask worker.

    Parameters
    ----------
    transfer : str
        The key of the transfer.
    name : str
        Path of the file below the folder of the artifact.
    offset : int
        Position of the piece in the file.
    piece : bytes or memoryview
        The bytes to write.
    """
    return await asyncio.to_thread(problem_of, _write, transfer, name, offset, piece)


async def finish_transfer(transfer: str, checksums: Checksums) -> str:
    """Compare checksums with those of the host, and publish the artifact.

    Parameters
    ----------
    transfer : str
        The key of the transfer.
    checksums : Checksums
        The checksum of each file on the host.

    Returns
    -------
    str
        The reason why this failed, or an empty text.
    """
    return await asyncio.to_thread(problem_of, _finish, transfer, checksums)


def problem_of(step: Callable[..., None], transfer: str, *arguments: object) -> str:
    """Run a step of a transfer, and return its error as text; empty if it succeeded.

    An error drops the transfer. It is returned as text because the host does not unpickle exceptions of workers.

    Parameters
    ----------
    step : callable
        A function whose first argument is the key of the transfer.
    transfer : str
        The key of the transfer.
    *arguments : object
        Further arguments of the function.
    """
    try:
        step(transfer, *arguments)
        return ""
    except KeyError:  # the transfer was dropped
        problem = INTERRUPTED
    except (TimeoutError, ConnectionError):  # these are OSErrors too, but not of the disk
        problem = INTERRUPTED
    except OSError as error:
        problem = str(not_writable(error))
    except HarnessError as error:
        problem = str(error)
    _drop(transfer)
    return in_a_line(problem, MESSAGE_LENGTH)


# -- steps of a transfer ---------------------------------------------------------------------------------------------


def _begin(transfer: str, artifact: Artifact, n_bytes: int) -> None:
    """Create the hidden folder for an artifact; DataError if the disk has not enough space."""
    _drop_abandoned()
    place = artifact.place
    remove_unfinished(place)
    work = contextlib.ExitStack()
    folder = work.enter_context(work_folder(place.parent, place.name)) / place.name
    _transfers[transfer] = _Transfer(artifact, work, folder)
    folder.mkdir()
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise DataError(f"{place.parent} has {free / 1e9:.2g} GB free, and {n_bytes / 1e9:.2g} GB are needed")


def _file_of(transfer: str, name: str) -> Path:
    """Return the path for a file in the hidden folder; DataError if the name leads out of the folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise DataError(f"{name!r} is not below the folder that is sent")
    _keep_alive(transfer)
    file = _transfers[transfer].folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _write(transfer: str, name: str, offset: int, piece: bytes | memoryview) -> None:
    """Write a piece of a file at its offset, and record its checksum."""
    handle = os.open(_file_of(transfer, name), os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        view, position = memoryview(piece), offset
        while view:
            written = os.pwrite(handle, view, position)
            view, position = view[written:], position + written
    finally:
        os.close(handle)
    _transfers[transfer].checksums[name, offset] = checksum_of(piece)


def _finish(transfer: str, sent: Checksums) -> None:
    """Move an artifact from the hidden folder to its place; DataError if checksums differ."""
    arrived = _transfers[transfer]
    if arrived.checksums != sent:
        damaged = sorted({piece[0] for piece in sent if arrived.checksums.get(piece) != sent[piece]})
        raise DataError(f"{arrived.artifact.name} was damaged on its way: {', '.join(damaged)}")
    place = arrived.artifact.place
    if place.exists() and not is_intact(arrived.artifact, place):
        remove(place)
    publish_folder(arrived.folder, place, read_only=True)  # keeps a copy that another host has sent
    _drop(transfer)
    if arrived.artifact.kind == "representation":
        make_room(spare=place)  # if one larger than the cache were removed, it would be sent again and again


def _keep_alive(transfer: str) -> None:
    """Record that data has arrived."""
    _transfers[transfer].last_piece = time.monotonic()


def _drop(transfer: str) -> None:
    """Remove a transfer and its hidden folder."""
    dropped = _transfers.pop(transfer, None)
    if dropped is not None:
        dropped.work.close()


def _drop_abandoned() -> None:
    """Drop all transfers that have received nothing for `ABANDONED_SECONDS`."""
    for key, transfer in list(_transfers.items()):
        if time.monotonic() - transfer.last_piece > ABANDONED_SECONDS:
            _drop(key)
