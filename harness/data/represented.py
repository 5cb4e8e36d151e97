"""Both parts of a split as represented, kept in the data home: computed once, mapped by the trial of every learner.

A folder is named by the data set and by all that decides its content. What is mapped is copied where it is written to,
so that no learner can change what the next one sees. When all of it takes too much, what was used longest ago goes.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.data.folders import remove, work_folder
from harness.home import not_writable, represented_root

LIMIT_VARIABLE = "HARNESS_REPRESENTED_BYTES"
DEFAULT_LIMIT = 5 * 10**9
HEADER = "header.json"
_PARTS, _PIECES = ("train", "test"), ("indptr", "indices", "data")


@dataclass(frozen=True)
class Represented:
    """Both parts of a trial as its learner sees them, and what it took to make them."""

    train: Any
    test: Any
    seconds: float = 0.0
    cpu_seconds: float = 0.0


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


def make_room(limit: int | None = None) -> None:
    """Remove what was used longest ago until the rest is within the limit. Trials that map it keep what they have."""
    if limit is None:
        limit = int(os.environ.get(LIMIT_VARIABLE) or DEFAULT_LIMIT)
    folders = [path for path in represented_root().glob("[!.]*") if path.is_dir()]
    total = 0
    for folder in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True):
        total += sum(file.stat().st_size for file in folder.iterdir())
        if total > limit:
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
