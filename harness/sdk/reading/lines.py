"""Text of files as lines, in any encoding and in bounded memory.

A byte order mark decides the encoding, then the caller's choice, then UTF-8. Lines keep their ends. A line that is
longer than `MAX_LINE` is an error: a file without line ends cannot fill the memory.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader, StringIO
from itertools import chain
from typing import IO

from harness.errors import DataError
from harness.sdk.reading.raw import unreadable

MAX_LINE = 2**28
"""Bytes, or characters of a wide encoding, in one line."""
_CHUNK = 2**18
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

SetOption = Callable[[str, str], str]
"""Returns how the user sets an option of the reader to a value, for the next step of an error."""


def as_flag(option: str, value: str) -> str:
    """Return the command line flag that sets an option of the reader.

    Parameters
    ----------
    option, value : str
        The name of the option and its value.

    Returns
    -------
    str
        Such as "--encoding latin-1".
    """
    return f"--{option} {value}"


def read_lines(
    stream: BufferedReader, name: str, encoding: str | None = None, set_option: SetOption = as_flag
) -> Iterator[str]:
    r"""Yield the lines of a stream, each with its line end.

    Parameters
    ----------
    stream : BufferedReader
        An open file; `harness.sdk.reading.raw.open_raw` opens compressed ones.
    name : str
        Name of the file in error messages.
    encoding : str, optional
        Encoding of a file without a byte order mark; UTF-8 by default.
    set_option : SetOption, default=as_flag
        How the user sets the encoding, for error messages.

    Yields
    ------
    str
        A line with its line end.

    Raises
    ------
    DataError
        If the encoding is unknown, if bytes are not in it, or if a line is too long.

    Examples
    --------
    >>> from io import BytesIO, BufferedReader
    >>> list(read_lines(BufferedReader(BytesIO("a\nb".encode("utf-16"))), "letters.txt"))
    ['a\n', 'b']
    """
    return chain.from_iterable(_blocks(stream, name, encoding, set_option))


def read_text(stream: BufferedReader, name: str, encoding: str | None = None, set_option: SetOption = as_flag) -> str:
    """Return the whole text of a stream.

    Parameters
    ----------
    stream : BufferedReader
        An open file.
    name : str
        Name of the file in error messages.
    encoding : str, optional
        Encoding of a file without a byte order mark; UTF-8 by default.
    set_option : SetOption, default=as_flag
        How the user sets the encoding, for error messages.

    Returns
    -------
    str
        The text without a byte order mark.

    Raises
    ------
    DataError
        If the encoding is unknown, or if bytes are not in it.
    """
    codec = skip_mark(stream, name, encoding)
    content = stream.read()
    try:
        return content.decode(codec)
    except UnicodeError as error:
        raise _bad_bytes(content, codec, name, 1, set_option, error) from None


def skip_mark(stream: BufferedReader, name: str, encoding: str | None = None) -> str:
    """Read past the byte order mark of a stream, if there is one.

    Parameters
    ----------
    stream : BufferedReader
        An open file, at its start.
    name : str
        Name of the file in error messages.
    encoding : str, optional
        Encoding of a file without a byte order mark; UTF-8 by default.

    Returns
    -------
    str
        Name of the codec that decodes the rest.
    """
    codec = _known_codec(encoding or "utf-8", name)
    start = stream.peek(4)[:4]
    for mark, marked in _BOMS:
        if start.startswith(mark):
            stream.read(len(mark))
            return marked
    return codec


def _known_codec(encoding: str, name: str) -> str:
    """Return the normal name of a text encoding."""
    try:
        "\n".encode(encoding)
        b"\xff".decode(encoding, "ignore")  # codecs of host names, such as idna, cannot skip bytes
        codec = codecs.lookup(encoding).name
    except (LookupError, UnicodeError, ValueError):
        raise DataError(
            f"unknown encoding {encoding!r}",
            culprit=name,
            next_step="Use utf-8, utf-16, latin-1 or cp1252, for example.",
        ) from None
    return codec.removesuffix("-sig")


def _line_end(stream: BufferedReader, codec: str) -> str:
    r"""Return "\r" for a file with the line ends of old Macintosh programs, else "\n"."""
    start = stream.peek(_CHUNK).decode(codec, "ignore")
    is_old = "\r" in start[:-1] and "\n" not in start
    return "\r" if is_old else "\n"


def _blocks(stream: BufferedReader, name: str, encoding: str | None, set_option: SetOption) -> Iterator[Iterable[str]]:
    """Yield the lines of a stream in blocks, which are faster to pass on than single lines."""
    codec = skip_mark(stream, name, encoding)
    end = _line_end(stream, codec)
    if end == "\n" and "\n".encode(codec) == b"\n":
        blocks = _byte_blocks(stream, name, codec, set_option)
    else:
        blocks = _wide_blocks(stream, name, codec, end, set_option)
    try:
        yield from blocks
    except OSError as error:
        raise unreadable(name, error) from error


def _byte_blocks(stream: BufferedReader, name: str, codec: str, set_option: SetOption) -> Iterator[Iterable[str]]:
    """Decode many lines at once, which is faster than one by one, and split them afterwards."""
    parts: list[bytes] = []
    number, size, chunk = 1, 0, b"-"
    while chunk:
        chunk = stream.read1(_CHUNK)
        cut = chunk.rfind(b"\n") + 1 if chunk else 0
        if cut or not chunk:
            content = b"".join([*parts, chunk[:cut]])
            yield from _decoded_blocks(content, codec, name, number, set_option)
            number += content.count(b"\n")
            parts, size = [], 0
        parts.append(chunk[cut:])
        size += len(chunk) - cut
        if size >= MAX_LINE:
            raise _too_long(name, number)


def _decoded_blocks(
    content: bytes, codec: str, name: str, number: int, set_option: SetOption
) -> Iterator[Iterable[str]]:
    """Yield the lines of some bytes, the first of which has this number; those before an error come first."""
    try:
        text = content.decode(codec)
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        yield StringIO(content[: content.rfind(b"\n", 0, start) + 1].decode(codec), newline="\n")
        raise _bad_bytes(content, codec, name, number, set_option, error) from None
    yield StringIO(text, newline="\n")


def _wide_blocks(stream: IO[bytes], name: str, codec: str, end: str, set_option: SetOption) -> Iterator[Iterable[str]]:
    """Decode before splitting, since a line end may be several bytes."""
    decoder = codecs.getincrementaldecoder(codec)()
    parts: list[str] = []
    number, size, chunk = 1, 0, b"-"
    while chunk:
        chunk = stream.read(_CHUNK)
        try:
            text = decoder.decode(chunk, not chunk)
        except UnicodeError as error:
            raise _undecodable(name, number + _ends_before(error, codec, end), codec, set_option, error) from None
        *lines, last = text.split(end)
        if lines:
            lines[0] = "".join([*parts, lines[0]])
            yield [line + end for line in lines]
            number += len(lines)
            parts, size = [], 0
        parts.append(last)
        size += len(last)
        if size >= MAX_LINE:
            raise _too_long(name, number)
    if size:
        yield ["".join(parts)]


def _ends_before(error: UnicodeError, codec: str, end: str) -> int:
    """Return the number of line ends before the bytes that cannot be decoded."""
    if not isinstance(error, UnicodeDecodeError):
        return 0
    return error.object[: error.start].decode(codec, "ignore").count(end)


def _bad_bytes(
    content: bytes, codec: str, name: str, number: int, set_option: SetOption, error: UnicodeError
) -> DataError:
    """Return the error for lines that cannot be decoded, the first of which has this number."""
    start = getattr(error, "start", 0)
    line = number + content.count(b"\n", 0, start)
    place = start - content.rfind(b"\n", 0, start)
    return _undecodable(name, line, codec, set_option, error, f"byte {place}, ")


def _undecodable(
    name: str, line: int, codec: str, set_option: SetOption, error: UnicodeError, place: str = ""
) -> DataError:
    found = ""
    if isinstance(error, UnicodeDecodeError) and error.start < len(error.object):
        found = f" (0x{error.object[error.start]:02x})"
    return DataError(
        f"{place.rstrip(', ')}{found} is not {codec}".strip(),
        culprit=f"{name}, line {line}",
        next_step=f"Set the encoding of the file, for example {set_option('encoding', 'latin-1')}.",
    )


def _too_long(name: str, line: int) -> DataError:
    return DataError(
        f"the line is longer than {MAX_LINE:,} bytes",
        culprit=f"{name}, line {line}",
        next_step="Check that the file is a text file with a row on each line.",
    )
