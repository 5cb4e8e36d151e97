"""The data home: its paths, the manifests of raw files, and the folders that are built in it.

The raw files of a dataset are in a folder that is named by its content and never changes. A file with one line has the
name of the current folder, and is replaced in one step. Readers therefore need no lock: they find the old files or the
new ones.

Everything in the data home is built in a hidden folder and moved to its place in one step. A killed process leaves its
hidden folder behind. Processes hold a shared lock on the data home while they build. While no process holds it, hidden
folders are leftovers and can be removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs

from harness.errors import DataError
from harness.files.atomic import is_locked, lock, remove_folder

HOME_VARIABLE = "HARNESS_DATA_HOME"
MANIFEST = "manifest.json"
LIMIT_VARIABLE = "HARNESS_REPRESENTED_BYTES"
DEFAULT_LIMIT = 5 * 10**9
"""The size limit of the cache of representations in bytes, unless LIMIT_VARIABLE has another one."""
_LOCK = ".lock"
REPRESENTED_LAYOUT = 1
"""Incremented when the format of represented rows changes."""
_CONTENT, _CHANCE = "[0-9a-f]{16}", "[a-z0-9_]{8}"
_UNFINISHED = rf"\.(.+?)(?:-{_CONTENT})?-{_CHANCE}"
"""Matches the names of folders that are being built. Names of finished folders end with 16 digits of a SHA-256."""
_PARSED_NAMES = re.compile(rf"{_UNFINISHED}|(.+)-{_CONTENT}(?:{_CHANCE})?")
_RAW_NAMES = re.compile(rf"{_UNFINISHED}|(.+)-{_CONTENT}|(.+)\.current|\.(.+)\.(?:before|lock)|([^.].*)")
"""The last alternative of both patterns matches names from releases before 0.2."""


# -- paths -----------------------------------------------------------------------------------------------------------


def data_home() -> Path:
    """Return the folder for all data: HARNESS_DATA_HOME, or the platform's cache folder.

    Raises
    ------
    DataError
        If the path is a file.
    """
    home = Path(os.environ.get(HOME_VARIABLE) or platformdirs.user_cache_dir("harness")).absolute()
    if os.path.exists(home) and not home.is_dir():
        raise DataError(f"the data home {home} is a file: --data-home or {HOME_VARIABLE} must name a folder")
    return home


def not_writable(error: OSError) -> DataError:
    """Return the error for a data home that cannot be written."""
    return DataError(
        f"cannot write the data home {data_home()} ({error}). Choose another one with --data-home or {HOME_VARIABLE}."
    )


def raw_root() -> Path:
    """Return the folder for raw files of all datasets."""
    return data_home() / "raw"


def parsed_root() -> Path:
    """Return the folder for parsed forms of all datasets."""
    return data_home() / "parsed"


def represented_root() -> Path:
    """Return the folder for represented datasets, which several learners share."""
    return data_home() / "represented"


def represented_name(dataset: str, fingerprint: str, split: str, seed: int, identity: str) -> str:
    """Return the name of the folder for the training and test rows of a split in a representation."""
    decisive = json.dumps([REPRESENTED_LAYOUT, fingerprint, split, seed, identity])
    return f"{dataset}-{hashlib.sha256(decisive.encode()).hexdigest()[:16]}"


def downloads_root() -> Path:
    """Return the folder for downloads."""
    return data_home() / "downloads"


def environments_root() -> Path:
    """Return the folder for environments of learners that need other packages."""
    return data_home() / "environments"


def download_folder(dataset: str) -> Path:
    """Return the folder for downloads of a dataset, also incomplete and rejected ones."""
    return downloads_root() / dataset


def current_file(dataset: str) -> Path:
    """Return the file that names the folder with the current raw files of a dataset."""
    return raw_root() / f"{dataset}.current"


def raw_folder(dataset: str) -> Path:
    """Return the folder with the raw files of a dataset; it does not exist if there are none."""
    try:
        name = current_file(dataset).read_text().strip()
    except OSError:
        name = ""
    if name.startswith(f"{dataset}-"):
        return raw_root() / name
    return raw_root() / dataset  # the folder of releases before 0.2


def owner_of(path: Path) -> str | None:
    """Return the dataset that a path in the data home belongs to, from the file name; None if it belongs to none.

    Parameters
    ----------
    path : Path
        A file or folder directly below one of the folders of the data home.
    """
    has_digest = path.parent in (parsed_root(), represented_root())
    names = _PARSED_NAMES if has_digest else _RAW_NAMES
    match = names.fullmatch(path.name)
    if match is None:
        return None
    owner: str = next(filter(None, match.groups()))
    return owner


# -- building and removing -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def work_folder(parent: Path, name: str) -> Iterator[Path]:
    """Yield a new hidden folder below `parent` for building something. It is removed when the block ends.

    Move a finished folder out of it with `harness.files.atomic.publish_folder`.

    Parameters
    ----------
    parent : Path
        The folder to create it in, which is created if needed.
    name : str
        Begins the name of the hidden folder, so that leftovers can be assigned to a dataset.

    Yields
    ------
    Path
        The new folder.

    Raises
    ------
    DataError
        If the folder cannot be created.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_sharing_home())
            parent.mkdir(parents=True, exist_ok=True)
            built = tempfile.TemporaryDirectory(prefix=f".{name}-", dir=parent, ignore_cleanup_errors=True)
        except OSError as error:
            raise not_writable(error) from error
        yield Path(stack.enter_context(built))


