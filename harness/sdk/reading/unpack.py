"""Streams out of what may be packed: one file by how it begins, or the members of a tar or zip archive.

Nothing is ever unpacked to disk, and no archive is held in memory. Members that would leave their folder, links,
devices, and what unpacks to far more than it should are refused, with an error that names the file. One budget covers a
file on disk with all that is packed in it, and in that: many small bombs are as one large one.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, Literal, cast

import zstandard

from harness.errors import DataError

MOST_BYTES = 2**36
"""What one file may unpack to."""
MOST_RATIO = 500
"""How many times its size a file may unpack to, beyond the first `FREE_BYTES`."""
FREE_BYTES = 2**26
UNREADABLE = (
    *(OSError, EOFError, ValueError, NotImplementedError, RuntimeError),  # zipfile says "encrypted" by the last
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError),
)
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")

Kind = Literal["tar", "zip", "plain"]


class _Zstandard(RawIOBase):
    """Frames of zstandard, one after the other; the library's own reader takes a torn file for a whole one."""

    CHUNK_BYTES = 1024  # unpacks to 32 MB at the very most

    def __init__(self, packed: IO[bytes]) -> None:
        self.packed, self.left, self.ready = packed, b"", memoryview(b"")
        self.frame: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.ready:
            chunk = self.left or self.packed.read(self.CHUNK_BYTES)
            if not chunk:
                if self.frame is not None:
                    raise EOFError("the file ends inside a frame")
                return 0
            self.frame = self.frame or zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
            self.ready, self.left = memoryview(self.frame.decompress(chunk)), b""
            if self.frame.eof:
                self.left, self.frame = self.frame.unused_data, None
        size = min(len(buffer), len(self.ready))
        buffer[:size], self.ready = self.ready[:size], self.ready[size:]
        return size


Unpacker = Callable[[IO[bytes]], Any]

_UNPACKERS: tuple[tuple[bytes, Unpacker], ...] = (
    (b"\x1f\x8b\x08", lambda packed: gzip.GzipFile(fileobj=packed)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"\x28\xb5\x2f\xfd", _Zstandard),
)


class Budget:
    """What may still come out of one file on disk, however many members and packings are in it."""

    def __init__(self, name: str, packed_bytes: int, most_bytes: int | None = None) -> None:
        self.name, self.packed_bytes, self.n_bytes = name, packed_bytes, 0
        self.most_bytes = MOST_BYTES if most_bytes is None else most_bytes

    def spend(self, n_bytes: int) -> None:
        """Count what came out; DataError when it is more than any honest data would be."""
        self.n_bytes += n_bytes
        if self.n_bytes > self.most_bytes:
            raise DataError(f"{self.name} is refused: it unpacks to more than {self.most_bytes:,} bytes")
        if self.n_bytes > FREE_BYTES and self.n_bytes > MOST_RATIO * self.packed_bytes:
            raise DataError(f"{self.name} is refused: it unpacks to more than {MOST_RATIO} times its size")


class _Unpacked(RawIOBase):
    """What comes out of an unpacker, counted: too much is refused, and whatever goes wrong names the file."""

    def __init__(self, unpacked: Any, name: str, budget: Budget) -> None:
        self.unpacked, self.name, self.budget = unpacked, name, budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            size = cast(int, self.unpacked.readinto(buffer))
        except UNREADABLE as error:
            raise unreadable(self.name, error) from error
        self.budget.spend(size)
        return size


def unreadable(name: str | Path, error: BaseException) -> DataError:
    """The error for a file that is not what it should be, or is torn."""
    return DataError(f"{name} cannot be read ({type(error).__name__}: {error})")


