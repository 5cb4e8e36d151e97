"""The protocol between the host, fork servers, supervisors and job processes.

Messages are frames: a tag of one byte, the length of the content in eight bytes, and the content. The host is the
process that uses the executor.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_HEAD = struct.Struct("<cQ")

JOB = b"J"
"""From the host to a supervisor: the pickled job. From the host to a server: the modules to import, as JSON."""
PHASE = b"P"
"""From a job: the name of the phase that begins. From a server: the module that it imports next."""
BLOB = b"B"
"""From a job, before its answer: the bytes that it returns beside the answer."""
RESULT = b"R"
"""From a job: its answer, as JSON. From a server, when it is ready: the module that started threads, or null."""
VISIBLE = b"V"
"""From a job, before its function runs: the system did not hide the folders that the job must not read."""
WORDS = b"W"
"""From a supervisor: a part of the stream of frames that the job has written; it may end inside a frame."""
COMPILING = b"C"
"""From a server: an imported module has to compile its kernels first."""
PID = b"I"
"""From a supervisor, or from a server that was forked from another server: its pid."""
END = b"E"
"""From a supervisor: the `ProcessEnd` of the job, as JSON."""
FILE = b"F"
"""From the host to a supervisor, after a job with a sealed payload: a single byte with a file descriptor attached."""
FOR_JOB, FOR_GROUP = b"j", b"g"
"""Sent to a server with a socket: fork a supervisor for one job, or fork a server for a group of jobs."""
MOST_BYTES: Mapping[bytes, int] = {
    JOB: 2**32,
    PHASE: 1_000,
    BLOB: 2**24,
    RESULT: 2**24,
    VISIBLE: 0,
    WORDS: 2**20,
    COMPILING: 1_000,
    PID: 20,
    END: 2**20,
}
"""By tag, the limit on the content of a frame in bytes. A larger frame is an error, and is not read."""


def most_bytes_of(blob_bytes: int) -> dict[bytes, int]:
    """Return the limits on frames of a job that may return `blob_bytes` bytes; see `MOST_BYTES`."""
    return {**MOST_BYTES, BLOB: blob_bytes}


@dataclass(frozen=True)
class ProcessEnd:
    """A supervisor's report on the end of a job's process."""

    killed: str | None
    """The limit for which the supervisor killed it, "timeout" or "memory"; None if it ended without that."""
    exit_code: int
    """The exit code of the process; after a signal, the negative number of the signal."""
    seconds: float
    output: str
    """The last part of the text that it printed."""
    held_bytes: int
    """The memory of the process and its descendants at the last check."""
    processes: int = 1
    """The largest number of processes of the job at any check."""
    cpu_seconds: float | None = None
    """The CPU time of all processes of the job; None if the system does not let the supervisor reap all of them."""


def pack(tag: bytes, content: bytes) -> bytes:
    """Return a frame with this tag and content."""
    return _HEAD.pack(tag, len(content)) + content


def pack_json(tag: bytes, content: Any) -> bytes:
    """Return a frame with this tag, and with a value encoded as JSON."""
    return pack(tag, json.dumps(content).encode())


class FrameReader:
    """Splits a stream of bytes into frames.

    Parameters
    ----------
    most_bytes : mapping
        By tag, the limit on the content of a frame. Other tags are refused.

    Examples
    --------
    >>> reader = FrameReader()
    >>> frame = pack(PHASE, b"fit")
    >>> list(reader.feed(frame[:5]))
    []
    >>> list(reader.feed(frame[5:]))
    [(b'P', b'fit')]
    """

    def __init__(self, most_bytes: Mapping[bytes, int] = MOST_BYTES) -> None:
        self._buffer = bytearray()
        self._most_bytes = most_bytes

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Add bytes, and yield the tag and the content of each frame that is now complete.

        Parameters
        ----------
        data : bytes
            The bytes that were received, which may end within a frame.

        Raises
        ------
        ValueError
            For an unknown tag, or a frame that is larger than its limit. The stream cannot be read further then.
        """
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
    """Wait for the next frame and return its content; None if the other end has closed the channel.

    No byte after the frame is read, since a file descriptor may be attached to it.
    """
    head = _receive_exactly(channel, _HEAD.size)
    if head is None:
        return None
    _, length = _HEAD.unpack(head)
    return _receive_exactly(channel, length)


def _receive_exactly(channel: socket.socket, size: int) -> bytes | None:
    """Return the next `size` bytes; None if the other end closes the channel before they have arrived."""
    content = bytearray()
    while len(content) < size:
        data = channel.recv(min(size - len(content), 1 << 20))
        if not data:
            return None
        content += data
    return bytes(content)
