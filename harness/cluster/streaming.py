"""A parcel over a connection of its own, where the worker can be reached: as quick as a copy by a plain socket.

The worker listens for one connection, which must bring the word that the host was given over dask's own; behind TLS it
is under the same certificates. Both ends hold one buffer, however large the parcel is.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

from distributed import Client, Worker
from distributed.comm import get_address_host

from harness.cluster.calling import WorkerGone
from harness.cluster.parcels import Parcel, checksum_of, files_of
from harness.cluster.receiving import begin_parcel, end_parcel, file_of, keep_alive, trouble_of
from harness.errors import DataError
from harness.executors import frames

BUFFER_BYTES = 1 << 20
WAIT_SECONDS = 10.0
"""For the other end to connect, and for its next bytes."""
WORD_LETTERS = 64
END = ""
"""In the place of a file's name: all have been sent."""


class NoStream(Exception):
    """The worker cannot be connected to from here: its parcel goes another way."""


# -- on the worker ---------------------------------------------------------------------------------------------------


async def open_stream(delivery: str, parcel: Parcel, n_bytes: int, dask_worker: Worker | None = None) -> bytes:
    """Make a place for a parcel and listen for it; gives where, and the word to bring, or what is wrong, as JSON.

    It gives nothing where it cannot listen, as behind an address that is not its machine's own.
    """
    assert dask_worker is not None  # dask gives it to functions that ask for it
    try:
        listener = socket.create_server((get_address_host(dask_worker.address), 0))
    except OSError:
        return json.dumps({}).encode()
    trouble = await asyncio.to_thread(trouble_of, begin_parcel, delivery, parcel, n_bytes)
    if trouble:
        listener.close()
        return json.dumps({"trouble": trouble}).encode()
    context = dask_worker.security.get_listen_args("worker").get("ssl_context")
    word = secrets.token_hex(WORD_LETTERS // 2)
    threading.Thread(target=_take, args=(listener, context, word, delivery), daemon=True).start()
    host, port = listener.getsockname()[:2]
    return json.dumps({"trouble": "", "host": host, "port": port, "word": word}).encode()


def _take(listener: socket.socket, context: ssl.SSLContext | None, word: str, delivery: str) -> None:
    """Take in one parcel from the one connection that brings the word, and answer what is wrong, or nothing."""
    with contextlib.suppress(OSError, ValueError), listener:  # its host has gone: what came is cleared away later
        listener.settimeout(WAIT_SECONDS)
        plain, _ = listener.accept()
        plain.settimeout(WAIT_SECONDS)
        with context.wrap_socket(plain, server_side=True) if context else plain as channel:
            brought = _word(channel)
            if secrets.compare_digest(brought, word.encode()):
                trouble = trouble_of(_receive, delivery, channel)
                channel.sendall(frames.pack_json(frames.RESULT, trouble))


def _word(channel: socket.socket) -> bytes:
    word = b""
    while len(word) < WORD_LETTERS and (more := channel.recv(WORD_LETTERS - len(word))):
        word += more
    return word


def _receive(delivery: str, channel: socket.socket) -> None:
    buffer = memoryview(bytearray(BUFFER_BYTES))
    checksums: dict[tuple[str, int], int] = {}
    while True:
        head = _read_json(channel)
        if head["name"] == END:
            end_parcel(delivery, {(name, 0): value for name, value in head["checksums"].items()}, checksums)
            return
        file = file_of(delivery, head["name"])
        checksum, left = 0, head["n_bytes"]
        with open(file, "wb", buffering=0) as out:
            while left:
                got = channel.recv_into(buffer, min(left, BUFFER_BYTES))
                if not got:
                    raise DataError("broken off")
                keep_alive(delivery)
                piece = buffer[:got]
                checksum = checksum_of(piece, checksum)
                left -= got
                while piece:  # a disk that gets full takes a part, and says why at the rest
                    piece = piece[out.write(piece) :]
        checksums[head["name"], 0] = checksum


def _read_json(channel: socket.socket) -> Any:
    content = frames.receive(channel)
    if content is None:
        raise DataError("broken off")
    return json.loads(content)


# -- on the host -----------------------------------------------------------------------------------------------------


def send_stream(client: Client, place: dict[str, Any], parcel: Parcel) -> str:
    """Send a parcel to where a worker listens; gives what is wrong, or nothing.

    NoStream where nobody can connect, WorkerGone where the connection breaks off.
    """
    if not place:
        raise NoStream("the worker cannot listen")
    context = client.security.get_connection_args("client").get("ssl_context")
    try:
        plain = socket.create_connection((place["host"], place["port"]), WAIT_SECONDS)
        channel = context.wrap_socket(plain, server_hostname=place["host"]) if context else plain
    except OSError as error:
        raise NoStream(str(error)) from error
    try:
        with channel:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the worker has said why, or has gone
                channel.sendall(place["word"].encode())
                _send_files(channel, parcel)
            answer = frames.receive(channel)
    except OSError as error:
        if error.filename is not None:
            raise DataError(f"{error.filename} cannot be read: {error.strerror}") from error
        raise WorkerGone(f"{type(error).__name__}: {error}") from error
    if answer is None:
        raise WorkerGone("the connection broke off")
    return str(json.loads(answer))


def _send_files(channel: socket.socket, parcel: Parcel) -> None:
    buffer = memoryview(bytearray(BUFFER_BYTES))
    checksums: dict[str, int] = {}
    for name in files_of(parcel):
        file = Path(parcel.source) / name
        left = file.stat().st_size
        channel.sendall(frames.pack_json(frames.JOB, {"name": str(name), "n_bytes": left}))
        checksum = 0
        with open(file, "rb", buffering=0) as source:
            while left:
                got = source.readinto(buffer[: min(left, BUFFER_BYTES)])
                if not got:
                    raise DataError(f"{file} became shorter while it was sent")
                checksum = checksum_of(buffer[:got], checksum)
                channel.sendall(buffer[:got])
                left -= got
        checksums[str(name)] = checksum
    channel.sendall(frames.pack_json(frames.JOB, {"name": END, "checksums": checksums}))