@contextlib.contextmanager
def _sharing_home() -> Iterator[None]:
    """Hold the shared lock of the data home. While any process holds it, no hidden folder counts as a leftover."""
    data_home().mkdir(parents=True, exist_ok=True)
    # On a file system without locks, `is_home_in_use` is always True and leftovers are never removed.
    with lock(data_home() / _LOCK, shared=True, required=False):
        yield


def is_home_in_use() -> bool:
    """Return whether a process is building something in the data home.

    If not, hidden folders are leftovers of killed processes. The result is also True if the data home does not exist or
    cannot be locked.
    """
    return not data_home().is_dir() or is_locked(data_home() / _LOCK, by_readers=True)


def remove_unfinished(kept: Path) -> None:
    """Remove unfinished folders of the same dataset beside `kept`, unless the data home is in use.

    The folders are listed before that check, because a folder that appears later belongs to a live process.
    """
    dataset = owner_of(kept)
    found = [path for path in kept.parent.glob(".*") if owner_of(path) == dataset]
    if not found or is_home_in_use():
        return
    for path in found:
        with contextlib.suppress(OSError):  # the next call tries again
            remove(path)


def remove(path: Path) -> None:
    """Remove a file or folder of the data home.

    Parameters
    ----------
    path : Path
        The file or folder. Of a symbolic link, the link is removed and not its target.

    Raises
    ------
    DataError
        If the path is outside of the data home, or is reached through a link that leads outside.
    """
    home = data_home().resolve()
    if home not in path.parent.resolve().parents:
        raise DataError(f"{path} is not inside the data home {home}: it is left alone, remove it yourself")
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    with _sharing_home():
        remove_folder(path)


def make_room(limit: int | None = None, spare: Path | None = None) -> None:
    """Remove the least recently used representations until their cache is within its limit.

    Trials that have mapped a removed folder keep their data.

    Parameters
    ----------
    limit : int, optional
        The limit in bytes instead of that of HARNESS_REPRESENTED_BYTES, or the default of 5 GB.
    spare : path, optional
        A folder that is never removed.
    """
    if limit is None:
        limit = int(os.environ.get(LIMIT_VARIABLE) or DEFAULT_LIMIT)
    folders = [path for path in represented_root().glob("[!.]*") if path.is_dir()]
    total = 0
    for folder in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True):
        total += sum(file.stat().st_size for file in folder.iterdir())
        if total > limit and folder != spare:
            with contextlib.suppress(OSError):
                remove(folder)


# -- manifests -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RawEntry:
    """A raw file in the data home.

    Parameters
    ----------
    file : str
        The path below the dataset's folder, with slashes.
    bytes : int
        The size of the file.
    sha256 : str
        The SHA-256 of the content in hexadecimal.
    origin : str
        The URL from which the file was downloaded, or "imported".
    when : str
        The time of the download or import, in ISO format.
    """

    file: str
    bytes: int
    sha256: str
    origin: str
    when: str


@dataclass(frozen=True)
class RawManifest:
    """The raw files of a dataset, and the differences from its published description that the user accepted.

    Parameters
    ----------
    dataset : str
        The name of the dataset.
    files : tuple of RawEntry
        All raw files.
    differences : tuple of str, default=()
        Differences from the description that the user accepted, one line each.
    """

    dataset: str
    files: tuple[RawEntry, ...]
    differences: tuple[str, ...] = ()

    def stamp(self) -> str:
        """Return a digest of names and contents of the files; their origin and time do not matter."""
        contents = sorted((file.file, file.sha256) for file in self.files)
        return hashlib.sha256(repr(contents).encode()).hexdigest()

    def as_text(self) -> str:
        """Return the content of manifest.json."""
        return json.dumps(asdict(self), indent=1) + "\n"

    def folder_name(self) -> str:
        """Return the name of the folder for these files. Each import has another name, since its time differs."""
        return f"{self.dataset}-{hashlib.sha256(self.as_text().encode()).hexdigest()[:16]}"

    def check_sizes(self, folder: Path) -> None:
        """Raise DataError if a file is missing or has another size; contents are not read."""
        for file in self.files:
            path = folder / file.file
            if not path.is_file() or path.stat().st_size != file.bytes:
                raise DataError(
                    f"{path} is missing, or has not {file.bytes:,} bytes any more",
                    culprit=f"dataset {self.dataset!r}",
                    next_step=f"`harness data verify {self.dataset}` shows the changes. "
                    f"`harness data clear {self.dataset} --raw` removes the files; then fetch them again.",
                )


def read_raw_manifest(folder: Path) -> RawManifest | None:
    """Return the manifest of a folder with raw files; None if it has none.

    Raises
    ------
    DataError
        If the manifest is damaged.
    """
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_text())
        files = tuple(RawEntry(**file) for file in content["files"])
        return RawManifest(content["dataset"], files, tuple(content["differences"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"{path} is damaged ({type(error).__name__}: {error})",
            next_step=f"`harness data clear {owner_of(folder)} --raw`",
        ) from error


def write_raw_manifest(folder: Path, manifest: RawManifest) -> None:
    """Write the manifest of a folder with raw files."""
    (folder / MANIFEST).write_text(manifest.as_text())
