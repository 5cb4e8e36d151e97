"""Index rows of frequent features, for many classes: weights in a table by class, and the heaviest edges in order.

A plain row is sorted by weight, so an update reads all of its edges. Here an update finds the edge of a class in one
step, and only the head of a row is in order: its heaviest edges, at least as many as are scored. Edges of equal weight
have an order too: one that gained weight is behind the others, one that lost weight in front of them, as if the row had
been sorted by insertion. Weight and order make one number, the key of an edge: the higher key is in front.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int64, uint32, uint64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, frozen
from harness.sdk.kernels.rows import FROZEN_ROWS, NONE, Rows, freeze

NO_EDGE = np.uint64(0)
"""The key of a class without an edge; each other key is higher, since no stored weight is 0."""
HIGHEST = np.uint64(2**64 - 1)
WEIGHT_PLACE = np.uint64(32)
"""Number of bits below the weight. Bits of floats above 0 are in the order of the floats."""
MIDDLE = np.uint32(2**31)
"""The lower half of a key: below this number from the start or after a gain, from this number on after a loss."""
HEAD_ROOM, HEAD_FILL = 4, 2
"""Room of a head, and edges of it that a refill takes, in multiples of the scored edges. With so many edges to spare,
refills are rare."""


class OrderedRows(NamedTuple):
    """Rows of some features. Arrays with two dimensions are by place of the feature, then by class or by rank."""

    places: NDArray[np.uint32]
    """By feature: its place; NONE for features in plain rows."""
    keys: NDArray[np.uint64]
    sizes: NDArray[np.uint32]
    """Number of edges."""
    light: NDArray[np.uint32]
    """Number of edges that are too light to be kept; they are dropped when a rival loses weight."""
    front: NDArray[np.uint32]
    back: NDArray[np.uint32]
    """Lower halves of the keys of the last edge that lost weight and of the last one that gained."""
    head_keys: NDArray[np.uint64]
    head_classes: NDArray[np.uint32]
    head_sizes: NDArray[np.uint32]
    bars: NDArray[np.uint64]
    """The head has all edges with a higher key."""
    space: NDArray[np.uint64]


ORDERED_ROWS = named(
    OrderedRows,
    *(writes(uint32), writes(uint64, 2), writes(uint32), writes(uint32), writes(uint32), writes(uint32)),
    *(writes(uint64, 2), writes(uint32, 2), writes(uint32), writes(uint64), writes(uint64)),
)


def order_rows(
    rows: Rows, features: NDArray[np.int64], n_classes: int, degree: int, least: float
) -> OrderedRows | None:
    """Return the rows of these features by class; None if one of them is not sorted by weight.

    Parameters
    ----------
    rows : Rows
        The index.
    features : ndarray of int64
        The features.
    n_classes : int
        Number of classes.
    degree : int
        Number of edges of a row that are scored, at least 1.
    least : float
        Lighter edges are counted as light.
    """
    n, room = features.size, HEAD_ROOM * degree
    ordered = OrderedRows(
        places=np.full(rows.start.size, NONE),
        keys=np.zeros((n, n_classes), np.uint64),
        sizes=rows.length[features],
        light=np.zeros(n, np.uint32),
        front=np.full(n, MIDDLE - np.uint32(1)),
        back=MIDDLE - rows.length[features],
        head_keys=np.zeros((n, room), np.uint64),
        head_classes=np.zeros((n, room), np.uint32),
        head_sizes=np.zeros(n, np.uint32),
        bars=np.zeros(n, np.uint64),
        space=np.empty(n_classes, np.uint64),
    )
    ordered.places[features] = np.arange(n, dtype=np.uint32)
    return ordered if fill_keys(freeze(rows), frozen(features, np.int64), ordered, least) else None


def edges_in_order(ordered: OrderedRows, place: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Return the classes and weights of the row at a place, front to back."""
    classes = np.flatnonzero(ordered.keys[place])
    keys = ordered.keys[place, classes]
    order = np.argsort(keys)[::-1]
    weights = (keys[order] >> WEIGHT_PLACE).astype(np.uint32).view(np.float32)
    return classes[order].astype(np.uint32), weights


@helper()
def weight_of(key: Any) -> float:
    """Return the weight of an edge."""
    return np.float64(np.uint32(key >> WEIGHT_PLACE).view(np.float32))


@helper()
def key_of(weight: float, lower: Any) -> Any:
    """Return the key of an edge with this weight, rounded to single precision."""
    return (np.uint64(np.float32(weight).view(np.uint32)) << WEIGHT_PLACE) | np.uint64(lower)


@helper()
def head_fill(ordered: OrderedRows) -> Any:
    """Return the number of edges that a full refill puts into a head."""
    return ordered.head_keys.shape[1] // HEAD_ROOM * HEAD_FILL


@kernel(boolean(FROZEN_ROWS, reads(int64), ORDERED_ROWS, float64), **LEAN)
def fill_keys(rows: Rows, features: Array, ordered: OrderedRows, least: float) -> bool:
    """Fill the keys and heads from rows; return False at a row that is not sorted."""
    fill = head_fill(ordered)
    for s in range(np.uint64(features.size)):
        f = features[s]
        start, length = rows.start[f], rows.length[f]
        key_in_front = HIGHEST
        for p in range(np.uint32(length)):
            c, weight = rows.classes[start + p], np.float64(rows.weights[start + p])
            key = key_of(weight, MIDDLE - np.uint32(1) - np.uint32(p))
            if key >= key_in_front:
                return False
            ordered.keys[s, c] = key
            ordered.light[s] += np.uint32(weight < least)
            if p < fill:
                ordered.head_keys[s, p], ordered.head_classes[s, p] = key, c
            elif p == fill:
                ordered.bars[s] = key
            key_in_front = key
        ordered.head_sizes[s] = min(length, np.uint32(fill))
    return True


