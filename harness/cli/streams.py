"""Standard output and error as the commands have them: always there, and clean, whatever name or message is printed."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO, TypeVar

from harness.wording import printable

Stream = TypeVar("Stream", bound=io.TextIOWrapper)
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


class LastingStream(io.TextIOWrapper):
    """One that nobody may read any more: what is told of a run must not end it."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().flush()


class _CleanStandardOutput(io.TextIOWrapper):
    """One through which no control character reaches the terminal, but for bold letters."""

    def write(self, text: str) -> int:
        super().write(clean(text))
        return len(text)


class _CleanStandardError(LastingStream):
    """The same for standard error; `behind` is for a progress bar, which has to move the cursor."""

    behind: TextIO

    def write(self, text: str) -> int:
        super().write(clean(text))
        return len(text)


def clean(text: str) -> str:
    """A text as it may be printed; bold letters, which a table may have, stay bold."""
    parts = []
    for bold in text.split(BOLD):
        parts.append(PLAIN.join(map(printable, bold.split(PLAIN))))
    return BOLD.join(parts)


def set_up_streams() -> None:
    """Open standard files that the caller has closed, or the next file that is opened would be one of them; clean all.

    What an encoding cannot hold is written as an escape.
    """
    handle = os.open(os.devnull, os.O_RDWR)
    while handle <= 2:
        handle = os.open(os.devnull, os.O_RDWR)
    os.close(handle)
    sys.stdout = _wrap(sys.stdout, 1, _CleanStandardOutput)
    behind = _wrap(sys.stderr, 2, LastingStream)
    error = _wrap(sys.stderr, 2, _CleanStandardError)
    error.behind = behind
    sys.stderr = error


def _wrap(stream: TextIO | None, handle: int, kind: type[Stream]) -> Stream:
    encoding = stream.encoding if stream else "utf-8"
    at_once = handle == 2 or os.isatty(handle)
    binary = open(handle, "wb", closefd=False)  # noqa: SIM115 (open as long as the process)
    return kind(binary, encoding=encoding, errors="backslashreplace", line_buffering=at_once)
