"""Numpy archives whose arrays can be mapped: what `np.savez` writes, with each array at a place that suits its numbers.

`np.load` reads them. A zip file has a field of any length before each member; here that field moves the member to where
a multiple of 64 bytes begins, since compiled code takes no array whose numbers lie across.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

ALIGNED_BYTES = 64
ENDING = ".npy"
_LOCAL_HEADER = struct.Struct("<26x2H")
"""What stands before a member; at its end the lengths of the name and of the field."""
_FIELD_HEAD = struct.Struct("<2H")
_PADDING_KIND = 0xD935
"""By which others pad as well: Android's zipalign."""
_LARGE_BYTES = 20
"""What the module adds to the field of a member that may be larger than 4 GB."""


def write_arrays(file: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays under their names; none may hold objects."""
    with ZipFile(file, "w", ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = ZipInfo(name + ENDING)
            member.extra = _padding(file.tell() + _LOCAL_HEADER.size + len(member.filename.encode()) + _LARGE_BYTES)
            with archive.open(member, "w", force_zip64=True) as stream:
                npy.write_array(stream, array, allow_pickle=False)


def _padding(place: int) -> bytes:
    """A field that moves what would begin at this place to where a multiple begins."""
    rest = -(place + _FIELD_HEAD.size) % ALIGNED_BYTES
    return _FIELD_HEAD.pack(_PADDING_KIND, rest) + bytes(rest)


def map_arrays(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """The arrays of an archive that is not packed, mapped where they lie; what is written to them stays in memory.

    Those that lie across, as in archives by `np.savez`, are read.
    """
    with ZipFile(file) as archive:
        members = archive.infolist()
    return {member.filename.removesuffix(ENDING): _map(file, member) for member in members}


def _map(file: BinaryIO, member: ZipInfo) -> NDArray[Any]:
    if member.compress_type != ZIP_STORED:
        raise ValueError(f"{member.filename} is packed")
    file.seek(member.header_offset)
    lengths = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    file.seek(sum(lengths), os.SEEK_CUR)
    if npy.read_magic(file) == (1, 0):
        shape, by_column, dtype = npy.read_array_header_1_0(file)
    else:
        shape, by_column, dtype = npy.read_array_header_2_0(file)
    if dtype.hasobject:
        raise ValueError(f"{member.filename} holds objects")
    if not math.prod(shape):  # nothing cannot be mapped
        return np.empty(shape, dtype)
    mapped = np.memmap(file, dtype, "c", file.tell(), shape, "F" if by_column else "C")
    array: NDArray[Any] = mapped.view(np.ndarray)
    return array if array.flags.aligned else array.copy()
