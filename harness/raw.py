"""Raw files that the user has: finding them, reading folders and archives in memory, saying what is missing.

Nothing is ever unpacked to disk. Archives whose members would leave their folder, or that are links or devices, or that
unpack to more than any of these data sets holds, are refused.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tarfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, cast

from harness.errors import DataError
from harness.home import raw_folder

RAW_VARIABLE = "HARNESS_RAW"
MOST_BYTES = 2**30
_GZIP = b"\x1f\x8b"
_UNREADABLE = (tarfile.TarError, EOFError, OSError, zlib.error, ValueError)


@dataclass(frozen=True)
class RawFiles:
    """What a data set is made from."""

    dataset: str
    needed: str
    """What to get and from whom, in words."""
    folder: str
    """Where it is below the folder that HARNESS_RAW names."""
    wanted: re.Pattern[str]
    """Which files inside are read: searched for in their paths, written with slashes."""
    archive: str | None = None
    """The name of the tar archive that holds them, if they come in one."""

    def locate(self, source: str | None) -> Path:
        """The file or folder that was given, or else the one below HARNESS_RAW."""
        home = os.environ.get(RAW_VARIABLE)
        if source is not None:
            path = Path(source).expanduser()
        elif home:
            folder = Path(home) / self.folder
            path = folder / self.archive if self.archive and (folder / self.archive).exists() else folder
        else:
            path = raw_folder(self.dataset)
        if not path.exists():
            raise DataError(self._say(f"{path} does not exist"))
        return path

    def stamp(self, source: str | None) -> str:
        """Names the raw content by the sizes and times of its files, without reading them."""
        path = self.locate(source)
        files = self._files(path) if path.is_dir() else {path.name: path}
        facts = [(name, file.stat().st_size, file.stat().st_mtime_ns) for name, file in files.items()]
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def read(self, source: str | None) -> list[tuple[re.Match[str], bytes]]:
        """The wanted files, by what `wanted` found in their paths, in the order of these."""
        path = self.locate(source)
        try:
            found = self._from_folder(path) if path.is_dir() else self._from_archive(path)
        except _UNREADABLE as error:
            raise DataError(self._say(f"{path} cannot be read ({type(error).__name__}: {error})")) from error
        if not found:
            raise DataError(self._say(f"{path} holds none of the files"))
        return [(match, found[name]) for name in sorted(found) if (match := self.wanted.search(name))]

    def _files(self, folder: Path) -> dict[str, Path]:
        files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        return {name: path for name, path in files.items() if self._wants(name)}

    def _wants(self, name: str) -> bool:
        return bool(self.wanted.search(name)) and not name.rpartition("/")[2].startswith(".")

    def _from_folder(self, folder: Path) -> dict[str, bytes]:
        return {name: self._content(path) for name, path in self._files(folder).items()}

    def _from_archive(self, path: Path) -> dict[str, bytes]:
        if self.archive is None:
            raise DataError(self._say(f"{path} is a file, expected a folder"))
        found = {}
        with tarfile.open(fileobj=BytesIO(self._content(path)), mode="r:") as archive:
            for member in archive:
                self._check(path, member)
                if member.isreg() and self._wants(member.name):
                    found[member.name] = cast(IO[bytes], archive.extractfile(member)).read()
        return found

    def _check(self, path: Path, member: tarfile.TarInfo) -> None:
        if member.name.startswith("/") or ".." in member.name.split("/"):
            raise DataError(self._say(f"{path} is refused: its member {member.name!r} would leave the folder"))
        if not (member.isreg() or member.isdir()):
            raise DataError(self._say(f"{path} is refused: its member {member.name!r} is a link or device"))

    def _content(self, path: Path) -> bytes:
        """A whole file, unpacked when it is gzipped."""
        if not path.is_file():
            raise DataError(self._say(f"{path} is neither a file nor a folder"))
        with open(path, "rb") as file:
            packed = file.read(len(_GZIP)) == _GZIP
        content = bytearray()
        with gzip.open(path) if packed else open(path, "rb") as stream:
            while part := stream.read(2**20):
                content += part
                if len(content) > MOST_BYTES:
                    raise DataError(self._say(f"{path} is refused: it unpacks to more than {MOST_BYTES:,} bytes"))
        return bytes(content)

    def _say(self, trouble: str) -> str:
        return (
            f"data set {self.dataset!r}: {trouble}; it is made from {self.needed}: "
            f"name it with --set \"{self.dataset}.source='PATH'\", "
            f"or keep it in {self.folder}/ below the folder that {RAW_VARIABLE} names"
        )
