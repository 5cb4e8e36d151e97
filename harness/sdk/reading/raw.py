"""Raw files of datasets: compressed files, tar and zip archives, folders.

`open_raw` opens a file as a stream of bytes and detects gzip, bzip2, xz and zstd. `RawFiles` finds and reads the files
of a dataset, in the path given as `source=` or in the data home.

Nothing is unpacked to disk, and no archive is held in memory. Members outside of their folder, links, devices and
decompression bombs are refused with an error that names the file. One `Budget` covers a file with everything packed in
it, at any depth.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import re
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, Literal, cast

from harness.errors import DataError
from harness.files.home import MANIFEST, raw_folder, read_raw_manifest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MOST_UNPACKED_BYTES = 2**36
"""Limit for the unpacked size of one file."""
MOST_RATIO = 500
"""Limit for the ratio of unpacked to packed size, after the first `FREE_BYTES`."""
FREE_BYTES = 2**26
MOST_BYTES = 2**33
"""Limit for the files of one dataset in memory."""
UNREADABLE = (
    *(OSError, EOFError, ValueError, NotImplementedError, RuntimeError),  # zipfile raises the last for encrypted files
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, zstd.ZstdError),
)
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
Kind = Literal["tar", "zip", "plain"]
Unpacker = Callable[[IO[bytes]], Any]


@dataclass(frozen=True, kw_only=True)
class RawFiles:
    r"""The files that a dataset is made from.

    Examples
    --------
    >>> files = RawFiles(dataset="titles", needed="titles.txt of the authors", wanted=re.compile(r"titles\.txt$"))
    >>> files.error("line 3 is empty").culprit
    "dataset 'titles'"
    """

    dataset: str
    needed: str
    """Description of the files and their source, for messages."""
    wanted: re.Pattern[str]
    """Pattern for the paths of the files, written with slashes; a suffix such as .gz is optional."""
    archive: str | None = None
    """Name of the tar or zip archive that holds them, if any."""

    def error(self, trouble: str, next_step: str = "") -> DataError:
        """Return an error about the files, with the dataset as culprit.

        Parameters
        ----------
        trouble : str
            What is wrong with the files.
        next_step : str, default=""
            What the user can do; by default nothing.

        Returns
        -------
        DataError
            The error, to raise.
        """
        return DataError(trouble, culprit=self._culprit, next_step=next_step)

    def locate(self, source: str | None) -> Path:
        """Return the path given as `source`, else the folder of the dataset in the data home.

        Parameters
        ----------
        source : str or None
            Path that the user gave; None for the data home.

        Returns
        -------
        Path
            A file or a folder.

        Raises
        ------
        DataError
            If the path does not exist.
        """
        path = raw_folder(self.dataset) if source is None else Path(os.path.expanduser(source))
        if not path.exists():
            raise self._unusable(f"{path} does not exist")
        return path

    def stamp(self, source: str | None = None, **_: object) -> str:
        """Return a stamp of the raw content without reading it: by the manifest of the data home, or by size and time.

        Use it as the stamp of a `DatasetSpec`: `"module:RAW.stamp"`.

        Parameters
        ----------
        source : str, optional
            Path that the user gave; None for the data home.
        **_
            Other parameters of the loader, which are ignored.

        Returns
        -------
        str
            A text that changes when the content does.
        """
        path = self.locate(source)
        manifest = read_raw_manifest(path) if source is None else None
        if manifest is not None:
            manifest.check_sizes(path)
            return manifest.stamp()
        facts = []
        for name, file in self._chosen(path).items():
            facts.append((name, file.stat().st_size, file.stat().st_mtime_ns))
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def read(self, source: str | None) -> list[tuple[re.Match[str], bytes]]:
        """Read each wanted file.

        Parameters
        ----------
        source : str or None
            Path that the user gave; None for the data home.

        Returns
        -------
        list of (re.Match, bytes)
            Match of the path, and unpacked content; sorted by path.

        Raises
        ------
        DataError
            If the files are missing, damaged or refused, or if one of them is there twice.
        """
        found: dict[str, tuple[re.Match[str], bytes]] = {}
        n_bytes = 0
        with self._telling(source):
            for match, stream in self.open_each(source):
                if match.string in found:
                    raise DataError(f"{match.string} is there twice, perhaps packed and unpacked. Remove one.")
                content = _drain(stream, match.string, MOST_BYTES - n_bytes)
                n_bytes += len(content)
                found[match.string] = match, content
        return [found[name] for name in sorted(found)]

    def open_each(self, source: str | None) -> Iterator[tuple[re.Match[str], IO[bytes]]]:
        """Open each wanted file. Read each before the next.

        Parameters
        ----------
        source : str or None
            Path that the user gave; None for the data home.

        Yields
        ------
        re.Match, IO of bytes
            Match of the path, and unpacked stream.

        Raises
        ------
        DataError
            If the files are missing, damaged or refused.
        """
        path = self.locate(source)
        is_empty = True
        with self._telling(source):
            for name, stream, budget in self._streams(path):
                match = self._match(name)
                if match is None:
                    continue
                is_empty = False
                shown = str(path) if path.name == name else f"{path}, {name}"
                with open_raw(stream, name=shown, budget=budget) as unpacked:
                    yield match, unpacked
            if is_empty:
                raise DataError(f"{path} holds none of the files")

    @property
    def _culprit(self) -> str:
        return f"dataset {self.dataset!r}"

    @contextmanager
    def _telling(self, source: str | None) -> Iterator[None]:
        """Add the description of the needed files to every error."""
        try:
            yield
        except DataError as error:
            if error.culprit == self._culprit:
                raise
            raise self._unusable(str(error)) from error
        except UNREADABLE as error:
            raise self._unusable(str(unreadable(self.locate(source), error))) from error

    def _streams(self, path: Path) -> Iterator[tuple[str, IO[bytes], Budget]]:
        """Yield name, stream and budget of each file: of a folder, of archives, or the file itself."""
        for name, file in self._chosen(path).items():
            kind = kind_of(file)
            budget = Budget(str(file), file.stat().st_size)
            if kind == "plain" and self._match(name):
                with open(file, "rb") as stream:
                    yield name, stream, budget
            elif kind != "plain" or self.archive is not None:
                for member, inside in members_of(file, kind, budget=budget):
                    yield member, inside, budget
            else:
                raise DataError(f"{path} is a file, expected a folder or an archive with the files")

    def _chosen(self, path: Path) -> dict[str, Path]:
        """Return the files to read: the file itself; in a folder the wanted ones, else its archives."""
        if path.is_file():
            return {path.name: path}
        if not path.is_dir():
            raise self._unusable(f"{path} is neither a file nor a folder")
        wanted: dict[str, Path] = {}
        at_the_top: dict[str, Path] = {}
        for file in sorted(path.rglob("*")):
            name = file.relative_to(path).as_posix()
            if not file.is_file() or name == MANIFEST:
                continue
            if self._match(name):
                wanted[name] = file
            elif "/" not in name and not name.startswith("."):
                at_the_top[name] = file
        if wanted:
            return wanted
        return {name: file for name, file in at_the_top.items() if kind_of(file) != "plain"}

    def _match(self, name: str) -> re.Match[str] | None:
        if name.rpartition("/")[2].startswith("."):
            return None
        return self.wanted.search(name) or self.wanted.search(without_suffix(name))

    def _unusable(self, trouble: str) -> DataError:
        """Return the error for missing or damaged files, with the commands to provide them."""
        return self.error(
            f"{trouble}. It is made from {self.needed}",
            f"`harness data import {self.dataset} FILE...` imports files that you have. "
            f"For one run, name them with --set \"{self.dataset}.source='PATH'\".",
        )


def _drain(stream: IO[bytes], name: str, most_bytes: int) -> bytes:
    content = bytearray()
    while part := stream.read(2**16):
        content += part
        if len(content) > most_bytes:
            raise DataError(f"{name} is refused: with all before it unpacks to more than {MOST_BYTES:,} bytes")
    return bytes(content)


# -- compressed files ------------------------------------------------------------------------------------------------


@contextmanager
def open_raw(
    file: str | Path | IO[bytes], *, name: str = "", most_bytes: int | None = None, budget: Budget | None = None
) -> Iterator[BufferedReader]:
    """Open a file as a stream of bytes, unpacked if it is compressed.

    Parameters
    ----------
    file : str or Path or IO of bytes
        Path, or an open binary stream.
    name : str, default=""
        Name of the file in messages; the path by default.
    most_bytes : int, optional
        Limit for the unpacked size; files that are not compressed have no limit.
    budget : Budget, optional
        The budget of the file that contains this stream.

    Yields
    ------
    BufferedReader
        The stream.

    Raises
    ------
    DataError
        If the file cannot be opened. Reading a damaged file or more than its budget raises the same error.
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


