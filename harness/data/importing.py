"""Raw files on their way into the data home: copied aside, read by the loader, compared with the facts, put in place.

Whatever fails on the way leaves the data home as it was. After a kill, at whatever moment, the old files are found or
the new ones, and the next import clears away what the killed one left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness import home
from harness.catalog import Entry
from harness.contract import DatasetSpec
from harness.data.arrays import Header, differences, folder_of, move_form
from harness.data.downloading import Patience, Watcher, download, hash_file
from harness.data.folders import remove, work_folder
from harness.data.inventory import sweep
from harness.data.parsing import parse_apart
from harness.errors import DataError
from harness.executors.base import Executor
from harness.sdk.reading.unpack import examine
from harness.signature import parameters_of

_FICLONE = 0x40049409
"""The request by which Linux file systems that can do so let two files share their blocks."""
_GIVEN = "what was given"
"""What the folder with the copies is called: the loader's messages name it."""


@dataclass(frozen=True)
class Incoming:
    """A file to take in, what it is called in the data home, and where it comes from."""

    path: Path
    name: str
    origin: str = "imported"


@dataclass(frozen=True)
class Intake:
    """What was taken in and what was found in it."""

    manifest: home.Manifest
    header: Header


# -- gathering -------------------------------------------------------------------------------------------------------


def gather(paths: Sequence[Path]) -> list[Incoming]:
    """The files that were named, and all in the folders that were; hidden ones are passed over."""
    found: dict[str, Incoming] = {}
    for path in paths:
        for file in _files_at(path):
            if file.name in found:
                raise DataError(f"two of the files are called {file.name!r}: rename one, or lay them in one folder")
            found[file.name] = file
    if not found:
        raise DataError(f"{paths[0]} holds no files")
    return list(found.values())


def _files_at(path: Path) -> Iterator[Incoming]:
    if path.is_file():
        yield Incoming(path, path.name)
    elif path.is_dir():
        yield from _files_below(path)
    else:
        raise DataError(f"{path} is neither a file nor a folder: name files that are there")


def _files_below(folder: Path) -> Iterator[Incoming]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in name.parts)
        is_folder = path.is_dir() and not path.is_symlink()
        is_manifest = name.as_posix() == home.MANIFEST  # the folder is that of another data home
        if is_hidden or is_folder or is_manifest:
            continue
        if path.is_symlink() or not path.is_file():
            raise DataError(f"{path} is a link or device: it is not followed, put the file itself there")
        yield Incoming(path, name.as_posix())


# -- importing -------------------------------------------------------------------------------------------------------


def take_in(
    entry: Entry[DatasetSpec], files: Sequence[Incoming], executor: Executor, *, accept_differences: bool = False
) -> Intake:
    """Copy files beside the data home's, let the loader read them, compare, and only then put them in place."""
    spec = entry.spec
    if "source" not in parameters_of(spec):
        raise DataError(f"data set {spec.name!r} is made from no files of its own: there is nothing to bring")
    try:
        with work_folder(home.raw_root(), spec.name) as work:
            copies = tuple(_copy(file, work / _GIVEN / file.name) for file in files)
            try:
                header = _read_copies(spec, files, work, executor)
                found = differences(spec.facts, header)
                if found and not accept_differences:
                    raise DataError(
                        f"the files are not those of its description: {'; '.join(found)}",
                        culprit=f"data set {spec.name!r}",
                        next_step="--accept-differences takes them all the same",
                    )
            except DataError as error:
                raise error.adding("Nothing was taken in; the data home is as it was.") from error
            return _put_in_place(entry, home.Manifest(spec.name, copies, found), header, work)
    finally:
        sweep(spec.name)


def _copy(file: Incoming, target: Path) -> home.RawEntry:
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
    when = datetime.now(UTC).isoformat()
    return home.RawEntry(file.name, target.stat().st_size, hash_file(target), file.origin, when)


def _read_copies(spec: DatasetSpec, files: Sequence[Incoming], work: Path, executor: Executor) -> Header:
    """The header of what the loader makes of the copies; it is kept beside them."""
    for file in files:
        examine(work / _GIVEN / file.name, name=file.name)
    # The loader runs in the work folder, so that what it says of files names them as the user knows them.
    return parse_apart(spec.name, spec.load, {"source": _GIVEN}, work / "parsed", executor, run_in=work)


def _put_in_place(entry: Entry[DatasetSpec], manifest: home.Manifest, header: Header, work: Path) -> Intake:
    """Make these the raw files of the data set, and keep what was read from them where runs look for it."""
    folder = home.raw_root() / manifest.folder_name()
    current = home.current_file(manifest.dataset)
    try:
        home.write_manifest(work / _GIVEN, manifest)
        os.rename(work / _GIVEN, folder)
        (work / current.name).write_text(f"{folder.name}\n")
        os.replace(work / current.name, current)
        home.parsed_root().mkdir(exist_ok=True)
    except OSError as error:
        raise home.not_writable(error) from error
    form = folder_of(entry, parameters_of(entry.spec))
    # Where another import came after, the form's name is that of its files.
    if home.raw_folder(manifest.dataset) == folder:
        move_form(work / "parsed", form)
    return Intake(manifest, replace(header, folder=str(form)))


# -- fetching --------------------------------------------------------------------------------------------------------


def fetch_dataset(
    entry: Entry[DatasetSpec],
    executor: Executor,
    *,
    patience: Patience | None = None,
    watcher: Watcher | None = None,
    accept_differences: bool = False,
) -> Intake:
    """Download all files of a data set and take them in; what is whole already is not downloaded again."""
    spec, folder = entry.spec, home.download_folder(entry.spec.name)
    if not spec.files and not spec.obtain:
        raise DataError(f"data set {spec.name!r} is made from no files of its own: there is nothing to fetch")
    if not home.can_be_fetched(spec):
        raise home.missing_data(spec, "it cannot be downloaded by a program")
    with _fetching_alone(spec.name, folder):
        files = _download_all(spec, folder, patience, watcher)
        try:
            intake = take_in(entry, files, executor, accept_differences=accept_differences)
        except DataError as error:
            unsure = _set_aside(spec, folder)
            if not unsure:
                raise
            raise error.adding(f"What was downloaded is kept in {folder} as {', '.join(unsure)}.") from error
        remove(folder)
    return intake


def _download_all(
    spec: DatasetSpec, folder: Path, patience: Patience | None, watcher: Watcher | None
) -> list[Incoming]:
    files = []
    try:
        for file in spec.files:
            done = download(file, folder, patience=patience, watcher=watcher)
            files.append(Incoming(done.path, file.name, done.url))
    except DataError as error:
        raise home.missing_data(
            spec,
            f"{error.trouble}\nWhat has arrived is kept in {folder}; the same command goes on from there. "
            "Or get the files by hand",
        ) from error
    return files


def _set_aside(spec: DatasetSpec, folder: Path) -> list[str]:
    """Put away downloads that no hash vouches for, so that the next attempt gets them anew; gives their names."""
    aside = []
    for file in spec.files:
        if file.sha256 is None:
            os.replace(folder / file.name, folder / f"{file.name}.refused")
            aside.append(f"{file.name}.refused")
    return aside


@contextlib.contextmanager
def _fetching_alone(dataset: str, folder: Path) -> Iterator[None]:
    """Hold the lock on a folder of downloads, or refuse to go on where another process does."""
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(folder / ".lock", "w"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"data set {dataset!r} is being fetched by another process: wait for it") from None
        except OSError as error:
            raise home.not_writable(error) from error
        yield
