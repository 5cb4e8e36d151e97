"""Atomic writes and locks. No other module renames files or takes file locks.

A file or folder is built under a temporary name beside its destination and renamed when it is complete. A reader
therefore finds the old content or the new content, never a mixture, and needs no lock. A process that is killed leaves
its temporary file behind (`.NAME-xxxxxxxx.tmp`); `remove_temporary_files` deletes such files.

Locks are `flock` locks. The kernel releases them when the process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

Content = bytes | str | Callable[[BinaryIO], object]
"""Bytes, text (written as UTF-8), or a function that writes to a binary stream."""
READ_ONLY = 0o444
_NAME_LETTERS = 60
"""Maximum number of letters from the destination's name in a temporary name, which may have 255 bytes at most."""
_TEMPORARY = re.compile(r"\..+-[0-9a-f]{8}\.tmp")


# -- files -----------------------------------------------------------------------------------------------------------


def write_file(path: Path, content: Content, *, sync: bool = True, read_only: bool = False) -> None:
    """Replace a file in one step.

    Concurrent writers do not mix their content: the file of the last one to finish stays. If anything fails, an
    existing file keeps its content.

    Parameters
    ----------
    path : Path
        The file. A symbolic link in its place is replaced, not followed.
    content : bytes, str or callable
        The content. A callable gets a binary stream and writes to it.
    sync : bool, default=True
        True to wait until the content is on the disk before the rename.
    read_only : bool, default=False
        True to remove the write permissions.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    with staged_file(path, sync=sync, read_only=read_only) as temporary, temporary.open("wb") as stream:
        _write_content(stream, content)


@contextlib.contextmanager
def staged_file(path: Path, *, sync: bool = True, read_only: bool = False) -> Iterator[Path]:
    """Yield a temporary file beside `path` that replaces it when the block ends.

    Use it for libraries that write to a path. `write_file` is simpler for everything else. The temporary file is
    removed if the block raises.

    Parameters
    ----------
    path : Path
        The destination.
    sync : bool, default=True
        True to wait until the content is on the disk before the rename.
    read_only : bool, default=False
        True to remove the write permissions.

    Yields
    ------
    Path
        The empty temporary file.
    """
    temporary = _new_temporary_file(path)
    try:
        yield temporary
        if read_only:
            temporary.chmod(READ_ONLY)
        if sync:
            _sync(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def create_file(path: Path, content: Content) -> bool:
    """Create a file in one step unless it exists.

    Parameters
    ----------
    path : Path
        The file; its folder must exist.
    content : Content
        Bytes, text, or a function that writes to a binary stream.

    Returns
    -------
    bool
        True if this call created the file. False if it existed; it is then unchanged.
    """
    temporary = _new_temporary_file(path)
    try:
        with temporary.open("wb") as stream:
            _write_content(stream, content)
        os.link(temporary, path)  # a link, unlike a rename, fails if the file exists
        return True
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)


def move_file(source: Path, target: Path) -> None:
    """Move a complete file to another path on the same file system, and replace an existing file there."""
    os.replace(source, target)


def append_line(handle: int, line: bytes) -> None:
    """Append a line to an open file and wait until it is on the disk.

    If that fails, for example because the disk is full, the file is cut to its former length and the error is raised.

    Parameters
    ----------
    handle : int
        Descriptor of a file that was opened for appending.
    line : bytes
        The line with its line break.

    Raises
    ------
    OSError
        If the line cannot be written completely.
    """
    size = os.fstat(handle).st_size
    try:
        while line:  # a nearly full disk accepts a part of the line
            line = line[os.write(handle, line) :]
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, size)
        raise


def open_unlinked(path: Path, flags: int) -> int:
    """Open a file and return its descriptor; raise OSError (ELOOP) if the path is a symbolic link."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)  # opening a pipe may block forever


MOST_BYTES = 2**26
"""The default limit of `read_regular`."""


