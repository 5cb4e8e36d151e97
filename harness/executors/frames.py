"""Length-prefixed frames: how a job's process, its keeper and the host speak over pipes and sockets."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

_HEAD = struct.Struct("<cQ")

PHASE = b"P"
"""The name of what the job is doing now."""
RESULT = b"R"
"""The job's answer, JSON."""
BLOB = b"B"
"""Bytes that go with the answer."""
END = b"E"
"""The keeper's report on how the process ended, JSON."""


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
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            tag, length = _HEAD.unpack_from(self._buffer)
            end = _HEAD.size + length
            if len(self._buffer) < end:
                return
            content = bytes(self._buffer[_HEAD.size : end])
            del self._buffer[:end]
            yield tag, content
