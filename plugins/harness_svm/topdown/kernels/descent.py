"""Search of a tree of classes: first the greedy path, then the best of the remaining nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, int64, uint32
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, writes
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness_svm.topdown.kernels.branches import BRANCHES, Branches


class Search(NamedTuple):
    """Temporary arrays of a search: the open nodes as first elements, and the score of each node."""

    open: NDArray[np.uint32]
    score: NDArray[np.float64]
    """By node: <w, x> + base as a child of its parent."""
    path: NDArray[np.float64]
    """By node: sum of log sigma(score) from the root."""
    read: NDArray[np.int64]
    """Number of edges read."""


SEARCH = named(Search, writes(uint32), writes(float64), writes(float64), writes(int64))


@helper()
def find_feature(features: Array, lo: Any, hi: Any, f: Any) -> Any:
    """Return the first place from lo on whose feature is not below f."""
    while lo < hi:
        middle = (lo + hi) >> np.uint32(1)
        if features[middle] < f:
            lo = middle + np.uint32(1)
        else:
            hi = middle
    return lo


@helper()
def visit(branches: Branches, instances: Instances, i: Any, z: Any, search: Search) -> None:
    """Score the children of node z, and their paths."""
    for c in range(branches.child[z], branches.child[z + np.uint32(1)]):
        search.score[c] = branches.base[c]
    place, end = branches.first[z], branches.first[z + np.uint32(1)]
    for j in range(instances.indptr[i], instances.indptr[i + 1]):
        f, x = np.uint32(instances.indices[j]), np.float64(instances.data[j])
        place = find_feature(branches.features, place, end, f)
        if place < end and branches.features[place] == f:
            for e in range(np.uint64(branches.edge[place]), np.uint64(branches.edge[place + np.uint32(1)])):
                search.score[branches.children[e]] += x * branches.weights[e]
            search.read[0] += branches.edge[place + np.uint32(1)] - branches.edge[place]
    for c in range(branches.child[z], branches.child[z + np.uint32(1)]):
        s = search.score[c]
        log = -np.log1p(np.exp(-s)) if s > 0 else s - np.log1p(np.exp(s))
        search.path[c] = search.path[z] + log


@helper()
def best_open(search: Search, n: Any) -> Any:
    """Return the place of the open node with the best path; the lowest node on ties."""
    best: Any = np.uint32(0)
    for p in range(np.uint32(1), n):
        node, other = search.open[p], search.open[best]
        if search.path[node] > search.path[other] or (search.path[node] == search.path[other] and node < other):
            best = p
    return best


@helper()
def descend_greedily(branches: Branches, instances: Instances, i: Any, search: Search) -> Any:
    """Take the best child at each node and leave the others open. Returns the leaf and the number of open nodes."""
    z: Any = np.uint32(0)
    n = np.uint32(0)
    search.path[0] = 0.0
    while branches.own[z] < 0:
        visit(branches, instances, i, z, search)
        best = branches.child[z]
        for c in range(branches.child[z] + np.uint32(1), branches.child[z + np.uint32(1)]):
            if search.score[c] > search.score[best]:
                best = c
        for c in range(branches.child[z], branches.child[z + np.uint32(1)]):
            if c != best and branches.base[c] > -np.inf:
                search.open[n] = c
                n += np.uint32(1)
        z = best
    return z, n


@kernel(int64(BRANCHES, INSTANCES, SEARCH, writes(int32, 2)), **LEAN)
def fill_descent_ranks(branches: Branches, instances: Instances, search: Search, ranked: Array) -> int:
    """Rank the leaf of the greedy path first, then the leaves with the best paths.

    Returns the number of edges read.
    """
    search.read[0] = 0
    for i in range(ranked.shape[0]):
        z, n = descend_greedily(branches, instances, i, search)
        ranked[i, 0] = branches.own[z]
        size = 1
        while size < ranked.shape[1] and n > 0:
            place = best_open(search, n)
            z = search.open[place]
            n -= np.uint32(1)
            search.open[place] = search.open[n]
            if branches.own[z] >= 0:
                ranked[i, size] = branches.own[z]
                size += 1
                continue
            visit(branches, instances, i, z, search)
            for c in range(branches.child[z], branches.child[z + np.uint32(1)]):
                if branches.base[c] > -np.inf:
                    search.open[n] = c
                    n += np.uint32(1)
        for rest in range(size, ranked.shape[1]):
            ranked[i, rest] = -1
    return np.int64(search.read[0])  # type: ignore[return-value]  # an integer to the caller


def rank_by_descent(branches: Branches, instances: Instances, k: int) -> tuple[NDArray[np.int32], int]:
    """Return the k best classes of each instance, best first, -1 pads; and the number of edges read."""
    nodes, branches = branches.own.size, Branches(*(frozen(array) for array in branches))
    ranked = np.empty((instances.n_instances, k), np.int32)
    search = Search(np.zeros(nodes, np.uint32), np.zeros(nodes), np.zeros(nodes), np.zeros(1, np.int64))
    return ranked, int(fill_descent_ranks(branches, instances, search, ranked))
