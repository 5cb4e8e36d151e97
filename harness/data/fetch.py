"""Download the files of datasets, and import files into the data home.

`download` tries the addresses of a file in turn and resumes a partial download. The partial file is called NAME.part,
and is renamed once it is complete and its checksum is right. A file with a wrong checksum is kept as NAME.refused.

`take_in` imports files. It copies them to a temporary folder, runs the loader on the copies, compares the counts with
the facts of the dataset, and then moves the copies into the data home. If a step fails, the data home is unchanged. If
the process is killed, the data home has either the old or the new files, and the next import removes the leftovers.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from harness.data.arrays import Header, can_be_fetched, differences, missing_data, move_form, parsed_folder
from harness.data.inventory import sweep
from harness.data.load import parse_in_process
from harness.errors import DataError, MissingData
from harness.executors.base import Executor
from harness.files import home
from harness.files.atomic import hash_file, lock, move_file, publish_folder
from harness.files.home import remove, work_folder
from harness.host.catalog import Entry
from harness.host.contract import DatasetSpec, RawFile
from harness.host.introspection import parameters_of
from harness.sdk.reading.raw import examine

MOST_BYTES = 2**36
"""Maximum size of a downloaded file."""
CHUNK_BYTES = 2**16
"""Size of the chunks in which a download is written; a lost connection loses at most one."""
_TRY_AGAIN = (408, 425, 429)
"""Status codes below 500 after which another attempt may succeed."""
_CONNECTION = re.compile(r"^\w+\(host=.*?\): ")
"""The description of a connection before the reason of an error."""
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
_FICLONE = 0x40049409
"""The ioctl of Linux that copies a file by sharing its blocks, on file systems that support it."""
_GIVEN = "what was given"
"""Name of the folder with the copies, which loaders may include in their messages."""


@dataclass(frozen=True)
class Patience:
    """Timeouts and retries of a download."""

    connect_seconds: float = 15.0
    """Time limit to connect."""
    silence_seconds: float = 60.0
    """Time limit without any data."""
    attempts: int = 4
    """Attempts for each address."""
    pause_seconds: float = 1.0
    """Pause before the second attempt; doubled before each further one."""


@dataclass(frozen=True)
class Watcher:
    """Callbacks for the progress and the problems of a download."""

    on_bytes: Callable[[str, int, int | None], None] = lambda name, received, total: None
    """Called with the file name, the bytes received so far, and the total if it is known."""
    on_trouble: Callable[[str], None] = lambda text: None
    """Called with the reason when an attempt or an address fails."""


@dataclass(frozen=True)
class Download:
    """A complete downloaded file, and the address from which it came."""

    path: Path
    url: str


@dataclass(frozen=True)
class Incoming:
    """A file to import."""

    path: Path
    name: str
    """Name of the file in the data home."""
    origin: str = "imported"
    """Address of a downloaded file."""


@dataclass(frozen=True)
class Intake:
    """Result of an import: the manifest of the raw files, and the header of the parsed dataset."""

    manifest: home.RawManifest
    header: Header


# -- fetching --------------------------------------------------------------------------------------------------------


def fetch_dataset(
    entry: Entry[DatasetSpec],
    executor: Executor,
    *,
    patience: Patience | None = None,
    watcher: Watcher | None = None,
    accept_differences: bool = False,
) -> Intake:
    """Download all files of a dataset and import them. Files that are already complete are not downloaded again.

    Parameters
    ----------
    entry : Entry of DatasetSpec
        The dataset.
    executor : Executor
        Runs the loader in a separate process.
    patience : Patience, optional
        Timeouts and retries.
    watcher : Watcher, optional
        Callbacks for progress and problems.
    accept_differences : bool, default=False
        True to import files whose counts differ from the facts of the dataset.

    Raises
    ------
    DataError
        If the dataset has no files, if another process is fetching it, or if the files cannot be read. MissingData if a
        file cannot be downloaded.
    """
    spec, folder = entry.spec, home.download_folder(entry.spec.name)
    if not spec.files and not spec.obtain:
        raise DataError(f"dataset {spec.name!r} needs no files: it can be used at once")
    if not can_be_fetched(spec):
        raise missing_data(spec, "it cannot be downloaded by a program")
    with _fetching_alone(spec.name, folder):
        files = _download_all(spec, folder, patience, watcher)
        try:
            intake = take_in(entry, files, executor, accept_differences=accept_differences)
        except DataError as error:
            unsure = _set_aside(spec, folder)
            if not unsure:
                raise
            raise error.adding(f"The downloaded files are kept in {folder} as {', '.join(unsure)}.") from error
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
        raise MissingData(
            error.trouble,
            culprit=f"dataset {spec.name!r}",
            next_step=(
                f"Check the network and repeat the command: partial files in {folder} are resumed. Or get the files "
                f"elsewhere (`harness data info {spec.name}` lists their addresses) and run "
                f"`harness data import {spec.name} FILE...`."
            ),
            command=f"harness data fetch {spec.name}",
        ) from error
    return files


def _set_aside(spec: DatasetSpec, folder: Path) -> list[str]:
    """Rename downloads without a known checksum to NAME.refused, and return the new names.

    They may be the cause of a failed import, so the next attempt has to download them again.
    """
    aside = []
    for file in spec.files:
        if file.sha256 is None:
            move_file(folder / file.name, folder / f"{file.name}.refused")
            aside.append(f"{file.name}.refused")
    return aside


@contextlib.contextmanager
def _fetching_alone(dataset: str, folder: Path) -> Iterator[None]:
    """Lock the download folder of a dataset during the block; DataError if another process has locked it."""
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(lock(folder / ".lock", wait=False))
        except BlockingIOError:
            raise DataError(f"dataset {dataset!r} is being fetched by another process. Wait for it.") from None
        except OSError as error:
            raise home.not_writable(error) from error
        yield


# -- importing -------------------------------------------------------------------------------------------------------


def take_in(
    entry: Entry[DatasetSpec], files: Sequence[Incoming], executor: Executor, *, accept_differences: bool = False
) -> Intake:
    """Import files into the data home, after the loader has read a copy of them.

    Parameters
    ----------
    entry : Entry of DatasetSpec
        The dataset.
    files : sequence of Incoming
        Its raw files.
    executor : Executor
        Runs the loader in a separate process.
    accept_differences : bool, default=False
        True to import files whose counts differ from the facts of the dataset.

    Raises
    ------
    DataError
        If the loader cannot read the files, or if the counts differ from the facts. The data home is then unchanged.
    """
    spec = entry.spec
    if "source" not in parameters_of(spec):
        raise DataError(f"dataset {spec.name!r} needs no files: it can be used at once")
    try:
        with work_folder(home.raw_root(), spec.name) as work:
            copies = tuple(_copy(file, work / _GIVEN / file.name) for file in files)
            try:
                header = _read_copies(spec, files, work, executor)
                found = differences(spec.facts, header)
                if found and not accept_differences:
                    raise DataError(
                        f"the files differ from its description: {'; '.join(found)}",
                        culprit=f"dataset {spec.name!r}",
                        next_step="Use --accept-differences to import them nevertheless.",
                    )
            except DataError as error:
                raise error.adding("Nothing was imported; the data home is unchanged.") from error
            return _put_in_place(entry, home.RawManifest(spec.name, copies, found), header, work)
    finally:
        sweep(spec.name)


def _copy(file: Incoming, target: Path) -> home.RawEntry:
    """Copy a file and return its entry for the manifest.

    The copy shares the blocks of the file if the file system can. A link would be faster, but would change with later
    edits of the file.
    """
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
    """Return the header of the dataset that the loader reads from the copies."""
    for file in files:
        examine(work / _GIVEN / file.name, name=file.name)
    # The loader runs in the work folder with a relative path, so its messages do not show the temporary path.
    return parse_in_process(spec.name, spec.load, {"source": _GIVEN}, work / "parsed", executor, run_in=work)


def _put_in_place(entry: Entry[DatasetSpec], manifest: home.RawManifest, header: Header, work: Path) -> Intake:
    """Move the copies into the data home as the raw files of the dataset, and the parsed form to its folder."""
    folder = home.raw_root() / manifest.folder_name()
    current = home.current_file(manifest.dataset)
    try:
        home.write_raw_manifest(work / _GIVEN, manifest)
        if not publish_folder(work / _GIVEN, folder):
            raise FileExistsError(f"{folder} exists")
        (work / current.name).write_text(f"{folder.name}\n")
        move_file(work / current.name, current)
        home.parsed_root().mkdir(exist_ok=True)
    except OSError as error:
        raise home.not_writable(error) from error
    form = parsed_folder(entry, parameters_of(entry.spec))
    # If another import has finished meanwhile, the name of the folder belongs to the files of that import.
    if home.raw_folder(manifest.dataset) == folder:
        move_form(work / "parsed", form)
    return Intake(manifest, replace(header, folder=str(form)))


# -- files to import -------------------------------------------------------------------------------------------------


def gather(paths: Sequence[Path]) -> list[Incoming]:
    """Return the files to import: the given files, and all files in the given folders except hidden ones.

    Raises
    ------
    DataError
        If a path does not exist, if a folder has a link or device, if two files have the same name, or if there is no
        file.
    """
    found: dict[str, Incoming] = {}
    for path in paths:
        for file in _files_at(path):
            if file.name in found:
                raise DataError(f"two of the files are called {file.name!r}. Rename one, or lay them in one folder.")
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
        raise DataError(f"{path} is neither a file nor a folder. Name files that are there.")


def _files_below(folder: Path) -> Iterator[Incoming]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in name.parts)
        is_folder = path.is_dir() and not path.is_symlink()
        is_manifest = name.as_posix() == home.MANIFEST  # present if the folder is from another data home
        if is_hidden or is_folder or is_manifest:
            continue
        if path.is_symlink() or not path.is_file():
            raise DataError(f"{path} is a link or device: it is not followed, put the file itself there")
        yield Incoming(path, name.as_posix())


# -- downloading -----------------------------------------------------------------------------------------------------


def download(
    file: RawFile, folder: Path, *, patience: Patience | None = None, watcher: Watcher | None = None
) -> Download:
    """Download a file from the first of its addresses that works.

    Parameters
    ----------
    file : RawFile
        The file, its addresses and its checksum.
    folder : Path
        Folder for the file. Partial files there are resumed.
    patience : Patience, optional
        Timeouts and retries.
    watcher : Watcher, optional
        Callbacks for progress and problems.

    Raises
    ------
    DataError
        If all addresses fail. The message lists the reason for each address.
    """
    patience, watcher = patience or Patience(), watcher or Watcher()
    complete, note = folder / file.name, folder / f"{file.name}.from"
    complete.parent.mkdir(parents=True, exist_ok=True)
    if complete.exists() and file.sha256 in (None, hash_file(complete)):
        return Download(complete, _read_note(note).get("url", "downloaded earlier"))
    troubles: list[str] = []
    half_from = _read_note(note).get("url", "")
    urls = list(file.urls)
    if half_from in urls:  # first try the address of the partial file, which can be resumed
        urls.remove(half_from)
        urls.insert(0, half_from)
    for url in urls:
        try:
            _download_from(url, file, folder, patience, watcher)
            move_file(folder / f"{file.name}.part", complete)
            for trouble in troubles:  # else they are in the error
                watcher.on_trouble(trouble)
            return Download(complete, url)
        except (_Broken, _Hopeless) as error:
            troubles.append(f"{url}: {error}")
    raise DataError("\n  ".join([f"{file.name} could not be downloaded:", *troubles]))


class _Broken(Exception):
    """An attempt failed; another one may succeed."""


class _Unreachable(_Broken):
    """No connection: nothing was received."""


class _Misfit(_Broken):
    """The server does not resume at the end of the partial file; the next attempt starts from 0."""


class _Hopeless(Exception):
    """The address cannot provide the file; retrying is pointless."""


def _download_from(url: str, file: RawFile, folder: Path, patience: Patience, watcher: Watcher) -> None:
    """Download a file from one address, with retries, to NAME.part, and check its checksum."""
    part, note = folder / f"{file.name}.part", folder / f"{file.name}.from"
    for attempt in range(1, patience.attempts + 1):
        try:
            began_at = _receive(url, file, part, note, patience, watcher)
            _check_hash(file, part, began_at)
            return
        except _Broken as error:
            if attempt == patience.attempts:
                raise
            if isinstance(error, _Misfit):
                part.unlink(missing_ok=True)
            if not isinstance(error, _Unreachable):  # without a network every attempt would report the same
                watcher.on_trouble(f"{url}: {error}; retrying")
            time.sleep(patience.pause_seconds * 2 ** (attempt - 1))


def _check_hash(file: RawFile, part: Path, began_at: int) -> None:
    found = hash_file(part)
    if file.sha256 in (None, found):
        return
    if began_at:  # the partial file may be of another version, so download the file from the start
        raise _Misfit("the two parts of a resumed download do not fit together")
    refused = part.with_name(f"{file.name}.refused")
    move_file(part, refused)
    raise _Hopeless(
        f"refused: SHA-256 {found}, expected {file.sha256}; what was sent is kept as {refused}, "
        "look into it before you trust that address"
    )


def _receive(url: str, file: RawFile, part: Path, note: Path, patience: Patience, watcher: Watcher) -> int:
    """Append the missing bytes to the partial file, and return the position where the response began."""
    import requests  # noqa: PLC0415 (only downloads need it)
    import urllib3  # noqa: PLC0415 (only downloads need it)

    known = _read_note(note)
    validator = known.get("validator", "")
    size = 0
    # Resume only if a validator or a checksum can show that both parts are of the same version.
    if known.get("url") == url and (validator or file.sha256) and part.exists():
        size = part.stat().st_size
    timeout = (patience.connect_seconds, patience.silence_seconds)
    try:
        with requests.get(url, headers=_range_headers(size, validator), stream=True, timeout=timeout) as response:
            began_at, total = _begin(response, size)
            if response.status_code != 416:
                _write_note(note, url, response)
                _append(response, part, began_at, total, partial(watcher.on_bytes, file.name))
            return began_at
    except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise _Broken(f"it was silent for {patience.silence_seconds:g} s") from error
    except (ValueError, requests.TooManyRedirects) as error:  # requests raises ValueError for an invalid address
        raise _Hopeless(str(error)) from error
    except requests.ConnectionError as error:
        raise _Unreachable(_reason(error)) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise _Broken(_reason(error)) from error


def _range_headers(size: int, validator: str) -> dict[str, str]:
    """Return the headers of a request for the bytes from `size` on, or for the full file if its version has changed."""
    headers = {"Accept-Encoding": "identity", "User-Agent": "harness"}
    if size:
        headers["Range"] = f"bytes={size}-"
        if validator:
            headers["If-Range"] = validator
    return headers


def _begin(response: Any, size: int) -> tuple[int, int | None]:
    """Return the position in the file where the response begins, and the size of the file, or None if unknown."""
    status = response.status_code
    content_range = _RANGE.match(response.headers.get("Content-Range", ""))
    if status == 200:
        return 0, _parse_count(response.headers.get("Content-Length", ""))
    total = _parse_count(content_range[2]) if content_range else None
    if status == 206 and content_range and content_range[1] and int(content_range[1]) == size:
        return size, total
    if status == 416 and total == size:  # the partial file is already complete, but not renamed
        return size, total
    reason = f"the server answered {status} {response.reason}"
    if status in (206, 416):
        raise _Misfit(f"{reason} to a request for the rest from byte {size:,}")
    if status >= 500 or status in _TRY_AGAIN:
        raise _Broken(reason)
    raise _Hopeless(reason)


def _parse_count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _append(
    response: Any, part: Path, began_at: int, total: int | None, report: Callable[[int, int | None], None]
) -> None:
    received = began_at
    part.touch()
    with open(part, "r+b") as stream:
        stream.truncate(began_at)
        stream.seek(began_at)
        for chunk in response.raw.stream(CHUNK_BYTES, decode_content=False):
            stream.write(chunk)
            received += len(chunk)
            if received > MOST_BYTES:
                raise _Hopeless(f"refused: it sends more than {MOST_BYTES:,} bytes")
            report(received, total)
    if total is not None and received != total:
        raise _Broken(f"it broke off after {received:,} of {total:,} bytes")


def _reason(error: Exception) -> str:
    """Return the reason of the innermost error, which is the most specific one."""
    for inner in [getattr(error, "reason", None), *error.args]:
        if isinstance(inner, Exception):
            return _reason(inner)
    return _CONNECTION.sub("", str(error)) or type(error).__name__


def _read_note(note: Path) -> dict[str, str]:
    """Return the address and the validator (ETag or date) of a partial file; empty if there are none."""
    try:
        content = json.loads(note.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _write_note(note: Path, url: str, response: Any) -> None:
    validator = response.headers.get("ETag", "")
    if not validator or validator.startswith("W/"):  # a weak ETag does not guarantee equal bytes
        validator = response.headers.get("Last-Modified", "")
    note.write_text(json.dumps({"url": url, "validator": validator}))
