"""Search of a tree of classes along several paths at once: each level keeps the nodes with the best paths.

Each node has its own index of weights, with the edges of a feature to all children side by side. A hash table holds the
position of a feature's edges. A row reads the edges of each of its features that the node has. Table, features and
edges are scattered in memory, and each holds the address of the next. So all features of a row take each step together
and prefetch the memory of the next step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, int64, uint32, uint64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness.sdk.kernels.score import prefetch
from harness_svm.topdown.kernels.branches import BRANCHES, Branches

MIX = np.uint64(0x9E3779B97F4A7C15)
VACANT = np.uint32(0xFFFFFFFF)


class Beam(NamedTuple):
    """Temporary arrays; `nodes[0]` and `nodes[1]` are the nodes of this level and of the next one, best first."""

    nodes: NDArray[np.uint32]
    leaves: NDArray[np.uint32]
    """The best leaves so far, best first."""
    score: NDArray[np.float64]
    path: NDArray[np.float64]
    """By node: the sum of -max(0, 1 - score)^2 from the root."""
    read: NDArray[np.int64]
    """Number of edges read."""
    places: NDArray[np.uint64]
    """By feature of the current row: its slot; by feature that the node has: its edges."""
    values: NDArray[np.float64]
    """Values of the row's features that the node has."""
    judged: NDArray[np.int64]
    """By node: the last row that its children were judged for, counted from 1."""


BEAM = named(Beam, writes(uint32, 2), writes(uint32), *map(writes, (float64, float64, int64, uint64, float64, int64)))


def feature_slots(branches: Branches) -> NDArray[np.uint32]:
    """Return the hash table of all places in `branches.features`, by node and feature; less than half of it is used."""
    slots = np.full(2 ** max(4, int(2 * branches.features.size).bit_length()), VACANT, np.uint32)
    fill_slots(Branches(*(frozen(array) for array in branches)), slots)  # those from a file may be written to
    return frozen(slots, np.uint32)


@helper()
def slot_of(z: Any, f: Any, mask: Any) -> Any:
    """Return the first slot of the search for a feature of node z."""
    mixed = ((np.uint64(z) << np.uint64(32)) | np.uint64(f)) * MIX
    return (mixed ^ (mixed >> np.uint64(32))) & mask


@kernel(void(BRANCHES, writes(uint32)), **LEAN)
def fill_slots(branches: Branches, slots: Array) -> None:
    """Enter the place of each feature of each node into the hash table."""
    mask = np.uint64(slots.size - 1)
    for z in range(np.uint32(branches.own.size)):
        for place in range(branches.first[z], branches.first[z + np.uint32(1)]):
            at = slot_of(z, branches.features[place], mask)
            while slots[at] != VACANT:
                at = (at + np.uint64(1)) & mask
            slots[at] = place


@helper()
def place_of(branches: Branches, slots: Array, z: Any, f: Any, at: Any) -> Any:
    """Return the place of a feature of node z, searching from slot `at`; VACANT if the node does not have it."""
    mask = np.uint64(slots.size - 1)
    first, last = branches.first[z], branches.first[z + np.uint32(1)]
    while slots[at] != VACANT:
        place = slots[at]
        if branches.features[place] == f and first <= place < last:
            return place
        at = (at + np.uint64(1)) & mask
    return VACANT


@helper()
def find_known(branches: Branches, slots: Array, instances: Instances, i: Any, z: Any, beam: Beam) -> Any:
    """Store the places and values of the row's features that node z has; returns their number."""
    mask = np.uint64(slots.size - 1)
    start, size = np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1] - instances.indptr[i])
    for j in range(size):
        beam.places[j] = slot_of(z, np.uint32(instances.indices[start + j]), mask)
        prefetch(slots, beam.places[j])
    for j in range(size):
        place = slots[beam.places[j]]
        if place != VACANT:
            prefetch(branches.features, place)
            prefetch(branches.edge, place)
    n = np.uint64(0)
    for j in range(size):
        place = place_of(branches, slots, z, np.uint32(instances.indices[start + j]), beam.places[j])
        if place != VACANT:
            prefetch(branches.children, branches.edge[place])
            prefetch(branches.weights, branches.edge[place])
            beam.places[n], beam.values[n] = place, instances.data[start + j]
            n += np.uint64(1)
    return n


