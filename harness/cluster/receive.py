"""Transfers of artifacts: a worker stores the files in a hidden folder, and publishes it when it is complete.

Files arrive as pieces over Dask's connections, or as a stream over a separate connection. The module contains both ends
of the stream. If two hosts send the same artifact at the same time, each fills a separate folder, and the first
complete folder is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from distributed import Client, Worker
from distributed.comm import get_address_host

from harness.cluster.artifacts import Artifact, checksum_of, files_of, is_intact
from harness.cluster.messages import WorkerGone
from harness.errors import DataError, HarnessError
from harness.executors import wire
from harness.files.atomic import publish_folder
from harness.files.home import make_room, not_writable, remove, remove_unfinished, work_folder
from harness.text import in_a_line

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


# -- over Dask's connections -----------------------------------------------------------------------------------------


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
    """
    return await asyncio.to_thread(problem_of, _write, transfer, name, offset, piece)


async def finish_transfer(transfer: str, checksums: Checksums) -> str:
    """Compare checksums with those of the host, and publish the artifact.

    Returns
    -------
    str
        The reason why this failed, or an empty text.
    """
    return await asyncio.to_thread(problem_of, _finish, transfer, checksums)


def problem_of(step: Callable[..., None], transfer: str, *arguments: object) -> str:
    """Run a step of a transfer, and return its error as text; empty if it succeeded.

    An error drops the transfer. It is returned as text because the host does not unpickle exceptions of workers.
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


def _finish(transfer: str, checksums: Checksums) -> None:
    """Publish an artifact that has arrived in pieces."""
    _publish(transfer, checksums, _transfers[transfer].checksums)


def _publish(transfer: str, sent: Checksums, received: Checksums) -> None:
    """Move an artifact from the hidden folder to its place; DataError if checksums differ."""
    arrived = _transfers[transfer]
    if received != sent:
        damaged = sorted({piece[0] for piece in sent if received.get(piece) != sent[piece]})
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


# -- over a separate connection: on the worker -----------------------------------------------------------------------

BUFFER_BYTES = 1 << 20
WAIT_SECONDS = 10.0
"""The longest time to wait for a connection, and for the next bytes."""
TOKEN_LETTERS = 64
END = ""
"""Sent in place of a file's name when all files have been sent."""


class NoStream(Exception):
    """Raised if there is no separate connection to the worker. The artifact then goes over Dask's connections."""