def is_compressed(start: bytes) -> bool:
    """Return whether a file is compressed with gzip, bzip2, xz or zstd.

    Parameters
    ----------
    start : bytes
        First bytes of the file, at least 6.

    Returns
    -------
    bool
        True if `open_raw` unpacks it.
    """
    return _unpacker_for(start) is not None


def without_suffix(name: str) -> str:
    """Return a file name without the suffix of its compression.

    Parameters
    ----------
    name : str
        Name or path.

    Returns
    -------
    str
        The name without .gz, .bz2, .xz or .zst.

    Examples
    --------
    >>> without_suffix("emma.txt.gz")
    'emma.txt'
    """
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def unreadable(name: str | Path, error: BaseException) -> DataError:
    """Return the error for a damaged file.

    Parameters
    ----------
    name : str or Path
        Name of the file.
    error : BaseException
        The error of the library that read it.

    Returns
    -------
    DataError
        The error, to raise.
    """
    return DataError(f"cannot be read ({type(error).__name__}: {error})", culprit=str(name))


class Budget:
    """Limit for the bytes that are unpacked from one file on disk, with all its members.

    Parameters
    ----------
    name : str
        Name of the file in messages.
    packed_bytes : int
        Size of the file on disk.
    most_bytes : int, optional
        Limit for the unpacked size; by default `MOST_UNPACKED_BYTES`.
    """

    def __init__(self, name: str, packed_bytes: int, most_bytes: int | None = None) -> None:
        self.name, self.packed_bytes, self.n_bytes = name, packed_bytes, 0
        self.most_bytes = MOST_UNPACKED_BYTES if most_bytes is None else most_bytes

    def spend(self, n_bytes: int) -> None:
        """Add unpacked bytes.

        Parameters
        ----------
        n_bytes : int
            Number of bytes that were unpacked since the last call.

        Raises
        ------
        DataError
            If the sum exceeds the limit, or if the file unpacks to an implausible multiple of its size.
        """
        self.n_bytes += n_bytes
        if self.n_bytes > self.most_bytes:
            raise DataError(f"{self.name} is refused: it unpacks to more than {self.most_bytes:,} bytes")
        if self.n_bytes > FREE_BYTES and self.n_bytes > MOST_RATIO * self.packed_bytes:
            raise DataError(f"{self.name} is refused: it unpacks to more than {MOST_RATIO} times its size")


