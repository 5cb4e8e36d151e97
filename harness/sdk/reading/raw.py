"""Raw files of a data set: finding them, reading folders, archives and packed files, saying what is missing.

They are where `source=` says, or else in the data home, where `harness data fetch` and `harness data import` put them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.errors import DataError
from harness.home import MANIFEST, raw_folder, read_manifest
from harness.sdk.reading.unpack import (
    UNREADABLE,
    Budget,
    kind_of,
    members_of,
    open_raw,
    tar_members,
    unreadable,
    without_suffix,
)

__all__ = ["RawFiles", "open_raw", "tar_members"]

MOST_BYTES = 2**33
"""What the files of one data set may come to in memory."""


@dataclass(frozen=True, kw_only=True)
class RawFiles:
    """What a data set is made from."""

    dataset: str
    needed: str
    """What to get and from whom, in words."""
    wanted: re.Pattern[str]
    """Which files inside are read: searched for in their paths, written with slashes. What a packing adds to a name
    (.gz, .bz2, .xz, .zst) may be there or not."""
    archive: str | None = None
    """The name of the tar or zip archive that holds them, if they come in one."""

    def error(self, trouble: str, next_step: str = "") -> DataError:
        """What a loader raises about its files: the data set is named."""
        return DataError(trouble, culprit=self._culprit, next_step=next_step)

    def locate(self, source: str | None) -> Path:
        """The file or folder that was given, or else the data home's folder."""
        path = raw_folder(self.dataset) if source is None else Path(os.path.expanduser(source))
        if not path.exists():
            raise self._unusable(f"{path} does not exist")
        return path

    def stamp(self, source: str | None = None, **_: object) -> str:
        """Names the raw content without reading it: by the hashes in the data home's manifest, or by size and time.

        The loader's other parameters may come along and say nothing of the content, so that `"module:RAW.stamp"` does
        as the stamp of a `DatasetSpec`.
        """
        path = self.locate(source)
        manifest = read_manifest(path) if source is None else None
        if manifest is not None:
            manifest.check_sizes(path)
            return manifest.stamp()
        facts = []
        for name, file in self._chosen(path).items():
            facts.append((name, file.stat().st_size, file.stat().st_mtime_ns))
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def read(self, source: str | None) -> list[tuple[re.Match[str], bytes]]:
        """The wanted files, by what `wanted` found in their paths, in the order of these."""
        found: dict[str, tuple[re.Match[str], bytes]] = {}
        n_bytes = 0
        with self._telling(source):
            for match, stream in self.open_each(source):
                if match.string in found:
                    raise DataError(f"{match.string} is there twice, perhaps packed and unpacked: remove one")
                content = _drain(stream, match.string, MOST_BYTES - n_bytes)
                n_bytes += len(content)
                found[match.string] = match, content
        return [found[name] for name in sorted(found)]

    def open_each(self, source: str | None) -> Iterator[tuple[re.Match[str], IO[bytes]]]:
        """The wanted files as unpacked streams, each to be read before the next, in the order they are met."""
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
        return f"data set {self.dataset!r}"

    @contextmanager
    def _telling(self, source: str | None) -> Iterator[None]:
        """Adds to every error what the data set is made from."""
        try:
            yield
        except DataError as error:
            if error.culprit == self._culprit:
                raise
            raise self._unusable(str(error)) from error
        except UNREADABLE as error:
            raise self._unusable(str(unreadable(self.locate(source), error))) from error

    def _streams(self, path: Path) -> Iterator[tuple[str, IO[bytes], Budget]]:
        """Every file at hand, its name and its file's budget: of a folder, of archives, or the file itself."""
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
        """The files to look at: one that was named, or in a folder those that are wanted, or else its archives."""
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
        """The error for files that are missing or cannot be read: with what to get, and how to bring it."""
        return self.error(
            f"{trouble}; it is made from {self.needed}",
            f"`harness data import {self.dataset} FILE...` takes the files you have into the data home, "
            f"or name them for one run with --set \"{self.dataset}.source='PATH'\"",
        )


def _drain(stream: IO[bytes], name: str, most_bytes: int) -> bytes:
    content = bytearray()
    while part := stream.read(2**16):
        content += part
        if len(content) > most_bytes:
            raise DataError(f"{name} is refused: with all before it unpacks to more than {MOST_BYTES:,} bytes")
    return bytes(content)
