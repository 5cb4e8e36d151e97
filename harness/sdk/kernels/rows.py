"""The index: for each feature a row of edges (class, weight), all rows in one arena of power-of-two blocks.

A full row moves to a block of twice the size, and its old block goes on the free list of that size; the link to the
next free block sits in the block's own first edge. An edge takes 8 bytes. The compiled part never allocates: a kernel
asks `has_room` before it changes anything, and without room returns to Python, which calls `enlarge`.

A packed index (see `edges`) has rows of any size, without a gap. Such a row counts as one in the largest block that it
fills: when it grows, it moves, and what its place has beyond that block stays unused until the index is packed again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float32, uint8, uint32
from numpy.typing import DTypeLike, NDArray

from harness.sdk.kernels.arrays import Array, frozen
from harness.sdk.kernels.compiling import helper, named, reads, writes

NONE = np.uint32(0xFFFFFFFF)
"""Ends a free list."""
MOST_EDGES = int(NONE)
N_LEVELS = 32
CACHED_CLASSES = 4096
"""Of how many classes the scores fit into the nearest cache, 32 kB."""


MOST_MATRIX_BYTES = 1_000_000_000
"""Of a matrix that features are put into for a while."""


class Rows(NamedTuple):
    """The row of feature f is the first `length[f]` edges from `start[f]`, in a block of `2**level[f]` edges or, where
    the index was packed, in a place of between once and twice that size."""

    start: NDArray[np.uint32]
    length: NDArray[np.uint32]
    level: NDArray[np.uint8]
    """0 where the feature has no block to give back; the smallest block holds two edges, level 1."""
    classes: NDArray[np.uint32]
    weights: NDArray[np.floating[Any]]
    heads: NDArray[np.uint32]
    """`heads[0]` is the first edge never handed out; `heads[k]` the first free block of `2**k` edges, or NONE."""

    @property
    def n_edges(self) -> int:
        return int(self.length.sum(dtype=np.int64))

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self)


_FIELDS = (uint32, uint32, uint8, uint32, float32, uint32)
ROWS = named(Rows, *map(writes, _FIELDS))
FROZEN_ROWS = named(Rows, *map(reads, _FIELDS))


def empty_rows(n_features: int, n_edges: int, dtype: DTypeLike = np.float32) -> Rows:
    """An index without edges, in an arena of about `n_edges`; memory is taken as it is touched."""
    n_edges = min(max(2, n_edges), MOST_EDGES)
    heads = np.full(N_LEVELS, NONE)
    heads[0] = 0
    return Rows(
        start=np.zeros(n_features, np.uint32),
        length=np.zeros(n_features, np.uint32),
        level=np.zeros(n_features, np.uint8),
        classes=np.zeros(n_edges, np.uint32),
        weights=np.zeros(n_edges, dtype),
        heads=heads,
    )


def enlarge(rows: Rows) -> Rows:
    """The same index in an arena of twice the size."""
    n_edges = min(2 * max(1, rows.classes.size), MOST_EDGES)
    if n_edges == rows.classes.size:
        raise MemoryError(f"the index is full: it holds at most {MOST_EDGES:,} edges")
    classes, weights = np.zeros(n_edges, np.uint32), np.zeros(n_edges, rows.weights.dtype)
    used = int(rows.heads[0])
    classes[:used], weights[:used] = rows.classes[:used], rows.weights[:used]
    return rows._replace(classes=classes, weights=weights)


def widen(rows: Rows, n_features: int) -> Rows:
    """The same index with empty rows for the features that are new."""
    new = (0, n_features - rows.start.size)
    start, length, level = np.pad(rows.start, new), np.pad(rows.length, new), np.pad(rows.level, new)
    return rows._replace(start=start, length=length, level=level)


def known_to_most(known: NDArray[Any], share: float, n_classes: int) -> NDArray[np.int64]:
    """The features that know at least that share of the classes, those that know the most first.

    None where classes are so few that their scores are at hand in any case, and no more than a matrix has room for.
    """
    if n_classes <= CACHED_CLASSES:
        return np.empty(0, np.int64)
    features = np.flatnonzero(known >= share * n_classes)
    first = np.argsort(-known[features].astype(np.int64), kind="stable")
    return features[first[: MOST_MATRIX_BYTES // (4 * n_classes)]]


def freeze(rows: Rows) -> Rows:
    """The same rows, to be read only: what the kernels that change nothing take."""
    return Rows(*(frozen(array) for array in rows))


@helper()
def capacity(level: int) -> int:
    """Edges in a block of this level: 0, 2, 4, 8, ..."""
    return (1 << level) & ~1


@helper()
def has_room(rows: Rows, features: Array, extra: int) -> bool:
    """Whether the arena can take up to `extra` new edges for each of these features, whatever blocks are free."""
    edges = 0
    for j in range(features.size):
        f = np.uint32(features[j])
        level = rows.level[f]
        while capacity(level) < rows.length[f] + extra:
            level += 1
            edges += capacity(level)
    return bool(rows.heads[0] + edges <= rows.classes.size)


@helper()
def find_two(rows: Rows, f: Any, gainer: Any, loser: Any) -> Any:
    """The places of two classes in row f, counted from 1; 0 for one that is not there."""
    start, length = rows.start[f], np.uint32(rows.length[f])
    gain, lose = np.uint32(0), np.uint32(0)
    for e in range(length):  # each class is there at most once, so a sum finds it: no branch, and in vector registers
        c, place = rows.classes[start + e], np.uint32(e + 1)
        gain += place * np.uint32(c == gainer)
        lose += place * np.uint32(c == loser)
    return gain, lose


@helper()
def shift(rows: Rows, f: Any, gainer: Any, loser: Any, change: Any) -> None:
    """W[f, gainer] += change, W[f, loser] -= change; an edge appears when it is new, and vanishes when it gets zero."""
    gain, lose = find_two(rows, f, gainer, loser)
    shift_found(rows, f, gainer, loser, gain, lose, change)


@helper()
def shift_found(rows: Rows, f: Any, gainer: Any, loser: Any, gain: Any, lose: Any, change: Any) -> None:
    """The same, where it is known in which places they are."""
    start = rows.start[f]
    vanished = gain > 0 and changes_to_zero(rows.weights, start + (gain - np.uint32(1)), change)
    vanished |= lose > 0 and changes_to_zero(rows.weights, start + (lose - np.uint32(1)), -change)
    if gain == 0:
        append(rows, f, gainer, change)
    if lose == 0:
        append(rows, f, loser, -change)
    if vanished:
        drop_zeros(rows, f)


@helper()
def changes_to_zero(weights: Array, e: Any, change: Any) -> bool:
    """Add to a weight, and tell whether nothing is left of it."""
    weights[e] += change
    return bool(weights[e] == 0)


@helper()
def append(rows: Rows, f: Any, c: Any, weight: Any) -> None:
    """A new edge behind the others; none when the weight is zero as stored."""
    length = rows.length[f]
    if length >= capacity(rows.level[f]):
        move_up(rows, f)
    e = rows.start[f] + length
    rows.classes[e] = c
    rows.weights[e] = weight
    if rows.weights[e] != 0:
        rows.length[f] = length + 1


@helper()
def remove_edge(rows: Rows, f: Any, offset: Any) -> None:
    """Take an edge away: the last edge of the row takes its place."""
    last = rows.length[f] - 1
    e, end = rows.start[f] + offset, rows.start[f] + last
    rows.classes[e] = rows.classes[end]
    rows.weights[e] = rows.weights[end]
    rows.length[f] = last


@helper()
def drop_zeros(rows: Rows, f: Any) -> None:
    """Remove the edges of row f that have come to weigh nothing."""
    offset = 0
    while offset < rows.length[f]:
        if rows.weights[rows.start[f] + offset] == 0:
            remove_edge(rows, f, offset)
        else:
            offset += 1


@helper()
def move_up(rows: Rows, f: Any) -> None:
    """Move row f to a block of the next size."""
    level, old = rows.level[f], rows.start[f]
    new = take_block(rows, level + 1)
    for e in range(rows.length[f]):
        rows.classes[new + e] = rows.classes[old + e]
        rows.weights[new + e] = rows.weights[old + e]
    rows.start[f] = new
    rows.level[f] = level + 1
    if level > 0:
        rows.classes[old] = rows.heads[level]
        rows.heads[level] = old


@helper()
def take_block(rows: Rows, level: int) -> Any:
    """A block of this level: a free one, else the next edges never handed out."""
    block = rows.heads[level]
    if block != NONE:
        rows.heads[level] = rows.classes[block]
        return block
    block = rows.heads[0]
    rows.heads[0] = block + capacity(level)
    return block
