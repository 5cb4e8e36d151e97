"""The training rows of each machine: its own rows, and rows for which it was proposed by mistake.

Machines 0 to K - 1 are those of the classes, followed by the machines of groups of classes. A row belongs to a group if
one of its labels is in the group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, int8, int32, int64, uint32, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import LABELS, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Labels, frozen

NO_GROUP = np.uint32(0xFFFFFFFF)


class Pairs(NamedTuple):
    """The rows of machine z are `rows[start[z]:start[z + 1]]`, in order.

    `signs` is 1 for its own rows, otherwise -1.
    """

    start: NDArray[np.int64]
    rows: NDArray[np.uint32]
    signs: NDArray[np.int8]


PAIRS = named(Pairs, reads(int64), reads(uint32), reads(int8))
FILLING = named(Pairs, writes(int64), writes(uint32), writes(int8))


def list_pairs(labels: Labels, candidates: NDArray[np.int32], group_of: NDArray[np.uint32], n_machines: int) -> Pairs:
    """Return the training rows of all machines, from the labels and the candidates of each row; -1 pads candidates."""
    places, met = np.zeros(n_machines + 1, np.int64), np.zeros(n_machines, np.int64)
    empty = Pairs(places, np.zeros(0, np.uint32), np.zeros(0, np.int8))
    fill_pairs(labels, candidates, group_of, met, empty, False)
    start = np.concatenate([[0], np.cumsum(places[:-1])])
    pairs = Pairs(start.copy(), np.zeros(start[-1], np.uint32), np.zeros(start[-1], np.int8))
    met[:] = 0
    fill_pairs(labels, candidates, group_of, met, pairs, True)
    return Pairs(frozen(start), frozen(pairs.rows), frozen(pairs.signs))


@helper()
def enter(z: Any, i: int, sign: int, met: Array, pairs: Pairs, fills: bool) -> None:
    """Add row i to machine z unless it is already there; the first sign counts."""
    if met[z] == i + 1:
        return
    met[z] = i + 1
    place = pairs.start[z]
    if fills:
        pairs.rows[place] = i
        pairs.signs[place] = sign
    pairs.start[z] = place + 1


@kernel(void(LABELS, reads(int32, 2), reads(uint32), writes(int64), FILLING, boolean), **LEAN)
def fill_pairs(labels: Labels, candidates: Array, group_of: Array, met: Array, pairs: Pairs, fills: bool) -> None:
    """Enter each row under its labels and candidates, or only count them; `start` advances with each entry.

    `met` holds, by machine, the number of its last row, counted from 1.
    """
    for i in range(candidates.shape[0]):
        for p in range(labels.indptr[i], labels.indptr[i + 1]):
            c = np.uint32(labels.indices[p])
            enter(c, i, 1, met, pairs, fills)
            if group_of[c] != NO_GROUP:
                enter(group_of[c], i, 1, met, pairs, fills)
        for p in range(candidates.shape[1]):
            if candidates[i, p] < 0:
                break
            c = np.uint32(candidates[i, p])
            enter(c, i, -1, met, pairs, fills)
            if group_of[c] != NO_GROUP:
                enter(group_of[c], i, -1, met, pairs, fills)
