"""Where data is kept: the data home, in it the raw files of each data set with their manifest, and how to get them.

Raw files are exchanged for others by renaming two folders. Whoever asks for them after a kill between the two finds
the old ones put back.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import platformdirs

from harness.contract import DatasetSpec
from harness.errors import DataError

HOME_VARIABLE = "HARNESS_DATA_HOME"
MANIFEST = "manifest.json"


def data_home() -> Path:
    """The folder that holds all data: HARNESS_DATA_HOME, or the platform's cache folder."""
    given = os.environ.get(HOME_VARIABLE)
    home = Path(given) if given else Path(platformdirs.user_cache_dir("harness"))
    if os.path.exists(home) and not home.is_dir():
        raise DataError(f"the data home {home} is a file: --data-home or {HOME_VARIABLE} must name a folder")
    return home


def not_writable(error: OSError) -> DataError:
    """What is said when nothing can be put into the data home."""
    return DataError(
        f"cannot write the data home {data_home()} ({error}): --data-home or {HOME_VARIABLE} names another one"
    )


def raw_folder(dataset: str) -> Path:
    """Where the raw files of a data set are, once they were fetched or imported.

    Where files wait to be put back and nothing can be written, they count as absent: reading goes on without them.
    """
    folder = data_home() / "raw" / dataset
    if os.path.isdir(before_of(folder)) and not folder.exists():
        with contextlib.suppress(DataError, OSError), exchanging(folder):
            put_back(folder)
    return folder


def import_folders(dataset: str) -> list[Path]:
    """The folders in which imports of a data set work, or worked until they were killed."""
    name = re.compile(rf"\.{re.escape(dataset)}-[a-z0-9_]{{8}}")
    return [path for path in sorted((data_home() / "raw").glob(".*")) if name.fullmatch(path.name)]


def before_of(folder: Path) -> Path:
    """Where raw files wait while others take their place; there is nothing there at any other time."""
    return folder.with_name(f".{folder.name}.before")


def lock_of(folder: Path) -> Path:
    """What whoever exchanges raw files holds meanwhile."""
    return folder.with_name(f".{folder.name}.lock")


def open_lock(path: Path) -> IO[str]:
    """A file in the data home to hold a lock on."""
    try:
        return open(path, "w")
    except OSError as error:
        raise not_writable(error) from error


@contextlib.contextmanager
def exchanging(folder: Path) -> Iterator[None]:
    """Hold the lock under which raw files are exchanged, waiting for whoever has it."""
    with open_lock(lock_of(folder)) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def put_back(folder: Path) -> None:
    """Undo an exchange that was killed half-way; to be called under the lock."""
    if before_of(folder).exists() and not folder.exists():
        os.rename(before_of(folder), folder)


def download_folder(dataset: str) -> Path:
    """Where downloads of a data set grow, and where what was refused is kept aside."""
    return data_home() / "downloads" / dataset


def parsed_root() -> Path:
    """The folder that holds the parsed forms of all data sets."""
    return data_home() / "parsed"


def how_to_get(spec: DatasetSpec) -> str:
    """What a data set is made from, where it can be had, and the command that brings it into the data home."""
    lines = [f"  {file.name} from {url}" for file in spec.files for url in file.urls]
    lines += [f"  {file.name}" for file in spec.files if not file.urls]
    fetchable = bool(spec.files) and all(file.urls for file in spec.files)
    text = f"it is made from {spec.obtain}\n" if spec.obtain else "it is made from these files:\n"
    text += "".join(f"{line}\n" for line in lines)
    if fetchable:
        text += f"`harness data fetch {spec.name}` downloads them, "
    return text + f"`harness data import {spec.name} FILE...` takes files that you have"


@dataclass(frozen=True)
class RawEntry:
    """One raw file as it was put into the data home."""

    file: str
    """Its path below the data set's folder, written with slashes."""
    bytes: int
    sha256: str
    origin: str
    """The URL it came from, or "imported"."""
    when: str


@dataclass(frozen=True)
class Manifest:
    """All raw files of a data set, and what of its facts did not hold but was accepted."""

    dataset: str
    files: tuple[RawEntry, ...]
    differences: tuple[str, ...] = ()

    def stamp(self) -> str:
        """Names the content, whenever and from wherever it came."""
        return hashlib.sha256(repr(sorted((file.file, file.sha256) for file in self.files)).encode()).hexdigest()

    def check_sizes(self, folder: Path) -> None:
        """DataError for a file that is gone or has another size than it came with; no content is read."""
        for file in self.files:
            path = folder / file.file
            if not path.is_file() or path.stat().st_size != file.bytes:
                raise DataError(
                    f"data set {self.dataset!r}: {path} is not the file of {file.bytes:,} bytes that was put there: "
                    f"`harness data verify {self.dataset}` tells what changed, "
                    f"`harness data clear {self.dataset} --raw` makes room to get it again"
                )


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest in a folder of raw files; None where there is none."""
    try:
        content = json.loads((folder / MANIFEST).read_text())
        files = tuple(RawEntry(**file) for file in content["files"])
        return Manifest(content["dataset"], files, tuple(content["differences"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DataError(
            f"{folder / MANIFEST} is damaged ({reason}): `harness data clear {folder.name} --raw`"
        ) from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put the manifest beside the files."""
    (folder / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1) + "\n")
