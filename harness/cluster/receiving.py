"""Parcels as they come in on a worker: piece by piece into a hidden folder, moved into place when they are whole.

Two hosts may send the same at once: each fills a folder of its own, and the first that is whole stays.
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

from harness.cluster.parcels import Parcel, checksum_of, is_there
from harness.data.folders import remove, remove_unfinished, work_folder
from harness.data.represented import make_room
from harness.errors import DataError, HarnessError
from harness.home import not_writable
from harness.wording import in_a_line

FORGOTTEN_SECONDS = 60.0
"""After so long without a piece, its host has gone away."""
MESSAGE_LENGTH = 500
PIECE_OP = "harness_piece"
"""The call by which a worker takes a piece, once it has taken its first parcel."""
Checksums = dict[tuple[str, int], int]
"""Of pieces, by file and offset: they come in any order."""


@dataclass
class _Coming:
    """A parcel of which some has come."""

    parcel: Parcel
    work: contextlib.ExitStack
    folder: Path
    heard: float = field(default_factory=time.monotonic)
    checksums: Checksums = field(default_factory=dict)


_coming: dict[str, _Coming] = {}
"""By the number of its delivery."""


async def take_parcel(delivery: str, parcel: Parcel, n_bytes: int, dask_worker: Worker | None = None) -> str:
    """Make a place for a parcel; gives what is wrong, or nothing."""
    if dask_worker is not None:
        dask_worker.handlers[PIECE_OP] = take_piece
    return await asyncio.to_thread(trouble_of, begin_parcel, delivery, parcel, n_bytes)


async def take_piece(delivery: str, name: str, offset: int, piece: bytes | memoryview) -> str:
    """Write a piece of a file; gives what is wrong, or nothing.

    It answers a call of its own, and is no function that is sent: so a piece comes as it lay on the wire, without being
    pickled and copied on the way.
    """
    return await asyncio.to_thread(trouble_of, _write, delivery, name, offset, piece)


async def finish_parcel(delivery: str, checksums: Checksums) -> str:
    """Compare with what was sent and move it into place; gives what is wrong, or nothing."""
    return await asyncio.to_thread(trouble_of, _finish, delivery, checksums)


def trouble_of(step: Callable[..., None], delivery: str, *rest: object) -> str:
    """Take a step; what goes wrong ends the delivery and becomes words, since the host unpickles nothing."""
    try:
        step(delivery, *rest)
        return ""
    except KeyError:  # nothing is known of this delivery any more
        trouble = "broken off"
    except (TimeoutError, ConnectionError):  # of the connection to the host, not of a disk
        trouble = "broken off"
    except OSError as error:
        trouble = str(not_writable(error))
    except HarnessError as error:
        trouble = str(error)
    _drop(delivery)
    return in_a_line(trouble, MESSAGE_LENGTH)


def begin_parcel(delivery: str, parcel: Parcel, n_bytes: int) -> None:
    """Make a place for a parcel; DataError where there is none."""
    _drop_forgotten()
    place = parcel.place
    remove_unfinished(place)
    work = contextlib.ExitStack()
    made = work.enter_context(work_folder(place.parent, place.name))
    folder = made / place.name
    _coming[delivery] = _Coming(parcel, work, folder)
    folder.mkdir()
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise DataError(f"{place.parent} has {free / 1e9:.2g} GB free, and {n_bytes / 1e9:.2g} GB are to come")


def keep_alive(delivery: str) -> None:
    """Something of a delivery has come: it is not forgotten."""
    _coming[delivery].heard = time.monotonic()


def file_of(delivery: str, name: str) -> Path:
    """Where a file of a delivery is to be written; DataError for one that would lie elsewhere."""
    coming = _coming[delivery]
    keep_alive(delivery)
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise DataError(f"{name!r} does not lie below the folder that is sent")
    file = coming.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _write(delivery: str, name: str, offset: int, piece: bytes | memoryview) -> None:
    handle = os.open(file_of(delivery, name), os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        view, at = memoryview(piece), offset
        while view:
            written = os.pwrite(handle, view, at)
            view, at = view[written:], at + written
    finally:
        os.close(handle)
    _coming[delivery].checksums[name, offset] = checksum_of(piece)


def _finish(delivery: str, checksums: Checksums) -> None:
    end_parcel(delivery, checksums, _coming[delivery].checksums)


def end_parcel(delivery: str, sent: Checksums, came: Checksums) -> None:
    """Move a parcel into its place, where all that was sent has come."""
    coming = _coming[delivery]
    if came != sent:
        spoilt = sorted({piece[0] for piece in sent if came.get(piece) != sent[piece]})
        raise DataError(f"what came of {coming.parcel.name} is not what was sent: {', '.join(spoilt)}")
    place = coming.parcel.place
    for file in coming.folder.rglob("*"):
        if file.is_file():
            file.chmod(0o444)  # nobody has a reason to change what is kept
    if place.exists() and not is_there(coming.parcel, place):
        remove(place)  # changed since it was kept: or it would not have been sent
    with contextlib.suppress(OSError):  # another host was faster, and sent the same
        os.rename(coming.folder, place)
    _drop(delivery)
    if not place.exists():
        raise DataError(f"{coming.parcel.name} could not be moved to {place}")
    if coming.parcel.kind == "representation":
        make_room(spare=place)  # else what is larger than the limit would be sent again and again


def _drop(delivery: str) -> None:
    """Forget a delivery, with whatever came of it."""
    coming = _coming.pop(delivery, None)
    if coming is not None:
        coming.work.close()


def _drop_forgotten() -> None:
    for delivery, coming in list(_coming.items()):
        if time.monotonic() - coming.heard > FORGOTTEN_SECONDS:
            _drop(delivery)
