"""What must lie on a worker before a trial can run there: kept data, kept representations, code of the user's.

A parcel is a folder that is named by its content. The worker looks for it in its own data home and, where it can see
the host's files, in the host's; only what it finds in neither is sent.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from harness.data.arrays import is_whole, read_header
from harness.data.represented import HEADER
from harness.errors import DataError
from harness.home import data_home, parsed_root, represented_root

COPIES_VARIABLE = "HARNESS_OWN_COPIES"
"""Set on workers that shall have copies of their own, though they can see the host's files: those may be far away."""
CODE = "code"
"""The folder of the data home with code that came from other machines."""


@dataclass(frozen=True)
class Parcel:
    """A folder that a trial needs: what it is, what it is called, and what tells its content from any other."""

    kind: Literal["data", "representation", "code"]
    name: str
    mark: str
    """Of data the fingerprint, of a representation the checksum, of code a digest."""
    source: str
    """Where it lies on the host's machine."""
    files: tuple[str, ...] = ()
    """Of code, the files of the folder that belong to it; of the others, all do."""

    @property
    def place(self) -> Path:
        """Where it belongs on this machine."""
        roots = {"data": parsed_root(), "representation": represented_root(), "code": data_home() / CODE}
        return roots[self.kind] / self.name


def data_parcel(folder: str, fingerprint: str) -> Parcel:
    """A kept data set."""
    return Parcel("data", Path(folder).name, fingerprint, folder)


def representation_parcel(folder: str) -> Parcel | None:
    """Kept representations; None where nothing is kept in this folder, and each trial makes its own."""
    mark = _mark_of_representation(Path(folder))
    return Parcel("representation", Path(folder).name, mark, folder) if mark else None


def code_parcel(folder: Path, files: Iterable[Path]) -> Parcel:
    """Some files of a folder of the user's."""
    names = sorted(file.relative_to(folder).as_posix() for file in files)
    mark = _digest(folder, names)
    return Parcel("code", f"{folder.name or 'code'}-{mark[:16]}", mark, str(folder), tuple(names))


def find(parcel: Parcel) -> Path | None:
    """Where it lies on this machine: in its own data home, or on a file system shared with the host; None for nowhere.

    What was changed since it was kept is not found, and so is sent again.
    """
    shared = [] if os.environ.get(COPIES_VARIABLE, "") not in ("", "0") else [Path(parcel.source)]
    for folder in (parcel.place, *shared):
        if is_there(parcel, folder):
            return folder
    return None


def is_there(parcel: Parcel, folder: Path) -> bool:
    """Whether a folder holds what the parcel holds."""
    try:
        if parcel.kind == "data":
            header = read_header(folder)
            return header is not None and header.fingerprint == parcel.mark and _is_whole_still(folder)
        if parcel.kind == "representation":
            return _mark_of_representation(folder) == parcel.mark  # the trial itself reads all of it and compares
        return folder.is_dir() and (_digest(folder, parcel.files) == parcel.mark)
    except (OSError, DataError):
        return False


_seen_whole: dict[Path, float] = {}
"""Data that this process has read through and found whole, with the time of its header: once is enough."""


def _is_whole_still(folder: Path) -> bool:
    written = (folder / HEADER).stat().st_mtime
    if _seen_whole.get(folder) != written:
        header = read_header(folder)
        if header is None or not is_whole(header):
            return False
        _seen_whole[folder] = written
    return True


def files_of(parcel: Parcel) -> list[PurePosixPath]:
    """The files that are sent, as paths below the folder."""
    if parcel.files:
        return [PurePosixPath(name) for name in parcel.files]
    return [PurePosixPath(path.name) for path in sorted(Path(parcel.source).iterdir()) if path.is_file()]


def pieces_of(file: Path, piece_bytes: int) -> Iterator[memoryview]:
    """A file's content, a piece at a time; one empty piece for an empty file."""
    with open(file, "rb") as source:
        piece = source.read(piece_bytes)
        yield memoryview(piece)
        while piece := source.read(piece_bytes):
            yield memoryview(piece)


def checksum_of(piece: bytes | memoryview, before: int = 0) -> int:
    """The checksum of a piece, or of all up to it, by which both ends know that what came is what was sent."""
    return zlib.crc32(piece, before)


def _mark_of_representation(folder: Path) -> str:
    try:
        return str(json.loads((folder / HEADER).read_text())["checksum"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _digest(folder: Path, names: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        content = (folder / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
