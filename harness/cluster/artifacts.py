"""Artifacts: folders that a job needs on its worker, with a dataset, a representation, or code of the user.

The name of an artifact depends on its content. A worker looks for an artifact in its own data home, and then at the
host's path, since both may share a file system. The host sends only artifacts that the worker finds in neither place.
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
from harness.executors.base import Input
from harness.files.home import data_home, parsed_root, represented_root

COPIES_VARIABLE = "HARNESS_OWN_COPIES"
"""Set this variable on workers that should not read from the host's path, for example on a slow network drive."""
CODE = "code"
"""The folder of the data home for code that other machines have sent."""


@dataclass(frozen=True)
class Artifact:
    """A folder that a job needs on its worker.

    Parameters
    ----------
    kind : {"data", "representation", "code"}
        The type of content.
    name : str
        The name of the folder. Different content has a different name.
    digest : str
        The fingerprint of a dataset, the checksum of a representation, or the digest of code.
    source : str
        The path of the folder on the host.
    files : tuple of str
        For code, the files that belong to the artifact, as paths below the folder. Other kinds have all files of
        the folder, and an empty tuple here.
    """

    kind: Literal["data", "representation", "code"]
    name: str
    digest: str
    source: str
    files: tuple[str, ...] = ()

    @property
    def place(self) -> Path:
        """The path of the folder in the data home of this machine."""
        roots = {"data": parsed_root(), "representation": represented_root(), "code": data_home() / CODE}
        return roots[self.kind] / self.name


def artifact_of(needed: Input) -> Artifact | None:
    """Return the artifact for an input of a job; None for a representation that is not cached: the job computes it.

    Parameters
    ----------
    needed : Input
        The dataset or representation that a job reads.
    """
    if needed.kind == "data":
        return data_artifact(needed.folder, needed.digest)
    return representation_artifact(needed.folder)


def data_artifact(folder: str, fingerprint: str) -> Artifact:
    """Return the artifact of a parsed dataset in this folder."""
    return Artifact("data", Path(folder).name, fingerprint, folder)


def representation_artifact(folder: str) -> Artifact | None:
    """Return the artifact of a represented dataset; None if the folder does not contain a complete one."""
    digest = _checksum_of_representation(Path(folder))
    return Artifact("representation", Path(folder).name, digest, folder) if digest else None


def code_artifact(folder: Path, files: Iterable[Path]) -> Artifact:
    """Return the artifact of code.

    Parameters
    ----------
    folder : Path
        The folder to import from.
    files : iterable of Path
        The files below the folder that belong to the artifact.
    """
    names = sorted(file.relative_to(folder).as_posix() for file in files)
    digest = _digest_files(folder, names)
    return Artifact("code", f"{folder.name or 'code'}-{digest[:16]}", digest, str(folder), tuple(names))


def find_artifact(artifact: Artifact) -> Path | None:
    """Return the path of an artifact on this machine; None if it is missing or was changed, and has to be sent."""
    shared = [] if os.environ.get(COPIES_VARIABLE, "") not in ("", "0") else [Path(artifact.source)]
    for folder in (artifact.place, *shared):
        if is_intact(artifact, folder):
            return folder
    return None


def is_intact(artifact: Artifact, folder: Path) -> bool:
    """Return whether a folder has the content of an artifact.

    Datasets and code are verified completely. Of a representation only the recorded checksum is compared, since the
    trial verifies the arrays.

    Parameters
    ----------
    artifact : Artifact
        The expected content.
    folder : Path
        A folder on this machine, which may be missing.
    """
    try:
        if artifact.kind == "data":
            header = read_header(folder)
            return header is not None and header.fingerprint == artifact.digest and _is_still_whole(folder)
        if artifact.kind == "representation":
            return _checksum_of_representation(folder) == artifact.digest
        return folder.is_dir() and _digest_files(folder, artifact.files) == artifact.digest
    except (OSError, DataError):
        return False


def files_of(artifact: Artifact) -> list[PurePosixPath]:
    """Return the files of an artifact on the host, as paths below its folder."""
    if artifact.files:
        return [PurePosixPath(name) for name in artifact.files]
    source = Path(artifact.source)
    return [PurePosixPath(path.relative_to(source)) for path in sorted(source.rglob("*")) if path.is_file()]


def pieces_of(file: Path, piece_bytes: int) -> Iterator[memoryview]:
    """Yield the content of a file in pieces of at most `piece_bytes` bytes.

    An empty file yields one empty piece. Without it, the receiver would not create the file.

    Parameters
    ----------
    file : Path
        The file to read.
    piece_bytes : int
        Size of every piece but the last.
    """
    with open(file, "rb") as source:
        piece = source.read(piece_bytes)
        yield memoryview(piece)
        while piece := source.read(piece_bytes):
            yield memoryview(piece)


def checksum_of(piece: bytes | memoryview, before: int = 0) -> int:
    """Return the checksum of a piece, continued from the checksum of the pieces before it.

    Parameters
    ----------
    piece : bytes or memoryview
        Some bytes.
    before : int, default=0
        Checksum of the pieces before; 0 for the first one.

    Examples
    --------
    >>> checksum_of(b"parts", before=checksum_of(b"two ")) == checksum_of(b"two parts")
    True
    """
    return zlib.crc32(piece, before)


_verified: dict[Path, float] = {}
"""Datasets that this process has verified, with the modification time of their header; each is verified once."""


def _is_still_whole(folder: Path) -> bool:
    """Return whether a dataset is complete; verify it only if its header has changed since the last call."""
    written = (folder / HEADER).stat().st_mtime
    if _verified.get(folder) != written:
        header = read_header(folder)
        if header is None or not is_whole(header):
            return False
        _verified[folder] = written
    return True


def _checksum_of_representation(folder: Path) -> str:
    """Return the checksum in the header of a representation; "" if there is no valid header."""
    try:
        return str(json.loads((folder / HEADER).read_text())["checksum"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _digest_files(folder: Path, names: Iterable[str]) -> str:
    """Return a digest of the names and the content of files."""
    digest = hashlib.sha256()
    for name in names:
        content = (folder / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
