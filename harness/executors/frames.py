"""Length-prefixed frames: how a job's process, its supervisor and the host speak over pipes and sockets."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
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
"""From the supervisor: bytes of the job's own frames as they came, whole or not; the first says that it is there."""
COMPILING = b"C"
"""From the server: something that it imports has to be compiled first."""
PID = b"I"
"""From a server that another one forked: which process it is."""
END = b"E"
"""From the supervisor: how the process ended, JSON."""
FOR_JOB, FOR_GROUP = b"j", b"g"
"""What a channel is handed over to a server for: one job, or another server for a group of them."""
_TAGS = frozenset({JOB, PHASE, BLOB, RESULT, WORDS, COMPILING, PID, END})


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
    """Collects bytes as they come and gives back the frames that are whole."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The frames that these bytes complete; ValueError when they are none."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            tag, length = _HEAD.unpack_from(self._buffer)
            if tag not in _TAGS:
                raise ValueError(f"a frame cannot begin with {tag!r}")
            end = _HEAD.size + length
            if len(self._buffer) < end:
                return
            content = bytes(self._buffer[_HEAD.size : end])
            del self._buffer[:end]
            yield tag, content
