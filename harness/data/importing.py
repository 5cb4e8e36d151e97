"""Raw files on their way into the data home: copied beside, read by the loader, compared with the facts, put in place.

Whatever fails on the way leaves the data home as it was. After a kill, at whatever moment, the old files are found or
the new ones, and the next import clears away what the killed one left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.catalog import Entry
from harness.contract import DatasetSpec
from harness.data.arrays import Header, differences, folder_of, read_header
from harness.data.fetch import Patience, Watcher, download, hash_file
from harness.data.parsing import parse_apart
from harness.errors import DataError
from harness.executors.base import Executor
from harness.home import (
    MANIFEST,
    Manifest,
    RawEntry,
    before_of,
    data_home,
    download_folder,
    exchanging,
    how_to_get,
    import_folders,
    not_writable,
    open_lock,
    parsed_root,
    put_back,
    raw_folder,
    write_manifest,
)
from harness.sdk.reading.unpack import examine
from harness.signature import parameters_of

_FICLONE = 0x40049409
"""The request by which Linux file systems that can do so let two files share their blocks."""
_IN_USE = ".in-use"
"""The file in an import's folder that its process holds a lock on, so that others can tell whether it lives."""


@dataclass(frozen=True)
class Incoming:
    """A file to take in, what it is called in the data home, and where it comes from."""

    path: Path
    name: str
    origin: str = "imported"


@dataclass(frozen=True)
class Intake:
    """What was taken in and what was found in it."""

    manifest: Manifest
    header: Header


def gather(paths: Sequence[Path]) -> list[Incoming]:
    """The files that were named, and all in the folders that were; hidden ones are passed over."""
    found: list[Incoming] = []
    for path in paths:
        if path.is_file():
            found.append(Incoming(path, path.name))
        elif path.is_dir():
            found += _in_folder(path)
        else:
            raise DataError(f"{path} is neither a file nor a folder: name files that are there")
    names = [file.name for file in found]
    twice = sorted({name for name in names if names.count(name) > 1})[:1] if len(set(names)) < len(names) else []
    if twice:
        raise DataError(f"two of the files are called {twice[0]!r}: rename one, or lay them in one folder")
    if not found:
        raise DataError(f"{paths[0]} holds no files")
    return found


def _in_folder(folder: Path) -> Iterator[Incoming]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts) or (path.is_dir() and not path.is_symlink()):
            continue
        if name.as_posix() == MANIFEST:  # the folder is that of another data home
            continue
        if path.is_symlink() or not path.is_file():
            raise DataError(f"{path} is a link or device: it is not followed, put the file itself there")
        yield Incoming(path, name.as_posix())


def take_in(
    entry: Entry[DatasetSpec], files: Sequence[Incoming], executor: Executor, *, accept_differences: bool = False
) -> Intake:
    """Copy files beside the data home's, let the loader read them, compare, and only then put them in place."""
    spec = entry.spec
    if "source" not in parameters_of(spec):
        raise DataError(f"data set {spec.name!r} is made from no files of its own: there is nothing to bring")
    with _beside(spec.name) as beside:
        content = beside / "files"
        entries = tuple(_copy(file, content / file.name) for file in files)
        try:
            for file in files:
                examine(content / file.name)
            header = parse_apart(spec.name, spec.load, {"source": str(content)}, beside / "parsed", executor)
            found = differences(spec.facts, header)
            if found and not accept_differences:
                raise DataError(
                    f"data set {spec.name!r}: the files are not those of its description: {'; '.join(found)}; "
                    "--accept-differences takes them all the same"
                )
        except DataError as error:
            text = str(error).replace(f"{content}/", "").replace(str(content), "what was given")
            raise DataError(f"{text}\nNothing was taken in; the data home is as it was.") from error
        manifest = Manifest(spec.name, entries, found)
        write_manifest(content, manifest)
        _put_in_place(content, raw_folder(spec.name))
        return Intake(manifest, _keep(beside / "parsed", folder_of(entry, parameters_of(spec))))


