"""Downloads: several addresses in turn, going on where an earlier attempt broke off, checked before they count.

A file grows as NAME.part and is renamed when it is whole and hashes to what it must. One with a wrong hash is kept
aside as NAME.refused. pooch, which does the hashing, can neither go on with half a file nor keep a refused one, so the
loop that receives is our own, on the library that pooch uses.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.contract import RawFile
from harness.errors import DataError

MOST_BYTES = 2**36
"""No server makes us write more than this into one file."""
CHUNK_BYTES = 2**16
"""What is lost at most when a connection fails."""
_TRY_AGAIN = (408, 425, 429)
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server, and how often to ask again."""

    connect_seconds: float = 15.0
    silence_seconds: float = 60.0
    attempts: int = 4
    pause_seconds: float = 1.0
    """Before the second attempt; doubled before each further one."""


@dataclass(frozen=True)
class Watcher:
    """Whom to tell how a download goes."""

    on_bytes: Callable[[str, int, int | None], None] = lambda name, received, total: None
    on_trouble: Callable[[str], None] = lambda text: None


@dataclass(frozen=True)
class Download:
    """A file that is whole, and where it came from."""

    path: Path
    url: str


class _Broken(Exception):
    """An attempt failed; another one may do better."""


class _Misfit(_Broken):
    """The server will not go on where the half file ends; the next attempt begins anew."""


class _Hopeless(Exception):
    """This address will not give the file, however often it is asked."""


def hash_file(path: Path) -> str:
    """The SHA-256 of a file."""
    import pooch  # noqa: PLC0415 (only downloads need it)

    return str(pooch.file_hash(str(path), alg="sha256"))


def download(
    file: RawFile, folder: Path, *, patience: Patience | None = None, watcher: Watcher | None = None
) -> Download:
    """Get one file into a folder from the first of its addresses that gives it; DataError tells what each one did."""
    patience, watcher = patience or Patience(), watcher or Watcher()
    whole, note = folder / file.name, folder / f"{file.name}.from"
    whole.parent.mkdir(parents=True, exist_ok=True)
    if whole.exists() and file.sha256 in (None, hash_file(whole)):
        return Download(whole, _read_note(note).get("url", "downloaded earlier"))
    troubles = []
    half_from = _read_note(note).get("url", "")
    urls = list(file.urls)
    if half_from in urls:  # what broke off is gone on with first
        urls.remove(half_from)
        urls.insert(0, half_from)
    for url in urls:
        try:
            _download_from(url, file, folder, patience, watcher)
            os.replace(folder / f"{file.name}.part", whole)
            return Download(whole, url)
        except (_Broken, _Hopeless) as error:
            troubles.append(f"{url}: {error}")
            watcher.on_trouble(troubles[-1])
    raise DataError("\n  ".join([f"{file.name} could not be downloaded:", *troubles]))


def _download_from(url: str, file: RawFile, folder: Path, patience: Patience, watcher: Watcher) -> None:
    """Ask one address until the file is whole and right, or patience ends."""
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
            watcher.on_trouble(f"{url}: {error}; asking again")
            time.sleep(patience.pause_seconds * 2 ** (attempt - 1))


def _check_hash(file: RawFile, part: Path, began_at: int) -> None:
    found = hash_file(part)
    if file.sha256 in (None, found):
        return
    if began_at:  # the first half may be of another version of the file: give the whole a chance
        raise _Misfit("the two halves of a broken-off download do not fit together")
    refused = part.with_name(f"{file.name}.refused")
    os.replace(part, refused)
    raise _Hopeless(
        f"refused: SHA-256 {found}, expected {file.sha256}; what was sent is kept as {refused}, "
        "look into it before you trust that address"
    )


def _receive(url: str, file: RawFile, part: Path, note: Path, patience: Patience, watcher: Watcher) -> int:
    """Append what is missing to the part file; gives at which byte this began."""
    import requests  # noqa: PLC0415 (only downloads need it)
    import urllib3  # noqa: PLC0415 (only downloads need it)

    known = _read_note(note)
    validator = known.get("validator", "")
    size = 0
    # Half a file is no beginning unless something will tell whether the other half belongs to it.
    if known.get("url") == url and (validator or file.sha256) and part.exists():
        size = part.stat().st_size
    timeout = (patience.connect_seconds, patience.silence_seconds)
    try:
        with requests.get(url, headers=_ask_for_rest(size, validator), stream=True, timeout=timeout) as response:
            began_at, total = _begin(response, size)
            if response.status_code != 416:
                _write_note(note, url, response)
                _append(response, part, began_at, total, partial(watcher.on_bytes, file.name))
            return began_at
    except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise _Broken(f"it was silent for {patience.silence_seconds:g} s") from error
    except (ValueError, requests.TooManyRedirects) as error:  # requests makes a ValueError of an impossible address
        raise _Hopeless(str(error)) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise _Broken(_reason(error)) from error


def _ask_for_rest(size: int, validator: str) -> dict[str, str]:
    """The headers of a request for what comes after the first `size` bytes of a file, if it is still that version."""
    headers = {"Accept-Encoding": "identity", "User-Agent": "harness"}
    if size:
        headers["Range"] = f"bytes={size}-"
        if validator:
            headers["If-Range"] = validator
    return headers


def _begin(response: Any, size: int) -> tuple[int, int | None]:
    """Where the answer begins in the file, and how long the whole file is, as far as the server tells."""
    status = response.status_code
    told = _RANGE.match(response.headers.get("Content-Range", ""))
    if status == 200:
        return 0, _whole(response.headers.get("Content-Length", ""))
    total = _whole(told[2]) if told else None
    if status == 206 and told and told[1] and int(told[1]) == size:
        return size, total
    if status == 416 and total == size:  # it was whole already, only not renamed
        return size, total
    reason = f"the server answered {status} {response.reason}"
    if status in (206, 416):
        raise _Misfit(f"{reason} to a request for the rest from byte {size:,}")
    if status >= 500 or status in _TRY_AGAIN:
        raise _Broken(reason)
    raise _Hopeless(reason)


def _whole(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _append(
    response: Any, part: Path, began_at: int, total: int | None, tell: Callable[[int, int | None], None]
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
            tell(received, total)
    if total is not None and received != total:
        raise _Broken(f"it broke off after {received:,} of {total:,} bytes")


def _reason(error: Exception) -> str:
    """The innermost reason, which is the one that tells."""
    for inner in [getattr(error, "reason", None), *error.args]:
        if isinstance(inner, Exception):
            return _reason(inner)
    return str(error) or type(error).__name__


def _read_note(note: Path) -> dict[str, str]:
    """Where the half file beside it comes from, and by what the server knows that version of it."""
    try:
        content = json.loads(note.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _write_note(note: Path, url: str, response: Any) -> None:
    validator = response.headers.get("ETag", "")
    if not validator or validator.startswith("W/"):  # a weak tag promises no equal bytes
        validator = response.headers.get("Last-Modified", "")
    note.write_text(json.dumps({"url": url, "validator": validator}))
