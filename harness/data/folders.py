"""Folders of the data home: made aside and moved into place by one rename, removed in one step, told from leftovers.

What lies in its place is never changed, so that readers need no lock: they find a folder whole or not at all. What a
process was making when it was killed stays behind under a hidden name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.errors import DataError
from harness.home import data_home, not_writable, owner_of


@contextlib.contextmanager
def work_folder(place: Path, name: str) -> Iterator[Path]:
    """A hidden folder to make something in, beside where it will lie; gone afterwards with whatever is still in it."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_at_work())
            place.mkdir(parents=True, exist_ok=True)
            made = tempfile.TemporaryDirectory(prefix=f".{name}-", dir=place, ignore_cleanup_errors=True)
        except OSError as error:
            raise not_writable(error) from error
        yield Path(stack.enter_context(made))


@contextlib.contextmanager
def _at_work() -> Iterator[None]:
    """Share the lock of the data home: while anybody does, nobody takes hidden folders for leftovers."""
    data_home().mkdir(parents=True, exist_ok=True)
    with open(data_home() / ".lock", "a") as lock:
        with contextlib.suppress(OSError):  # on a file system without locks nobody ever knows to be alone
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def is_anybody_at_work() -> bool:
    """Whether something is being made in the data home. If not, what looks like it was left by a killed process."""
    try:
        with open(data_home() / ".lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:  # somebody is, or there is no telling
        return True


def remove_unfinished(kept: Path) -> None:
    """Remove what killed processes were making of a data set beside where it is kept; not while anybody is at work.

    It is listed first: what is made after nobody was seen at work is somebody's.
    """
    dataset = owner_of(kept)
    found = [path for path in kept.parent.glob(".*") if owner_of(path) == dataset]
    if not found or is_anybody_at_work():
        return
    for path in found:
        with contextlib.suppress(OSError):  # then it waits for the next one
            remove(path)


def remove(path: Path) -> None:
    """Remove a file or folder of the data home; what lies elsewhere, or is reached by a link, is never touched."""
    home = data_home().resolve()
    if home not in path.parent.resolve().parents:
        raise DataError(f"{path} is not inside the data home {home}: it is left alone, remove it yourself")
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    with _at_work():
        doomed = path
        if not path.name.startswith("."):
            # A kill in the middle must not leave half of it where it would be taken for the whole.
            doomed = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
            os.rename(path, doomed / path.name)
        shutil.rmtree(doomed)


def size_of(path: Path) -> int:
    """The bytes of a file or of all files in a folder; links count for nothing."""
    if path.is_symlink():
        return 0
    if path.is_file():
        return path.stat().st_size
    n_bytes = 0
    for file in path.rglob("*"):
        if file.is_file() and not file.is_symlink():
            n_bytes += file.stat().st_size
    return n_bytes
