"""Both parts of a split as represented, kept in the data home: computed once, mapped by the trial of every learner.

A folder is named by the data set and by all that decides its content. What is mapped is copied where it is written to,
so that no learner can change what the next one sees. When all of it takes too much, what was used longest ago goes.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.data.folders import remove, work_folder
from harness.home import not_writable, represented_root

LIMIT_VARIABLE = "HARNESS_REPRESENTED_BYTES"
DEFAULT_LIMIT = 5 * 10**9
LARGE_VARIABLE = "HARNESS_LARGE_BYTES"
LARGE_BYTES = 10**9
"""Beyond this, values and their columns together, a representation is made block by block where it can be."""
HEAD_BYTES = 128
HEADER = "header.json"
_PARTS, _PIECES = ("train", "test"), ("indptr", "indices", "data")


@dataclass(frozen=True)
class Represented:
    """Both parts of a trial as its learner sees them, and what it took to make them."""

    train: Any
    test: Any
    seconds: float = 0.0
    cpu_seconds: float = 0.0


class Spent(Protocol):
    """A clock that was running while something was made."""

    wall: float
    cpu: float


def keep_represented(parts: Represented, folder: Path) -> None:
    """Write both parts into a folder beside this one, which then takes this one's place in one step."""
    header = {"seconds": parts.seconds, "cpu_seconds": parts.cpu_seconds, "checksum": _checksum(parts)}
    with work_folder(folder.parent, folder.name) as work:
        made = work / folder.name
        try:
            made.mkdir()
            for name, array in _arrays(parts):
                np.save(made / f"{name}.npy", array)
            header |= {name: getattr(parts, name).shape for name in _PARTS}
            (made / HEADER).write_text(json.dumps(header))
            for file in made.iterdir():
                file.chmod(0o444)
        except OSError as error:
            raise not_writable(error) from error
        with suppress(OSError):  # another run was faster, and made the same
            os.rename(made, folder)


def keep_blocks(blocks: Mapping[str, Iterable[csr_array]], clock: Spent, folder: Path) -> None:
    """The same for parts that come block by block, so that no more than a block is ever in memory.

    `blocks` has the training part first: what it takes to make a block is on the clock, and read when all are written.
    """
    with work_folder(folder.parent, folder.name) as work:
        made = work / folder.name
        try:
            made.mkdir()
            shapes = {part: _write_blocks(made, part, rows) for part, rows in blocks.items()}
            train, test = (_matrix(made, part, shapes[part]) for part in _PARTS)
            parts = Represented(train, test, clock.wall, clock.cpu)
            header = {
                "seconds": parts.seconds,
                "cpu_seconds": parts.cpu_seconds,
                "checksum": _checksum(parts),
                **shapes,
            }
            (made / HEADER).write_text(json.dumps(header))
            for file in made.iterdir():
                file.chmod(0o444)
        except OSError as error:
            raise not_writable(error) from error
        with suppress(OSError):  # another run was faster, and made the same
            os.rename(made, folder)


def _write_blocks(folder: Path, part: str, blocks: Iterable[csr_array]) -> tuple[int, int]:
    """Write the arrays of a part, and give its shape."""
    ends = [np.zeros(1, np.int64)]
    width = 0
    names = [folder / f"{part}_{piece}.npy" for piece in ("indices", "data")]
    with _growing(names[0], np.int32) as add_indices, _growing(names[1], np.float32) as add_data:
        for block in blocks:
            add_indices(block.indices)
            add_data(block.data)
            ends.append(ends[-1][-1] + block.indptr[1:].astype(np.int64))
            width = block.shape[1]
    indptr = np.concatenate(ends)
    narrow = np.int32 if indptr[-1] < 2**31 else np.int64
    np.save(folder / f"{part}_indptr.npy", indptr.astype(narrow))
    return len(indptr) - 1, width


@contextmanager
def _growing(path: Path, kind: type[np.generic]) -> Iterator[Callable[[NDArray[Any]], None]]:
    """A .npy file that values are added to: its head, which tells their number, is written last into a gap."""
    count = 0
    with path.open("wb") as file:
        file.write(bytes(HEAD_BYTES))

        def add(values: NDArray[Any]) -> None:
            nonlocal count
            count += values.size
            file.write(np.ascontiguousarray(values, kind).data)

        yield add
        told = f"{{'descr': '{np.dtype(kind).str}', 'fortran_order': False, 'shape': ({count},), }}"
        start = np.lib.format.magic(1, 0)
        text = told.ljust(HEAD_BYTES - len(start) - 3) + "\n"
        file.seek(0)
        file.write(start + len(text).to_bytes(2, "little") + text.encode())


def is_large(nonzeros: int | None) -> bool:
    """Whether rows with so many values are better not held in memory at once."""
    limit = int(os.environ.get(LARGE_VARIABLE) or LARGE_BYTES)
    return nonzeros is not None and 8 * nonzeros > limit


def open_represented(folder: Path) -> Represented | None:
    """What is kept in a folder, mapped; None where it is not there, or is not what was kept."""
    try:
        header = json.loads((folder / HEADER).read_text())
        train, test = (_matrix(folder, part, tuple(header[part])) for part in _PARTS)
        parts = Represented(train, test, header["seconds"], header["cpu_seconds"])
        is_whole = _checksum(parts) == header["checksum"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not is_whole:
        return None
    with suppress(OSError):
        os.utime(folder)
    return parts


def make_room(limit: int | None = None, spare: Path | None = None) -> None:
    """Remove what was used longest ago until the rest is within the limit; one folder may be spared, however large.

    Trials that map what is removed keep what they have.
    """
    if limit is None:
        limit = int(os.environ.get(LIMIT_VARIABLE) or DEFAULT_LIMIT)
    folders = [path for path in represented_root().glob("[!.]*") if path.is_dir()]
    total = 0
    for folder in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True):
        total += sum(file.stat().st_size for file in folder.iterdir())
        if total > limit and folder != spare:
            with suppress(OSError):
                remove(folder)


def _arrays(parts: Represented) -> Iterator[tuple[str, Any]]:
    for part in _PARTS:
        for piece in _PIECES:
            yield f"{part}_{piece}", getattr(getattr(parts, part), piece)


def _checksum(parts: Represented) -> int:
    checksum = 0
    for _, array in _arrays(parts):
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum


def _matrix(folder: Path, part: str, shape: tuple[int, int]) -> csr_array:
    arrays = [np.load(folder / f"{part}_{piece}.npy", mmap_mode="c").view(np.ndarray) for piece in _PIECES]
    indptr, indices, data = arrays
    return csr_array((data, indices, indptr), shape=shape, copy=False)