@contextmanager
def open_raw(
    file: str | Path | IO[bytes], *, name: str = "", most_bytes: int | None = None, budget: Budget | None = None
) -> Iterator[BufferedReader]:
    """A file as a stream of bytes, unpacked when gzip, bzip2, xz or zstandard packed it, as its first bytes tell.

    A stream is taken as well, with a name for error messages, and the budget of the file that it comes out of. A file
    that is not packed has no limit.
    """
    name = name or str(file)
    with ExitStack() as stack:
        try:
            opened = file if not isinstance(file, str | Path) else stack.enter_context(open(file, "rb"))
        except OSError as error:
            raise unreadable(name, error) from error
        packed = opened if isinstance(opened, BufferedReader) else BufferedReader(cast(Any, opened))
        start = packed.peek(16)[:16]
        unpacker = _unpacker_for(start)
        if unpacker is None:
            yield packed
            return
        budget = budget or Budget(name, _size_of(packed), most_bytes)
        counted = _Unpacked(unpacker(packed), name, budget)
        yield stack.enter_context(BufferedReader(counted, 2**18))


def _size_of(stream: BufferedReader) -> int:
    """The bytes of a stream from its beginning to its end; 0 for one that cannot say."""
    if not stream.seekable():
        return 0
    place = stream.tell()
    size = stream.seek(0, os.SEEK_END)
    stream.seek(place)
    return size


def _unpacker_for(start: bytes) -> Unpacker | None:
    for magic, unpacker in _UNPACKERS:
        if start.startswith(magic):
            return unpacker
    return None


def without_suffix(name: str) -> str:
    """A file's name without what its packing added: "emma.txt" of "emma.txt.gz"."""
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def kind_of(path: Path, *, name: str = "") -> Kind:
    """What a file is by what is in it: a zip, a tar (packed or not) that says so, or neither."""
    with open_raw(path, name=name) as stream:
        start = stream.peek(512)[:512]
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    return "tar" if start[257:262] == b"ustar" else "plain"


def members_of(
    path: Path, kind: Kind, *, name: str = "", budget: Budget | None = None
) -> Iterator[tuple[str, IO[bytes]]]:
    """The files in a tar or zip archive, each to be read before the next; the whole archive is checked on the way.

    Who unpacks members in their turn gives the budget, to have both counted.
    """
    name = name or str(path)
    budget = budget or Budget(name, path.stat().st_size)
    if kind == "zip":
        yield from _zip_members(path, name, budget)
        return
    with open_raw(path, name=name, budget=budget) as stream:
        yield from tar_members(stream, name)


def examine(path: Path, *, name: str = "") -> None:
    """Read a packed file or an archive to its end, so that whatever makes it unfit is found; DataError tells it.

    `name` is what errors call the file, unless they shall tell its path.
    """
    name = name or str(path)
    try:
        kind = kind_of(path, name=name)
        if kind == "plain":
            _read_file_through(path, name)
        else:
            _read_members_through(path, kind, name)
    except UNREADABLE as error:
        raise unreadable(name, error) from error


def _read_file_through(path: Path, name: str) -> None:
    with open_raw(path, name=name) as stream:
        while stream.read(2**20):
            pass


def _read_members_through(path: Path, kind: Kind, name: str) -> None:
    for _, member in members_of(path, kind, name=name):
        while member.read(2**20):
            pass


def tar_members(stream: IO[bytes], name: str) -> Iterator[tuple[str, IO[bytes]]]:
    """The files in an unpacked stream of a tar archive; `name` is for error messages."""
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            _check_member(name, member.name, member.isreg() or member.isdir())
            if member.isreg():
                yield member.name, cast(IO[bytes], archive.extractfile(member))


def _zip_members(path: Path, name: str, budget: Budget) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            _check_member(name, member.filename, kind in (0, stat.S_IFREG, stat.S_IFDIR))
            if not member.is_dir():
                with archive.open(member) as stream:
                    yield member.filename, BufferedReader(_Unpacked(stream, name, budget), 2**18)


def _check_member(archive: str, member: str, is_plain: bool) -> None:
    parts = member.replace("\\", "/").split("/")
    if parts[0] == "" or ".." in parts or parts[0].endswith(":"):
        raise DataError(f"{archive} is refused: its member {member!r} would leave the folder")
    if not is_plain:
        raise DataError(f"{archive} is refused: its member {member!r} is a link or device")
