"""Shared parts of the searches through a tree: open nodes by probability, and classes found by score."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, int64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import helper, named, reads, writes
from harness.sdk.kernels.instances import Array, frozen

TINY = 1e-300
"""Minimum score of a class that was found, so it does not count as a new one again."""


class ClassLists(NamedTuple):
    """The classes of node j, best first, are `classes[starts[j]:starts[j + 1]]`; a leaf has at least one."""

    starts: NDArray[np.int64]
    classes: NDArray[np.int32]
    counts: NDArray[np.int64]
    """Number of instances of the class at the node; 0 for a class that a leaf inherited."""
    totals: NDArray[np.int64]
    """By node: the sum of its counts."""


class RankingSpace(NamedTuple):
    """Space for ranking one instance: open nodes, classes found with their scores, and classes already listed."""

    odds: NDArray[np.float64]
    open: NDArray[np.int64]
    scores: NDArray[np.float64]
    met: NDArray[np.int64]
    listed: NDArray[np.int64]
    """By class: the number of the last row, counted from 1, whose ranking has the class."""


class NodeRanks(NamedTuple):
    """Ranked classes by instance, and the number of decisions for them; a node that decides twice counts twice."""

    ranks: NDArray[np.int32]
    decisions: NDArray[np.int64]


CLASS_LISTS = named(ClassLists, reads(int64), reads(int32), reads(int64), reads(int64))
RANKING_SPACE = named(RankingSpace, writes(float64), writes(int64), writes(float64), writes(int64), writes(int64))


def as_lists(
    at: NDArray[np.int64], classes: NDArray[np.int64], counts: NDArray[np.int64], favourites: NDArray[np.int64]
) -> ClassLists:
    """Return class lists from counts: `counts[e]` instances of `classes[e]` at node `at[e]`.

    The favourite class of a node wins ties, and is the only class of a node without counts; -1 means none.
    """
    bare = np.setdiff1d(np.flatnonzero(favourites >= 0), at)
    at, classes = np.concatenate([at, bare]), np.concatenate([classes, favourites[bare]])
    counts = np.concatenate([counts, np.zeros(bare.size, np.int64)])
    order = np.lexsort((classes, classes != favourites[at], -counts, at))
    starts = np.searchsorted(at[order], np.arange(favourites.size + 1))
    return make_lists(starts, classes[order], counts[order])


def make_lists(starts: NDArray[Any], classes: NDArray[Any], counts: NDArray[Any]) -> ClassLists:
    """Return class lists with the types that the kernels require."""
    before = np.concatenate([[0], np.cumsum(counts)])
    totals = before[starts[1:]] - before[starts[:-1]]
    arrays = frozen(starts, np.int64), frozen(classes, np.int32), frozen(counts, np.int64)
    return ClassLists(*arrays, frozen(totals, np.int64))


def ranking_space(room: int, n_classes: int) -> RankingSpace:
    """Return space for rankings with up to `room` nodes open at a time."""
    return RankingSpace(
        odds=np.empty(room),
        open=np.empty(room, np.int64),
        scores=np.zeros(n_classes),
        met=np.empty(n_classes, np.int64),
        listed=np.zeros(n_classes, np.int64),
    )


@helper()
def put(space: RankingSpace, size: int, odds: float, j: Any) -> int:
    """Add node j to the heap of open nodes; return the new size."""
    at = size
    while at > 0 and space.odds[(at - 1) >> 1] < odds:
        space.odds[at], space.open[at] = space.odds[(at - 1) >> 1], space.open[(at - 1) >> 1]
        at = (at - 1) >> 1
    space.odds[at], space.open[at] = odds, j
    return size + 1


@helper()
def take_first(space: RankingSpace, size: int) -> int:
    """Remove the node with the highest odds from the heap; return the new size."""
    size -= 1
    odds, j, at = space.odds[size], space.open[size], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and space.odds[child + 1] > space.odds[child]:
            child += 1
        if odds >= space.odds[child]:
            break
        space.odds[at], space.open[at] = space.odds[child], space.open[child]
        at = child
    space.odds[at], space.open[at] = odds, j
    return size


@helper()
def list_node(lists: ClassLists, j: Any, listed: Array, ranked: Array, i: int, size: int) -> int:
    """Append the classes of a node to the ranking, each class once."""
    for e in range(lists.starts[j], lists.starts[j + 1]):
        c = lists.classes[e]
        if size < ranked.shape[1] and listed[c] != i + 1:
            listed[c] = i + 1
            ranked[i, size] = c
            size += 1
    return size


@helper()
def rank_met_classes(space: RankingSpace, n_met: int, ranked: Array, i: int) -> int:
    """Append the found classes to the ranking by score, and reset the scores; returns the number of ranked classes."""
    size = 1
    for a in range(n_met):
        c = space.met[a]
        if space.listed[c] == i + 1:
            continue
        if size < ranked.shape[1]:
            size += 1
        elif not space.scores[c] > space.scores[ranked[i, size - 1]]:
            continue
        at = size - 1
        while at > 1 and space.scores[c] > space.scores[ranked[i, at - 1]]:
            ranked[i, at] = ranked[i, at - 1]
            at -= 1
        ranked[i, at] = c
    for a in range(1, size):
        space.listed[ranked[i, a]] = i + 1
    for a in range(n_met):
        space.scores[space.met[a]] = 0.0
    return size


@helper()
def rank_nodes_above(
    nodes: Array, root: int, lists: ClassLists, j: Any, listed: Array, ranked: Array, i: int, size: int
) -> None:
    """Fill the remaining places with the other classes of leaf j and of each node above, nearest first; -1 pads."""
    while size < ranked.shape[1] and j >= 0:
        size = list_node(lists, j, listed, ranked, i, size)
        j = np.int64(nodes[j].parent) if j != root else np.int64(-1)
    for rest in range(size, ranked.shape[1]):
        ranked[i, rest] = -1


RANKS, DECISIONS = writes(int32, 2), writes(int64)