async def open_stream(transfer: str, artifact: Artifact, n_bytes: int, dask_worker: Worker | None = None) -> bytes:
    """Listen for a connection over which `send_stream` sends an artifact. The host calls this on the worker.

    With TLS the connection uses the certificates of Dask.

    Parameters
    ----------
    transfer, artifact, n_bytes, dask_worker
        As in `begin_transfer`.

    Returns
    -------
    bytes
        A JSON object with the host, the port and the token that the sender must send first, or with the problem. The
        object is empty if the worker cannot listen, for example because its address belongs to another machine.
    """
    assert dask_worker is not None  # Dask sets an argument of this name
    try:
        listener = socket.create_server((get_address_host(dask_worker.address), 0))
    except OSError:
        return json.dumps({}).encode()
    problem = await asyncio.to_thread(problem_of, _begin, transfer, artifact, n_bytes)
    if problem:
        listener.close()
        return json.dumps({"problem": problem}).encode()
    context = dask_worker.security.get_listen_args("worker").get("ssl_context")
    token = secrets.token_hex(TOKEN_LETTERS // 2)
    threading.Thread(target=_accept, args=(listener, context, token, transfer), daemon=True).start()
    host, port = listener.getsockname()[:2]
    return json.dumps({"problem": "", "host": host, "port": port, "token": token}).encode()


def _accept(listener: socket.socket, context: ssl.SSLContext | None, token: str, transfer: str) -> None:
    """Accept one connection. If it sends the token, receive an artifact and reply with the problem or an empty text."""
    # An error means that the host has ended: `_drop_abandoned` removes the transfer later.
    with contextlib.suppress(OSError, ValueError), listener:
        listener.settimeout(WAIT_SECONDS)
        plain, _ = listener.accept()
        plain.settimeout(WAIT_SECONDS)
        with context.wrap_socket(plain, server_side=True) if context else plain as channel:
            if secrets.compare_digest(_read_token(channel), token.encode()):
                problem = problem_of(_receive, transfer, channel)
                channel.sendall(wire.pack_json(wire.RESULT, problem))


def _read_token(channel: socket.socket) -> bytes:
    """Return the first bytes of a connection, as many as a token has."""
    token = b""
    while len(token) < TOKEN_LETTERS and (more := channel.recv(TOKEN_LETTERS - len(token))):
        token += more
    return token


def _receive(transfer: str, channel: socket.socket) -> None:
    """Receive all files and publish the artifact."""
    checksums: Checksums = {}
    buffer = memoryview(bytearray(BUFFER_BYTES))
    while True:
        head = _read_json(channel)
        if head["name"] == END:
            _publish(transfer, {(name, 0): value for name, value in head["checksums"].items()}, checksums)
            return
        checksums[head["name"], 0] = _receive_file(transfer, channel, head, buffer)


def _receive_file(transfer: str, channel: socket.socket, head: dict[str, Any], buffer: memoryview) -> int:
    """Receive one file of `n_bytes` bytes, and return its checksum."""
    checksum, left = 0, head["n_bytes"]
    with open(_file_of(transfer, head["name"]), "wb", buffering=0) as out:
        while left:
            received = channel.recv_into(buffer, min(left, BUFFER_BYTES))
            if not received:
                raise DataError(INTERRUPTED)
            _keep_alive(transfer)
            piece = buffer[:received]
            checksum = checksum_of(piece, checksum)
            left -= received
            while piece:  # a disk that is almost full may take only a part
                piece = piece[out.write(piece) :]
    return checksum


def _read_json(channel: socket.socket) -> Any:
    """Return the content of the next frame; DataError if the connection is closed."""
    content = wire.receive(channel)
    if content is None:
        raise DataError(INTERRUPTED)
    return json.loads(content)


# -- over a separate connection: on the host -------------------------------------------------------------------------


def send_stream(client: Client, place: dict[str, Any], artifact: Artifact) -> str:
    """Send an artifact to a worker that listens.

    Parameters
    ----------
    client : Client
        The client of the cluster, whose certificates are used with TLS.
    place : dict
        The result of `open_stream`.
    artifact : Artifact
        The artifact.

    Returns
    -------
    str
        The reason why the worker could not store the artifact, or an empty text.

    Raises
    ------
    NoStream
        If no connection to the worker is possible.
    WorkerGone
        If the connection is interrupted.
    DataError
        If a file cannot be read.
    """
    channel = _connect(client, place)
    try:
        with channel:
            # If the worker has a problem, it closes the connection early: its reply can still be read.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                channel.sendall(place["token"].encode())
                _send_files(channel, artifact)
            answer = wire.receive(channel)
    except OSError as error:
        if error.filename is not None:
            raise DataError(f"{error.filename} cannot be read: {error.strerror}") from error
        raise WorkerGone(f"{type(error).__name__}: {error}") from error
    if answer is None:
        raise WorkerGone("the connection was interrupted")
    return str(json.loads(answer))


def _connect(client: Client, place: dict[str, Any]) -> socket.socket:
    """Return a connection to a worker that listens; NoStream if there is none."""
    if not place:
        raise NoStream("the worker cannot listen")
    context = client.security.get_connection_args("client").get("ssl_context")
    try:
        plain = socket.create_connection((place["host"], place["port"]), WAIT_SECONDS)
        return context.wrap_socket(plain, server_hostname=place["host"]) if context else plain
    except OSError as error:
        raise NoStream(str(error)) from error


def _send_files(channel: socket.socket, artifact: Artifact) -> None:
    """Send the size and the content of each file, and then the checksums of all files."""
    buffer = memoryview(bytearray(BUFFER_BYTES))
    checksums: dict[str, int] = {}
    for name in files_of(artifact):
        file = Path(artifact.source) / name
        left = file.stat().st_size
        channel.sendall(wire.pack_json(wire.JOB, {"name": str(name), "n_bytes": left}))
        checksum = 0
        with open(file, "rb", buffering=0) as source:
            while left:
                read = source.readinto(buffer[: min(left, BUFFER_BYTES)])
                if not read:
                    raise DataError(f"{file} became shorter while it was sent")
                checksum = checksum_of(buffer[:read], checksum)
                channel.sendall(buffer[:read])
                left -= read
        checksums[str(name)] = checksum
    channel.sendall(wire.pack_json(wire.JOB, {"name": END, "checksums": checksums}))