@helper()
def judge_children(branches: Branches, slots: Array, instances: Instances, i: Any, z: Any, beam: Beam) -> None:
    """Compute the path scores of the children of node z. An only child adds nothing."""
    start, end = branches.child[z], branches.child[z + np.uint32(1)]
    if end - start == 1:
        beam.path[start] = beam.path[z]
        return
    for c in range(start, end):
        beam.score[c] = branches.base[c]
    for j in range(find_known(branches, slots, instances, i, z, beam)):
        place, x = beam.places[j], beam.values[j]
        lo, hi = np.uint64(branches.edge[place]), np.uint64(branches.edge[place + np.uint64(1)])
        for e in range(lo, hi):
            beam.score[branches.children[e]] += x * branches.weights[e]
        beam.read[0] += np.int64(hi - lo)
    for c in range(start, end):
        short = max(0.0, 1.0 - beam.score[c])
        beam.path[c] = beam.path[z] - short * short


@helper()
def keep_best(ways: Array, size: Any, c: Any, path: Array) -> Any:
    """Insert node c by the score of its path, dropping the last one if there is no room; returns the new number."""
    if size == ways.size:
        if not path[c] > path[ways[size - np.uint32(1)]]:
            return size
    else:
        size += np.uint32(1)
    place = size - np.uint32(1)
    while place > 0 and path[c] > path[ways[place - np.uint32(1)]]:
        ways[place] = ways[place - np.uint32(1)]
        place -= np.uint32(1)
    ways[place] = c
    return size


@helper()
def search_tree(branches: Branches, slots: Array, instances: Instances, i: Any, root: Any, beam: Beam) -> Any:
    """Put the leaves with the best paths of one tree into `beam.leaves`; returns how many there are."""
    here, n, n_leaves = 0, np.uint32(1), np.uint32(0)
    beam.nodes[0, 0], beam.path[root] = root, 0.0
    while n > 0:
        following, n_next = beam.nodes[1 - here], np.uint32(0)
        for b in range(n):
            z = beam.nodes[here, b]
            judge_children(branches, slots, instances, i, z, beam)
            beam.judged[z] = i + 1
            for c in range(branches.child[z], branches.child[z + np.uint32(1)]):
                if branches.own[c] >= 0:
                    n_leaves = keep_best(beam.leaves, n_leaves, c, beam.path)
                else:
                    n_next = keep_best(following, n_next, c, beam.path)
        here, n = 1 - here, n_next
    return n_leaves


@kernel(int64(BRANCHES, reads(uint32), INSTANCES, BEAM, writes(int32, 2)), **LEAN)
def fill_beam_ranks(branches: Branches, slots: Array, instances: Instances, beam: Beam, ranked: Array) -> int:
    """Rank the reached leaves by the scores of their paths. Returns the number of edges read."""
    beam.read[0] = 0
    for i in range(ranked.shape[0]):
        n_leaves = search_tree(branches, slots, instances, i, np.uint32(0), beam)
        for place in range(ranked.shape[1]):
            ranked[i, place] = branches.own[beam.leaves[place]] if place < n_leaves else -1
    return np.int64(beam.read[0])  # type: ignore[return-value]  # an integer to the caller


def rank_by_beam(
    branches: Branches, slots: Array, instances: Instances, k: int, width: int
) -> tuple[NDArray[np.int32], int]:
    """Return the k best classes of each instance, best first, -1 pads; and the number of edges read."""
    n_nodes, branches = branches.own.size, Branches(*(frozen(array) for array in branches))
    ranked = np.empty((instances.n_instances, k), np.int32)
    beam = empty_beam(n_nodes, instances, max(width, k), k)
    return ranked, int(fill_beam_ranks(branches, frozen(slots, np.uint32), instances, beam, ranked))


def empty_beam(n_nodes: int, instances: Instances, width: int, n_leaves: int) -> Beam:
    """Return space to follow `width` ways and to keep `n_leaves` leaves."""
    longest = int(np.diff(instances.indptr).max(initial=0))
    return Beam(
        nodes=np.zeros((2, width), np.uint32),
        leaves=np.zeros(n_leaves, np.uint32),
        score=np.zeros(n_nodes),
        path=np.zeros(n_nodes),
        read=np.zeros(1, np.int64),
        places=np.zeros(longest, np.uint64),
        values=np.zeros(longest),
        judged=np.zeros(n_nodes, np.int64),
    )
