"""The ranking of classes by a tree: those of the leaf that an instance is routed to, of other likely leaves, of the
nodes above."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array, frozen
from harness.sdk.kernels.compiling import LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.signatures import INSTANCES
from harness_tree.kernels.nodes import FROZEN_NODES, freeze_weights, next_node, tree_depth
from harness_tree.kernels.regressor import FROZEN_WEIGHTS, Weights, offset, score_node

TINY = 1e-300
"""What a class has at least once it was met, so that it never looks like a new one."""
ROOM = 64
"""Nodes that the search may have open besides four paths for each leaf that it looks for."""


class ClassLists(NamedTuple):
    """The classes of node j, best first, are `classes[starts[j]:starts[j + 1]]`; a leaf has at least one."""

    starts: NDArray[np.int64]
    classes: NDArray[np.int32]
    counts: NDArray[np.int64]
    """How many instances of the class were at the node; 0 for the class that a leaf only inherited."""


class RankingSpace(NamedTuple):
    """Room for ranking one instance: the nodes still open, the classes met with their scores, the classes listed."""

    odds: NDArray[np.float64]
    open: NDArray[np.int64]
    scores: NDArray[np.float64]
    met: NDArray[np.int64]
    listed: NDArray[np.int64]
    """The number of the last row, counted from 1, that has the class in its ranking."""


class NodeRanks(NamedTuple):
    """Ranked classes by instance, and how many nodes decided on the way to them, one met twice counted twice."""

    ranks: NDArray[np.int32]
    decisions: NDArray[np.int64]


CLASS_LISTS = named(ClassLists, reads(int64), reads(int32), reads(int64))
RANKING_SPACE = named(RankingSpace, writes(float64), writes(int64), writes(float64), writes(int64), writes(int64))


def as_lists(
    at: NDArray[np.int64], classes: NDArray[np.int64], counts: NDArray[np.int64], favourites: NDArray[np.int64]
) -> ClassLists:
    """Lists from counts: `counts[e]` instances of `classes[e]` at node `at[e]`.

    A node's favourite class wins ties, and is all that a node without counts has; -1 stands for none.
    """
    bare = np.setdiff1d(np.flatnonzero(favourites >= 0), at)
    at, classes = np.concatenate([at, bare]), np.concatenate([classes, favourites[bare]])
    counts = np.concatenate([counts, np.zeros(bare.size, np.int64)])
    order = np.lexsort((classes, classes != favourites[at], -counts, at))
    starts = np.searchsorted(at[order], np.arange(favourites.size + 1))
    return ClassLists(frozen(starts, np.int64), frozen(classes[order], np.int32), frozen(counts[order], np.int64))


def rank_nodes(
    nodes: Array,
    root: int,
    weights: Weights,
    lists: ClassLists,
    instances: Instances,
    k: int,
    n_classes: int,
    n_leaves: int,
) -> NodeRanks:
    """The k best classes of each instance, -1 pads: the first class of the leaf that it is routed to, then

    with n_leaves > 0 the classes of the n_leaves most probable leaves, found best-first, where a node sends an instance
    to the right with the probability sigma(2 h), by sum_leaf P(leaf) share(class | leaf); then, or with n_leaves = 0 at
    once, the other classes of its own leaf and those of each node above, nearest first. A tree that cannot decide would
    have the search open all of it: it ends when its room is full, so that an instance costs leaves x depth at most.
    """
    room = 4 * n_leaves * (tree_depth(nodes, root) + 1) + ROOM if n_leaves else 0
    space = RankingSpace(
        odds=np.empty(room),
        open=np.empty(room, np.int64),
        scores=np.zeros(n_classes),
        met=np.empty(n_classes, np.int64),
        listed=np.zeros(n_classes, np.int64),
    )
    ranked = np.empty((instances.n_instances, k), np.int32)
    decisions = np.empty(instances.n_instances, np.int64)
    fill_node_ranks(nodes, root, freeze_weights(weights), lists, instances, space, n_leaves, ranked, decisions)
    return NodeRanks(ranked, decisions)


@helper()
def put(space: RankingSpace, size: int, odds: float, j: Any) -> int:
    at = size
    while at > 0 and space.odds[(at - 1) >> 1] < odds:
        space.odds[at], space.open[at] = space.odds[(at - 1) >> 1], space.open[(at - 1) >> 1]
        at = (at - 1) >> 1
    space.odds[at], space.open[at] = odds, j
    return size + 1


@helper()
def take_first(space: RankingSpace, size: int) -> int:
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
    """Put the classes of a node behind those that are ranked, each once."""
    for e in range(lists.starts[j], lists.starts[j + 1]):
        c = lists.classes[e]
        if size < ranked.shape[1] and listed[c] != i + 1:
            listed[c] = i + 1
            ranked[i, size] = c
            size += 1
    return size


@helper()
def meet_leaf(lists: ClassLists, j: Any, odds: float, space: RankingSpace, n_met: int) -> int:
    """Add P(leaf) share(class | leaf) to the scores of the classes of a leaf."""
    total = np.int64(0)
    for e in range(lists.starts[j], lists.starts[j + 1]):
        total += lists.counts[e]
    for e in range(lists.starts[j], lists.starts[j + 1]):
        c = lists.classes[e]
        if space.scores[c] == 0.0:
            space.met[n_met] = c
            n_met += 1
        share = lists.counts[e] / total if total > 0 else 0.0
        space.scores[c] += odds * share + TINY
    return n_met


@helper()
def meet(
    nodes: Array,
    root: int,
    weights: Weights,
    lists: ClassLists,
    instances: Instances,
    i: int,
    space: RankingSpace,
    n_leaves: int,
) -> tuple[int, int]:
    """Score the classes of the most probable leaves; gives how many classes these have, and how many nodes decided."""
    space.odds[0], space.open[0] = 1.0, root
    n_open, found, n_met, decisions = 1, 0, 0, 0
    while n_open > 0 and found < n_leaves and n_open < space.odds.size:
        odds, j = space.odds[0], space.open[0]
        n_open = take_first(space, n_open)
        if nodes[j].left < 0:
            found += 1
            n_met = meet_leaf(lists, j, odds, space, n_met)
        else:
            h = score_node(weights, offset(weights, nodes[j].slot, nodes[j].uid), instances, i)
            decisions += 1
            right = 1.0 / (1.0 + np.exp(-2.0 * h))
            n_open = put(space, n_open, odds * right, nodes[j].right)
            n_open = put(space, n_open, odds * (1.0 - right), nodes[j].left)
    return n_met, decisions


@helper()
def rank_met_classes(space: RankingSpace, n_met: int, ranked: Array, i: int) -> int:
    """Rank the classes met behind the first one, by score, and forget the scores; gives how many are ranked."""
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


RANKS, DECISIONS = writes(int32, 2), writes(int64)


@kernel(
    void(FROZEN_NODES, int64, FROZEN_WEIGHTS, CLASS_LISTS, INSTANCES, RANKING_SPACE, int64, RANKS, DECISIONS), **LEAN
)
def fill_node_ranks(
    nodes: Array,
    root: int,
    weights: Weights,
    lists: ClassLists,
    instances: Instances,
    space: RankingSpace,
    n_leaves: int,
    ranked: Array,
    decisions: Array,
) -> None:
    """See `rank_nodes`."""
    for i in range(ranked.shape[0]):
        j = np.int64(root)
        decisions[i] = 0
        while nodes[j].left >= 0:
            j = next_node(nodes, j, weights, instances, i)
            decisions[i] += 1
        first = lists.classes[lists.starts[j]]
        ranked[i, 0] = first
        space.listed[first] = i + 1
        size = 1
        if size < ranked.shape[1] and n_leaves > 0:
            n_met, more = meet(nodes, root, weights, lists, instances, i, space, n_leaves)
            decisions[i] += more
            size = rank_met_classes(space, n_met, ranked, i)
        while size < ranked.shape[1] and j >= 0:
            size = list_node(lists, j, space.listed, ranked, i, size)
            j = np.int64(nodes[j].parent) if j != root else np.int64(-1)
        for rest in range(size, ranked.shape[1]):
            ranked[i, rest] = -1