def read_regular(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    path : Path
        The file, or a link to it.
    most_bytes : int, default=MOST_BYTES
        The size of the largest file that is read.

    Raises
    ------
    OSError
        If the file cannot be read or is larger, or if it is a pipe or a device, whose reading may never end.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        if facts.st_size > most_bytes:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
        return file.read()


def remove_temporary_files(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder.

    Call it only under a lock: the temporary file of a live process must not be removed.
    """
    for file in folder.glob(".*.tmp"):
        if _TEMPORARY.fullmatch(file.name):
            file.unlink(missing_ok=True)


def _new_temporary_file(path: Path) -> Path:
    """Create an empty file with a unique hidden name beside `path`."""
    temporary = path.with_name(f".{path.name[:_NAME_LETTERS]}-{secrets.token_hex(4)}.tmp")
    # `tempfile.mkstemp` would deny access to other users; this file has the permissions of any new file.
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))
    return temporary


def _write_content(stream: BinaryIO, content: Content) -> None:
    if callable(content):
        content(stream)
    else:
        stream.write(content.encode() if isinstance(content, str) else content)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- folders ---------------------------------------------------------------------------------------------------------


def publish_folder(built: Path, place: Path, *, read_only: bool = False) -> bool:
    """Move a complete folder to its place in one step.

    Parameters
    ----------
    built : Path
        The folder, on the same file system as `place`.
    place : Path
        Its destination.
    read_only : bool, default=False
        True to remove the write permissions of all files in it.

    Returns
    -------
    bool
        True if the folder was moved. False if `place` already exists; it is then unchanged.

    Raises
    ------
    OSError
        If the folder cannot be moved for another reason.
    """
    if read_only:
        for file in built.rglob("*"):
            if file.is_file():
                file.chmod(READ_ONLY)
    try:
        os.rename(built, place)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR) and os.path.lexists(place):
            return False
        raise
    return True


@contextlib.contextmanager
def build_folder(place: Path) -> Iterator[Path]:
    """Yield a hidden folder beside `place` that moves there when the block ends.

    The folder is removed if the block raises.

    Yields
    ------
    Path
        The empty hidden folder.

    Raises
    ------
    FileExistsError
        If `place` exists when the block ends.
    """
    built = place.with_name(f".{place.name[:_NAME_LETTERS]}-{secrets.token_hex(4)}")
    built.mkdir()
    try:
        yield built
        if not publish_folder(built, place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))
    finally:
        shutil.rmtree(built, ignore_errors=True)


@contextlib.contextmanager
def replacement_folder(place: Path, check: Callable[[Path], object]) -> Iterator[Path]:
    """Yield a hidden folder beside `place` that takes its place in one step when the block ends.

    The former folder is removed afterwards. If the block raises, or if `check` does, `place` keeps its folder.

    Parameters
    ----------
    place : Path
        An existing folder, not a symbolic link.
    check : callable
        Called with the former folder under its hidden name. It raises an error if that is not the folder to replace,
        because another process was faster.

    Raises
    ------
    OSError
        If the folders cannot be exchanged. The errno is ENOTSUP on file systems that cannot do so in one step.
    """
    built = place.with_name(f".{place.name[:_NAME_LETTERS]}-{secrets.token_hex(4)}")
    built.mkdir()
    try:
        yield built
        _exchange(built, place)
        try:
            check(built)
        except BaseException:
            _exchange(built, place)
            raise
    finally:
        shutil.rmtree(built, ignore_errors=True)


def _exchange(first: Path, second: Path) -> None:
    """Exchange two folders in one step, so that both names exist at any moment."""
    system = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(first), os.fsencode(second)
    if sys.platform == "darwin":
        failed = system.renamex_np(*names, _RENAME_SWAP)
    elif hasattr(system, "renameat2"):
        failed = system.renameat2(_HERE, names[0], _HERE, names[1], _RENAME_EXCHANGE)
    else:  # an old C library
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(second))
    if failed:
        number = ctypes.get_errno()
        if number in (errno.EINVAL, errno.ENOSYS):  # the file system, or the kernel, lacks the operation
            number = errno.ENOTSUP
        raise OSError(number, os.strerror(number), str(second))


_HERE, _RENAME_EXCHANGE = -100, 2
"""AT_FDCWD and the flag of Linux for `renameat2`."""
_RENAME_SWAP = 2
"""The flag of macOS for `renamex_np`."""


def copy_linked(source: Path, target: Path, *, without: str = "") -> None:
    """Copy a folder with hard links to its files, or with copies where the file system has none.

    Parameters
    ----------
    source, target : Path
        An existing folder, and one that does not exist.
    without : str, default=""
        Name of a file or folder directly in `source` to leave out.
    """

    def ignored(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name == without and Path(folder) == source]

    shutil.copytree(source, target, ignore=ignored, copy_function=_link_or_copy)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copyfile(source, target)


def remove_folder(folder: Path) -> None:
    """Remove a folder. If the process is killed meanwhile, no incomplete folder is left under this name."""
    doomed = folder
    if not folder.name.startswith("."):
        # The folder moves into a hidden one. If it were only renamed, it could be mistaken for a finished folder.
        doomed = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
        doomed.mkdir()
        os.rename(folder, doomed / folder.name)
    shutil.rmtree(doomed)


# -- locks -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def lock(path: Path, *, shared: bool = False, wait: bool = True, required: bool = True) -> Iterator[int]:
    """Hold a lock on a file while the block runs; the file is created if needed.

    Parameters
    ----------
    path : Path
        The lock file. It must not be a symbolic link.
    shared : bool, default=False
        True if other processes may hold shared locks at the same time.
    wait : bool, default=True
        True to wait until other processes release the lock.
    required : bool, default=True
        False to run the block without a lock on file systems that do not support locks.

    Yields
    ------
    int
        The descriptor of the lock file.

    Raises
    ------
    BlockingIOError
        If another process holds the lock and `wait` is False.
    OSError
        If the file cannot be opened or locked.
    """
    handle = open_unlinked(path, os.O_RDWR | os.O_CREAT)
    try:
        with contextlib.nullcontext() if required else contextlib.suppress(OSError):
            fcntl.flock(handle, _lock_mode(shared=shared, wait=wait))
        yield handle
    finally:
        os.close(handle)  # releases the lock


def is_locked(path: Path, *, by_readers: bool = False) -> bool:
    """Return whether another process holds a lock on a file; False if the file does not exist.

    Parameters
    ----------
    path : Path
        The lock file; it is not created.
    by_readers : bool, default=False
        True if shared locks count too.

    Returns
    -------
    bool
        True also on file systems without locks.
    """
    try:
        handle = open_unlinked(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, _lock_mode(shared=not by_readers, wait=False))
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _lock_mode(*, shared: bool, wait: bool) -> int:
    return (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)


# -- queries ---------------------------------------------------------------------------------------------------------


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, or of all files below a folder; symbolic links count 0."""
    if path.is_symlink():
        return 0
    if path.is_file():
        return path.stat().st_size
    n_bytes = 0
    for file in path.rglob("*"):
        if file.is_file() and not file.is_symlink():
            n_bytes += file.stat().st_size
    return n_bytes


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
