"""Cache of splits after representation, so that a representation is computed once for the trials of all learners.

The cache is in the data home. The name of a folder has the dataset and a digest of everything that determines its
content. Trials map the arrays into memory copy-on-write, so a learner that writes to them changes only its own copy.
`harness.files.home.make_room` keeps the cache within its size limit.
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

from harness.files.atomic import publish_folder
from harness.files.home import not_writable, work_folder

LARGE_VARIABLE = "HARNESS_LARGE_BYTES"
LARGE_BYTES = 10**9
"""Size of a matrix in bytes above which a representation is computed block by block if possible."""
HEAD_BYTES = 128
"""Size of the header of a .npy file that is written block by block."""
HEADER = "header.json"
_PARTS, _PIECES = ("train", "test"), ("indptr", "indices", "data")


@dataclass(frozen=True)
class Represented:
    """Training and test rows of a trial after representation, and the wall and CPU time to compute them."""

    train: Any
    test: Any
    seconds: float = 0.0
    cpu_seconds: float = 0.0


class Spent(Protocol):
    """Wall and CPU time of a computation."""

    wall: float
    cpu: float


def keep_represented(parts: Represented, folder: Path) -> None:
    """Store the training and test rows in a folder of the cache.

    They are written to a temporary folder, which is then renamed: other processes never see a partial folder.

    Parameters
    ----------
    parts : Represented
        The rows, with the time that it took to compute them.
    folder : Path
        The folder of the cache; if it exists, it is kept.

    Raises
    ------
    DataError
        If the data home cannot be written.
    """
    header = {"seconds": parts.seconds, "cpu_seconds": parts.cpu_seconds, "checksum": _checksum(parts)}
    with work_folder(folder.parent, folder.name) as work:
        made = work / folder.name
        try:
            made.mkdir()
            for name, array in _arrays(parts):
                np.save(made / f"{name}.npy", array)
            header |= {name: getattr(parts, name).shape for name in _PARTS}
            (made / HEADER).write_text(json.dumps(header))
            publish_folder(made, folder, read_only=True)  # another run may have published the same before
        except OSError as error:
            raise not_writable(error) from error


def keep_blocks(blocks: Mapping[str, Iterable[csr_array]], clock: Spent, folder: Path) -> None:
    """Store the training and test rows block by block, with one block in memory at a time.

    Parameters
    ----------
    blocks : mapping of str to iterable of csr_array
        Blocks of the parts "train" and "test", in this order; each is computed when it is iterated.
    clock : Spent
        Time spent on computing blocks; read after the last one.
    folder : Path
        Folder of the cache.
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
            publish_folder(made, folder, read_only=True)  # another run may have published the same before
        except OSError as error:
            raise not_writable(error) from error


def _write_blocks(folder: Path, part: str, blocks: Iterable[csr_array]) -> tuple[int, int]:
    """Write the arrays of a part and return its shape."""
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
    """Open a .npy file and yield a function that appends values to it.

    The header contains the number of values, so it is written last, into the space reserved at the start.
    """
    count = 0
    with path.open("wb") as file:
        file.write(bytes(HEAD_BYTES))

        def add(values: NDArray[Any]) -> None:
            nonlocal count
            count += values.size
            file.write(np.ascontiguousarray(values, kind).data)

        yield add
        description = f"{{'descr': '{np.dtype(kind).str}', 'fortran_order': False, 'shape': ({count},), }}"
        start = np.lib.format.magic(1, 0)
        text = description.ljust(HEAD_BYTES - len(start) - 3) + "\n"
        file.seek(0)
        file.write(start + len(text).to_bytes(2, "little") + text.encode())


def is_large(nonzeros: int | None) -> bool:
    """Return whether a matrix with this number of values is too large to hold in memory at once; False for None."""
    limit = int(os.environ.get(LARGE_VARIABLE) or LARGE_BYTES)
    return nonzeros is not None and 8 * nonzeros > limit


def open_represented(folder: Path) -> Represented | None:
    """Return the memory-mapped rows of a cached folder; None if files are missing or the checksum is wrong.

    This also marks the folder as recently used.

    Parameters
    ----------
    folder : Path
        The folder of the cache.
    """
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
