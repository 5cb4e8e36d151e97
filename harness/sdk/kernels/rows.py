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

from harness.sdk.kernels.compile import helper, named, reads, writes
from harness.sdk.kernels.instances import Array, frozen

NONE = np.uint32(0xFFFFFFFF)
"""End of a free list."""
MOST_EDGES = int(NONE)
N_LEVELS = 32
CACHED_CLASSES = 4096
"""Number of classes whose scores fit into the first-level cache, 32 kB."""


MOST_MATRIX_BYTES = 1_000_000_000
"""Limit for the temporary matrix of frequent features."""


class Rows(NamedTuple):
    """The index W in one arena: for each feature a row of edges (class, weight).

    The row of feature f is the first `length[f]` edges from `start[f]`. It lies in a block of `2**level[f]` edges or,
    after packing, in a place of between once and twice that size.

    Attributes
    ----------
    start, length : ndarray of uint32, shape (n_features,)
        First edge and number of edges of each row.
    level : ndarray of uint8, shape (n_features,)
        Size of each row's block.
    classes : ndarray of uint32, shape (arena size,)
        Class of each edge.
    weights : ndarray of float32 or float64, shape (arena size,)
        Weight of each edge.
    heads : ndarray of uint32
        First unused edge, and the free blocks by size.
    """

    start: NDArray[np.uint32]
    length: NDArray[np.uint32]
    level: NDArray[np.uint8]
    """0 if the feature has no block to free; the smallest block holds two edges, level 1."""
    classes: NDArray[np.uint32]
    weights: NDArray[np.floating[Any]]
    heads: NDArray[np.uint32]
    """`heads[0]` is the first edge never handed out; `heads[k]` the first free block of `2**k` edges, or NONE."""

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return int(self.length.sum(dtype=np.int64))

    @property
    def n_bytes(self) -> int:
        """The bytes of all arrays."""
        return sum(array.nbytes for array in self)


_FIELDS = (uint32, uint32, uint8, uint32, float32, uint32)
ROWS = named(Rows, *map(writes, _FIELDS))
FROZEN_ROWS = named(Rows, *map(reads, _FIELDS))


def empty_rows(n_features: int, n_edges: int, dtype: DTypeLike = np.float32) -> Rows:
    """Return an empty index.

    Parameters
    ----------
    n_features : int
        Number of features.
    n_edges : int
        Approximate size of the arena. Memory is allocated when it is first written.
    dtype : dtype-like, default=np.float32
        Type of the weights.

    Returns
    -------
    Rows
        The index.
    """
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
    """Return the index in an arena of twice the size.

    Parameters
    ----------
    rows : Rows
        The index.

    Returns
    -------
    Rows
        An index with the same edges.

    Raises
    ------
    MemoryError
        If the arena has `MOST_EDGES` already.
    """
    n_edges = min(2 * max(1, rows.classes.size), MOST_EDGES)
    if n_edges == rows.classes.size:
        raise MemoryError(f"the index is full: it holds at most {MOST_EDGES:,} edges")
    classes, weights = np.zeros(n_edges, np.uint32), np.zeros(n_edges, rows.weights.dtype)
    used = int(rows.heads[0])
    classes[:used], weights[:used] = rows.classes[:used], rows.weights[:used]
    return rows._replace(classes=classes, weights=weights)


def widen(rows: Rows, n_features: int) -> Rows:
    """Return the index with empty rows for new features.

    Parameters
    ----------
    rows : Rows
        The index.
    n_features : int
        Number of features, old and new.

    Returns
    -------
    Rows
        The index, in the same arena.
    """
    new = (0, n_features - rows.start.size)
    start, length, level = np.pad(rows.start, new), np.pad(rows.length, new), np.pad(rows.level, new)
    return rows._replace(start=start, length=length, level=level)


def known_to_most(known: NDArray[Any], share: float, n_classes: int) -> NDArray[np.int64]:
    """Return the features with edges to at least that share of the classes, the longest rows first.

    Parameters
    ----------
    known : ndarray of int, shape (n_features,)
        Number of edges of each feature.
    share : float
        Share of the classes.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of int64
        Features: none if the classes are few enough for the cache, and at most as many as fit into a matrix.
    """
    if n_classes <= CACHED_CLASSES:
        return np.empty(0, np.int64)
    features = np.flatnonzero(known >= share * n_classes)
    first = np.argsort(-known[features].astype(np.int64), kind="stable")
    return features[first[: MOST_MATRIX_BYTES // (4 * n_classes)]]


def freeze(rows: Rows) -> Rows:
    """Return the rows as read-only arrays, for kernels that change nothing.

    Parameters
    ----------
    rows : Rows
        The index.

    Returns
    -------
    Rows
        Views of the same arrays.
    """
    return Rows(*(frozen(array) for array in rows))


@helper()
def capacity(level: int) -> int:
    """Return the number of edges in a block of this level: 0, 2, 4, 8, ..."""
    return (1 << level) & ~1


@helper()
def has_room(rows: Rows, features: Array, extra: int) -> bool:
    """Return whether the arena has room for `extra` new edges of each of these features, without free blocks."""
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
    """Return the positions of two classes in row f, from 1; 0 for a missing one."""
    start, length = rows.start[f], np.uint32(rows.length[f])
    gain, lose = np.uint32(0), np.uint32(0)
    for e in range(length):  # each class occurs at most once, so a sum finds it: no branch, and vector registers
        c, place = rows.classes[start + e], np.uint32(e + 1)
        gain += place * np.uint32(c == gainer)
        lose += place * np.uint32(c == loser)
    return gain, lose


@helper()
def shift(rows: Rows, f: Any, gainer: Any, loser: Any, change: Any) -> None:
    """W[f, gainer] += change, W[f, loser] -= change; adds edges, and removes those that become 0."""
    gain, lose = find_two(rows, f, gainer, loser)
    shift_found(rows, f, gainer, loser, gain, lose, change)


@helper()
def shift_found(rows: Rows, f: Any, gainer: Any, loser: Any, gain: Any, lose: Any, change: Any) -> None:
    """The same, for known positions of the edges."""
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
    """Add to a weight; return whether it is 0 now."""
    weights[e] += change
    return bool(weights[e] == 0)


@helper()
def append(rows: Rows, f: Any, c: Any, weight: Any) -> None:
    """Append an edge to row f, unless the weight is 0 as stored."""
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
    """Remove an edge: the last edge of the row takes its position."""
    last = rows.length[f] - 1
    e, end = rows.start[f] + offset, rows.start[f] + last
    rows.classes[e] = rows.classes[end]
    rows.weights[e] = rows.weights[end]
    rows.length[f] = last


@helper()
def drop_zeros(rows: Rows, f: Any) -> None:
    """Remove the edges of row f with weight 0."""
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
    """Return a block of this level: a free one, else a new one."""
    block = rows.heads[level]
    if block != NONE:
        rows.heads[level] = rows.classes[block]
        return block
    block = rows.heads[0]
    rows.heads[0] = block + capacity(level)
    return block