def fetch(
    entry: Entry[DatasetSpec],
    executor: Executor,
    *,
    patience: Patience | None = None,
    watcher: Watcher | None = None,
    accept_differences: bool = False,
) -> Intake:
    """Download all files of a data set and take them in; what is whole already is not downloaded again."""
    spec, folder = entry.spec, download_folder(entry.spec.name)
    if not spec.files or not all(file.urls for file in spec.files):
        if not (spec.files or spec.obtain):
            raise DataError(f"data set {spec.name!r} is made from no files of its own: there is nothing to fetch")
        raise DataError(f"data set {spec.name!r} cannot be downloaded by a program: {how_to_get(spec)}")
    _make(folder)
    with _lock(folder / ".lock", f"data set {spec.name!r} is being fetched by another process: wait for it"):
        try:
            got = [download(file, folder, patience=patience, watcher=watcher) for file in spec.files]
        except DataError as error:
            raise DataError(
                f"data set {spec.name!r}: {error}\nWhat has arrived is kept in {folder}; the same command goes on "
                f"from there. Or get the files by hand: {how_to_get(spec)}"
            ) from error
        files = [Incoming(done.path, file.name, done.url) for file, done in zip(spec.files, got, strict=True)]
        try:
            intake = take_in(entry, files, executor, accept_differences=accept_differences)
        except DataError as error:
            raise DataError(f"{error}\n{_set_aside(spec, folder)}".rstrip()) from error
        shutil.rmtree(folder)
    return intake


def _set_aside(spec: DatasetSpec, folder: Path) -> str:
    """Put away downloads that no hash vouches for, so that the next attempt gets them anew; gives where they are."""
    unsure = [file.name for file in spec.files if file.sha256 is None]
    for name in unsure:
        os.replace(folder / name, folder / f"{name}.refused")
    return f"What was downloaded is kept in {folder} as {', '.join(f'{name}.refused' for name in unsure)}." * bool(
        unsure
    )


# -- steps -----------------------------------------------------------------------------------------------------------


def _copy(file: Incoming, target: Path) -> RawEntry:
    """Copy a file, where the file system can by sharing its blocks; never by a link, which would follow its edits."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(file.path, "rb") as source, open(target, "xb") as copy:
            try:
                fcntl.ioctl(copy, _FICLONE, source.fileno())
            except OSError:
                shutil.copyfileobj(source, copy, 2**20)
    except OSError as error:
        raise DataError(f"{file.path} cannot be copied to {target.parent}: {error}") from error
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return RawEntry(file.name, target.stat().st_size, hash_file(target), file.origin, when)


def _put_in_place(content: Path, folder: Path) -> None:
    """Exchange a data set's folder for another one; of two processes that do so the later one stays.

    What was there goes to where the other one was, to be removed from there: a half-removed folder is never put back.
    """
    before = before_of(folder)
    with exchanging(folder):
        put_back(folder)
        if before.exists():  # an earlier exchange was killed when only this was left to do
            os.rename(before, content.with_name("earlier"))
        if folder.exists():
            os.rename(folder, before)
        try:
            os.rename(content, folder)
        except OSError:
            put_back(folder)
            raise
        if before.exists():
            os.rename(before, content)


def _keep(parsed: Path, folder: Path) -> Header:
    """Move the parsed form to where runs look for it; the one that is there already has the same content."""
    _make(parsed_root())
    with contextlib.suppress(OSError):
        os.rename(parsed, folder)
    header = read_header(folder)
    if header is None:
        raise DataError(f"{folder} is in the way: remove it, and the data set is parsed again")
    return header


@contextlib.contextmanager
def _beside(dataset: str) -> Iterator[Path]:
    """A folder to work in, beside the raw files; those that killed imports left are removed."""
    raw = _make(data_home() / "raw")
    with contextlib.ExitStack() as stack:
        with exchanging(raw_folder(dataset)):  # so that nobody takes a folder without its lock yet for a dead one
            for left in import_folders(dataset):
                _remove_if_dead(left)
            try:
                beside = tempfile.TemporaryDirectory(prefix=f".{dataset}-", dir=raw, ignore_cleanup_errors=True)
            except OSError as error:
                raise not_writable(error) from error
            folder = Path(stack.enter_context(beside))
            stack.enter_context(_lock(folder / _IN_USE, f"{folder} is in use"))
        yield folder


def _remove_if_dead(folder: Path) -> None:
    """Remove the folder of an import that no process holds any more."""
    with contextlib.suppress(DataError), _lock(folder / _IN_USE, f"{folder} is in use"):
        shutil.rmtree(folder, ignore_errors=True)


def _make(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_writable(error) from error
    return folder


@contextlib.contextmanager
def _lock(path: Path, refusal: str) -> Iterator[None]:
    """Hold a lock, or refuse to go on where another process does."""
    with open_lock(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(refusal) from None
        yield
