"""Receive artifacts on a worker: store the files in a hidden folder, and publish it when it is complete.

Files arrive in pieces over Dask's connections. If two hosts send the same artifact at the same time, each fills a
separate folder, and the first complete folder is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from distributed import Worker

from harness.cluster.artifacts import Artifact, checksum_of, is_intact
from harness.errors import DataError, HarnessError
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
