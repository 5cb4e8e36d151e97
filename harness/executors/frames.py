"""Length-prefixed frames: how a job's process, its supervisor and the host speak over pipes and sockets."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_HEAD = struct.Struct("<cQ")

JOB = b"J"
"""From the host to the supervisor: what to run and within which limits, pickled."""
PHASE = b"P"
"""From the job: the name of what it is doing now. From the server: the module that it is importing now."""
BLOB = b"B"
"""From the job: bytes that go with the answer."""
RESULT = b"R"
"""From the job or the server: the answer, JSON."""
WORDS = b"W"
"""From the supervisor: bytes of the job's own frames as they came, whole or not."""
COMPILING = b"C"
"""From the server: something that it imports has to be compiled first."""
PID = b"I"
"""From a server that another one forked, and from a supervisor: which process it is."""
END = b"E"
"""From the supervisor: how the process ended, JSON."""
FOR_JOB, FOR_GROUP = b"j", b"g"
"""What a channel is handed over to a server for: one job, or another server for a group of them."""
MOST_BYTES: Mapping[bytes, int] = {
    JOB: 2**32,
    PHASE: 1_000,
    BLOB: 2**24,
    RESULT: 2**24,
    WORDS: 2**20,
    COMPILING: 1_000,
    PID: 20,
    END: 2**20,
}
"""How large a frame of each kind may be: whoever says that more is coming is not listened to."""


def most_bytes_of(blob_bytes: int) -> dict[bytes, int]:
    """The same, where bytes that go with an answer may be so many."""
    return {**MOST_BYTES, BLOB: blob_bytes}


@dataclass(frozen=True)
class ProcessEnd:
    """What the supervisor says of the process that it watched."""

    killed: str | None
    """Why it was killed: timeout or memory; None when it ended by itself."""
    exit_code: int
    seconds: float
    output: str
    """The end of what it printed."""
    held_bytes: int
    """Resident memory of it and all below it, when last looked at."""
    processes: int = 1
    """The most that ran at once, of those that were seen."""


def pack(tag: bytes, content: bytes) -> bytes:
    """One frame."""
    return _HEAD.pack(tag, len(content)) + content


def pack_json(tag: bytes, content: Any) -> bytes:
    """One frame with a JSON value inside."""
    return pack(tag, json.dumps(content).encode())


class FrameReader:
    """Collects bytes as they come and gives back the frames that are whole, none larger than it may be."""

    def __init__(self, most_bytes: Mapping[bytes, int] = MOST_BYTES) -> None:
        self._buffer = bytearray()
        self._most_bytes = most_bytes

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The frames that these bytes complete; ValueError when they are none."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            tag, length = _HEAD.unpack_from(self._buffer)
            if tag not in self._most_bytes:
                raise ValueError(f"a frame cannot begin with {tag!r}")
            if length > self._most_bytes[tag]:
                raise ValueError(f"a frame {tag!r} of {length:,} bytes, more than {self._most_bytes[tag]:,}")
            end = _HEAD.size + length
            if len(self._buffer) < end:
                return
            content = bytes(self._buffer[_HEAD.size : end])
            del self._buffer[:end]
            yield tag, content


def receive(channel: socket.socket) -> bytes | None:
    """The content of the one frame that comes first, and not a byte more: what follows may bring a handle with it."""
    head = _receive_exactly(channel, _HEAD.size)
    if head is None:
        return None
    _, length = _HEAD.unpack(head)
    return _receive_exactly(channel, length)


def _receive_exactly(channel: socket.socket, size: int) -> bytes | None:
    """So many bytes; None where the other end has gone before."""
    content = bytearray()
    while len(content) < size:
        data = channel.recv(min(size - len(content), 1 << 20))
        if not data:
            return None
        content += data
    return bytes(content)