@helper()
def lose(ordered: OrderedRows, s: Any, c: Any, loss: float, least: float) -> None:
    """W[f, c] -= loss; an edge that is now too light is dropped. Of several edges, the hindmost comes first."""
    key = ordered.keys[s, c]
    weight = weight_of(key)
    new = key_of(weight - loss, ordered.front[s] + np.uint32(1))
    if new >> WEIGHT_PLACE == key >> WEIGHT_PLACE:
        return
    if weight_of(new) < least:
        drop(ordered, s, c, least)
    else:
        ordered.front[s] += np.uint32(1)
        move(ordered, s, c, new)


@helper()
def win(ordered: OrderedRows, s: Any, c: Any, amount: float, least: float) -> None:
    """W[f, c] += amount, for a class with an edge or without."""
    key = ordered.keys[s, c]
    weight = weight_of(key)
    new = key_of(weight + amount, ordered.back[s] - np.uint32(1))
    if new >> WEIGHT_PLACE == key >> WEIGHT_PLACE:
        return
    if key == NO_EDGE:
        ordered.sizes[s] += np.uint32(1)
    else:
        ordered.light[s] -= np.uint32(weight < least)
    ordered.back[s] -= np.uint32(1)
    ordered.light[s] += np.uint32(weight_of(new) < least)
    move(ordered, s, c, new)


@helper()
def drop(ordered: OrderedRows, s: Any, c: Any, least: float) -> None:
    """Remove the edge of a class."""
    ordered.sizes[s] -= np.uint32(1)
    ordered.light[s] -= np.uint32(weight_of(ordered.keys[s, c]) < least)
    move(ordered, s, c, NO_EDGE)


@helper()
def drop_light(ordered: OrderedRows, s: Any, least: float) -> None:
    """Remove all edges that are too light."""
    for c in range(np.uint64(ordered.keys.shape[1])):
        key = ordered.keys[s, c]
        if key != NO_EDGE and weight_of(key) < least:
            drop(ordered, s, c, least)


@helper()
def move(ordered: OrderedRows, s: Any, c: Any, new: Any) -> None:
    """Change the key of a class, and its position in the head."""
    old, bar, size = ordered.keys[s, c], ordered.bars[s], ordered.head_sizes[s]
    ordered.keys[s, c] = new
    keys, classes = ordered.head_keys, ordered.head_classes
    if old > bar:
        place = place_of(keys, s, size, old)
        if not new > bar:
            new, ordered.head_sizes[s] = NO_EDGE, size - np.uint32(1)
        while place + np.uint32(1) < size and keys[s, place + np.uint32(1)] > new:
            keys[s, place], classes[s, place] = keys[s, place + np.uint32(1)], classes[s, place + np.uint32(1)]
            place += np.uint32(1)
    elif new > bar:
        if size == keys.shape[1]:
            size -= np.uint32(1)
            ordered.bars[s] = max(bar, min(new, keys[s, size]))
            if new < keys[s, size]:
                return
        ordered.head_sizes[s] = size + np.uint32(1)
        place = size
    else:
        return
    while place > 0 and keys[s, place - np.uint32(1)] < new:
        keys[s, place], classes[s, place] = keys[s, place - np.uint32(1)], classes[s, place - np.uint32(1)]
        place -= np.uint32(1)
    keys[s, place], classes[s, place] = new, c


@helper()
def place_of(keys: Array, s: Any, size: Any, key: Any) -> Any:
    """Return the position of a key in the head, which has it."""
    lo, hi = np.uint32(0), size
    while lo + np.uint32(1) < hi:
        middle = (lo + hi) >> np.uint32(1)
        if keys[s, middle] >= key:
            lo = middle
        else:
            hi = middle
    return lo


@helper()
def refill_head(ordered: OrderedRows, s: Any, degree: int) -> None:
    """Fill the head again if it has fewer edges than are scored, and the row has more."""
    if not ordered.head_sizes[s] < min(ordered.sizes[s], np.uint32(degree)):
        return
    space, n = ordered.space, np.uint32(0)
    for c in range(np.uint64(ordered.keys.shape[1])):
        space[n] = ordered.keys[s, c]
        n += np.uint32(ordered.keys[s, c] != NO_EDGE)
    fill = np.uint32(head_fill(ordered))
    ordered.bars[s] = highest_key(space, n, fill) - np.uint64(1) if fill < n else NO_EDGE
    ordered.head_sizes[s] = 0
    for c in range(np.uint64(ordered.keys.shape[1])):
        key = ordered.keys[s, c]
        if key > ordered.bars[s]:
            ordered.keys[s, c] = NO_EDGE  # it is not in the head yet
            move(ordered, s, c, key)


@helper()
def highest_key(keys: Array, n: Any, rank: Any) -> Any:
    """Return the key of this rank, from 1, among the first n, which are reordered."""
    lo, hi, at = np.int64(0), np.int64(n) - 1, np.int64(rank) - 1
    while lo < hi:
        pivot, left, right = keys[(lo + hi) >> 1], lo, hi
        while left <= right:
            while keys[left] > pivot:
                left += 1
            while keys[right] < pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
                right -= 1
        if at <= right:
            hi = right
        elif at >= left:
            lo = left
        else:
            break
    return keys[at]
