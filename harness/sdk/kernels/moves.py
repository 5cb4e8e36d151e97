"""Updates that move the vectors of many classes along one instance: prototypes and support vector machines share them.

Such an update may touch every class: each row is read once for all classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, uint32
from numpy.typing import NDArray

from harness.sdk.kernels.compile import helper, named, writes
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import Rows, append, drop_zeros, has_room


class Moves(NamedTuple):
    """Changes of classes by one instance. Between instances all changes and marks are 0."""

    changes: NDArray[np.float64]
    """By class; 0 for classes that do not move."""
    classes: NDArray[np.uint32]
    """The classes that move, at the front."""
    marked: NDArray[np.bool_]
    """By class: marks for the classes of a row."""


MOVES = named(Moves, writes(float64), writes(uint32), writes(boolean))


def no_moves(n_classes: int) -> Moves:
    """Return working space for updates.

    Parameters
    ----------
    n_classes : int
        Number of classes.

    Returns
    -------
    Moves
        Arrays of zeros.
    """
    return Moves(np.zeros(n_classes), np.zeros(n_classes, np.uint32), np.zeros(n_classes, np.bool_))


@helper()
def plan_move(moves: Moves, n: int, c: Any, change: float) -> int:
    """Add class c to the n classes that move; return their new number."""
    moves.changes[c] = change
    moves.classes[np.uint32(n)] = c
    return n + 1


@helper()
def move_row(rows: Rows, f: Any, x: float, moves: Moves, n: int) -> None:
    """W[f, c] += x change_c for the n classes that move; adds edges, and removes those that become 0.

    There must be room for n new edges.
    """
    start, length = rows.start[f], rows.length[f]
    there, vanished = 0, False
    for e in range(start, start + length):
        change = moves.changes[rows.classes[e]]
        rows.weights[e] += x * change
        there += change != 0
        vanished |= rows.weights[e] == 0
    if there < n:
        add_missing(rows, f, x, moves, n)
    if vanished:
        drop_zeros(rows, f)


@helper()
def move_all(rows: Rows, instances: Instances, i: Any, moves: Moves, n: int, by_value: bool = True) -> bool:
    """W[f, c] += x_f change_c for all features of an instance; return False, and change nothing, without room.

    With `by_value` False, 1 stands for x_f.
    """
    lo, hi = instances.indptr[i], instances.indptr[i + 1]
    if n == 0:
        return True
    if not has_room(rows, instances.indices[lo:hi], n):
        return False
    for j in range(lo, hi):
        x = np.float64(instances.data[j]) if by_value else 1.0
        move_row(rows, np.uint32(instances.indices[j]), x, moves, n)
    return True


@helper()
def add_missing(rows: Rows, f: Any, x: float, moves: Moves, n: int) -> None:
    """Add edges for the classes that move and are not in row f."""
    length = rows.length[f]
    mark(rows, f, length, True, moves)
    for m in range(np.uint32(n)):
        c = moves.classes[m]
        if not moves.marked[c]:
            append(rows, f, c, x * moves.changes[c])
    mark(rows, f, length, False, moves)


@helper()
def mark(rows: Rows, f: Any, length: Any, value: bool, moves: Moves) -> None:
    """Mark the classes of the first edges of row f, or remove the marks."""
    start = rows.start[f]
    for e in range(start, start + length):
        moves.marked[rows.classes[e]] = value


@helper()
def forget(moves: Moves, n: int) -> None:
    """Reset all changes."""
    for m in range(np.uint32(n)):
        moves.changes[moves.classes[m]] = 0.0
