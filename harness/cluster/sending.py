"""Parcels on their way to a worker: over a connection of their own, or in pieces over those that dask has.

Either way neither end holds more than a little of a parcel at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections import deque
from pathlib import Path

from distributed.protocol import to_serialize

from harness.cluster.calling import Caller
from harness.cluster.parcels import Parcel, checksum_of, files_of, pieces_of
from harness.cluster.receiving import PIECE_OP, Checksums, finish_parcel, take_parcel
from harness.cluster.streaming import NoStream, open_stream, send_stream
from harness.errors import DataError

PIECE_BYTES = 8 << 20
UNDER_WAY = 4
"""Pieces that are sent before the first of them is confirmed."""


class NotDelivered(DataError):
    """A parcel that a worker could not take, in the worker's words."""


def send_parcel(caller: Caller, worker: str, parcel: Parcel) -> int:
    """Send a parcel to a worker; gives how many bytes that were. From any thread but the client's own."""
    n_bytes: int = caller.client.sync(_send, caller, worker, parcel)
    return n_bytes


async def _send(caller: Caller, worker: str, parcel: Parcel) -> int:
    delivery = secrets.token_hex(8)
    source = Path(parcel.source)
    files = files_of(parcel)
    n_bytes = sum((source / file).stat().st_size for file in files)
    if await caller.is_in_reach(worker):
        place = json.loads(await caller.call_soon(worker, open_stream, delivery, parcel, n_bytes))
        _check(place.get("trouble"))
        with contextlib.suppress(NoStream):  # a firewall lets dask's own ports pass, and no others
            _check(await asyncio.to_thread(send_stream, caller.client, place, parcel))
            return n_bytes
    delivery = secrets.token_hex(8)
    _check(await caller.call_soon(worker, take_parcel, delivery, parcel, n_bytes))
    checksums: Checksums = {}
    for file in files:
        await _send_file(caller, worker, delivery, source, str(file), checksums)
    _check(await caller.call_soon(worker, finish_parcel, delivery, checksums))
    return n_bytes


async def _send_file(caller: Caller, worker: str, delivery: str, source: Path, name: str, checksums: Checksums) -> None:
    """Send one file, and note the checksum of each of its pieces."""
    offset = 0
    under_way: deque[asyncio.Task[str]] = deque()
    pieces = pieces_of(source / name, PIECE_BYTES)
    try:
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            sending = caller.tell(
                worker, PIECE_OP, delivery=delivery, name=name, offset=offset, piece=to_serialize(piece)
            )
            under_way.append(asyncio.create_task(sending))
            checksums[name, offset] = await asyncio.to_thread(checksum_of, piece)
            offset += len(piece)
            if len(under_way) == UNDER_WAY:
                _check(await under_way.popleft())
        while under_way:
            _check(await under_way.popleft())
    finally:
        for task in under_way:
            task.cancel()


def _check(trouble: object) -> None:
    if trouble:
        raise NotDelivered(str(trouble))