class _Unpacked(RawIOBase):
    """Stream of unpacked bytes that spends the budget; errors name the file."""

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


def _open_zstd(packed: IO[bytes]) -> zstd.ZstdFile:
    """Return an unpacker for frames with windows up to 2 GiB, as `zstd --long=31` writes them."""
    return zstd.ZstdFile(packed, options={zstd.DecompressionParameter.window_log_max: 31})


_UNPACKERS: tuple[tuple[bytes, Unpacker], ...] = (
    (b"\x1f\x8b\x08", lambda packed: gzip.GzipFile(fileobj=packed)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"\x28\xb5\x2f\xfd", _open_zstd),
)


def _unpacker_for(start: bytes) -> Unpacker | None:
    for magic, unpacker in _UNPACKERS:
        if start.startswith(magic):
            return unpacker
    return None


def _size_of(stream: BufferedReader) -> int:
    """Return the size of a stream; 0 if it cannot seek."""
    if not stream.seekable():
        return 0
    place = stream.tell()
    size = stream.seek(0, os.SEEK_END)
    stream.seek(place)
    return size


# -- archives --------------------------------------------------------------------------------------------------------


def kind_of(path: Path, *, name: str = "") -> Kind:
    """Return the kind of a file by its content.

    Parameters
    ----------
    path : Path
        The file.
    name : str, default=""
        Name of the file in messages; the path by default.

    Returns
    -------
    "zip", "tar" or "plain"
        A tar archive may be compressed.
    """
    with open_raw(path, name=name) as stream:
        start = stream.peek(512)[:512]
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    return "tar" if start[257:262] == b"ustar" else "plain"


def members_of(
    path: Path, kind: Kind, *, name: str = "", budget: Budget | None = None
) -> Iterator[tuple[str, IO[bytes]]]:
    """Open each file in a tar or zip archive. Read each before the next.

    Parameters
    ----------
    path : Path
        The archive.
    kind : "zip" or "tar"
        Its kind, from `kind_of`.
    name : str, default=""
        Name of the archive in messages; the path by default.
    budget : Budget, optional
        Budget that members share if they are unpacked in turn.

    Yields
    ------
    str, IO of bytes
        Name and stream.
    """
    name = name or str(path)
    budget = budget or Budget(name, path.stat().st_size)
    if kind == "zip":
        yield from _zip_members(path, name, budget)
        return
    with open_raw(path, name=name, budget=budget) as stream:
        yield from tar_members(stream, name)


def tar_members(stream: IO[bytes], name: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Open each file in a tar archive. Read each before the next.

    Parameters
    ----------
    stream : IO of bytes
        The archive, unpacked.
    name : str
        Name of the archive in messages.

    Yields
    ------
    str, IO of bytes
        Name and stream.
    """
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            _check_member(name, member.name, member.isreg() or member.isdir())
            if member.isreg():
                yield member.name, cast(IO[bytes], archive.extractfile(member))


def examine(path: Path, *, name: str = "") -> None:
    """Read a compressed file or an archive to its end.

    Parameters
    ----------
    path : Path
        The file.
    name : str, default=""
        Name of the file in messages; the path by default.

    Raises
    ------
    DataError
        If it is damaged or refused.
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
