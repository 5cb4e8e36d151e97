"""Beam searches in several trees over the same classes, whose paths are averaged as probabilities.

A forest is one `Branches`: the trees one behind the other. A path of score s has probability exp(s), and a class the
mean of its probabilities in all trees. The search of each tree names candidates. Their paths in the other trees reuse
the nodes that those searches have judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, int64, uint32
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness_svm.topdown.kernels.beam import BEAM, Beam, empty_beam, judge_children, search_tree
from harness_svm.topdown.kernels.branches import BRANCHES, Branches


class Paths(NamedTuple):
    """The ways up in a forest."""

    roots: NDArray[np.uint32]
    parent: NDArray[np.uint32]
    """By node; a root is its own parent."""
    leaf: NDArray[np.int32]
    """Trees x classes; -1 for a class without a leaf."""


PATHS = named(Paths, reads(uint32), reads(uint32), reads(int32, 2))


class Candidates(NamedTuple):
    """Space for the candidates of one row; `listed` has the number of the row, counted from 1."""

    met: NDArray[np.uint32]
    """The classes that the searches met, each once."""
    classes: NDArray[np.uint32]
    """The same by rank, best first."""
    value: NDArray[np.float64]
    """By rank: log of the mean probability."""
    listed: NDArray[np.int64]
    """By class: the last row that it was a candidate of."""


CANDIDATES = named(Candidates, *map(writes, (uint32, uint32, float64, int64)))


def join_trees(trees: Sequence[Branches]) -> Branches:
    """Return the trees as one forest. The last leaf of a tree seems to lead to the next root; searches end before."""
    if len(trees) == 1:
        return trees[0]
    nodes, places, edges = (
        np.cumsum([0, *(getattr(tree, name).size for tree in trees)]).tolist()
        for name in ("own", "features", "weights")
    )

    def join(name: str, offsets: Sequence[int], end: Sequence[int] = ()) -> NDArray[Any]:
        first = getattr(trees[0], name)
        parts = []
        for tree, offset in zip(trees, offsets, strict=False):
            array = getattr(tree, name)
            parts.append((array[:-1] if end else array).astype(np.int64) + offset)
        return frozen(np.concatenate([*parts, np.array(end, np.int64)]), first.dtype)

    return Branches(
        child=join("child", nodes, nodes[-1:]),
        own=frozen(np.concatenate([tree.own for tree in trees])),
        base=frozen(np.concatenate([tree.base for tree in trees])),
        first=join("first", places, places[-1:]),
        features=frozen(np.concatenate([tree.features for tree in trees])),
        edge=join("edge", edges, edges[-1:]),
        children=join("children", nodes),
        weights=frozen(np.concatenate([tree.weights for tree in trees])),
    )


def trace_paths(branches: Branches, n_classes: int) -> Paths:
    """Return the ways up. Raise ValueError if the trees have not the same classes, each once."""
    inner = np.flatnonzero(branches.own < 0)
    child = branches.child.astype(np.int64)
    counts = child[inner + 1] - child[inner]
    parent = np.arange(branches.own.size)
    parent[expand_ranges(child[inner], counts)] = np.repeat(inner, counts)
    roots = np.flatnonzero(parent == np.arange(parent.size))
    leaves = np.flatnonzero(branches.own >= 0)
    tree_of = np.searchsorted(roots, leaves, side="right") - 1
    leaf = np.full((roots.size, n_classes), -1, np.int32)
    leaf[tree_of, branches.own[leaves]] = leaves
    known = leaf >= 0
    if np.any(roots[tree_of] == leaves) or np.any(known != known[0]) or known.sum() != leaves.size:
        raise ValueError("branches_ is no forest of trees with the same classes")
    return Paths(frozen(roots, np.uint32), frozen(parent, np.uint32), frozen(leaf))


def expand_ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return all numbers from each start on, so many for each."""
    before = np.cumsum(counts) - counts
    numbers: NDArray[np.int64] = np.arange(counts.sum()) + np.repeat(starts - before, counts)
    return numbers


@helper()
def follow_path(
    branches: Branches, slots: Array, instances: Instances, i: Any, paths: Paths, leaf: Any, beam: Beam
) -> None:
    """Judge the nodes above a leaf that are not judged yet, from the root down."""
    parent, judged = paths.parent, beam.judged
    while judged[parent[leaf]] != i + 1:
        z = parent[leaf]
        while z != parent[z] and judged[parent[z]] != i + 1:
            z = parent[z]
        if z == parent[z]:
            beam.path[z] = 0.0
        judge_children(branches, slots, instances, i, z, beam)
        judged[z] = i + 1


@helper()
def mean_path(
    branches: Branches, slots: Array, instances: Instances, i: Any, paths: Paths, c: Any, beam: Beam
) -> float:
    """Return the log of the mean of exp(path score) of class c over the trees; -inf for a class without a leaf."""
    best = -np.inf
    if paths.leaf[0, c] < 0:
        return best
    for t in range(paths.roots.size):
        leaf = np.uint32(paths.leaf[t, c])
        follow_path(branches, slots, instances, i, paths, leaf, beam)
        best = max(best, beam.path[leaf])
    total = 0.0
    for t in range(paths.roots.size):
        total += np.exp(beam.path[np.uint32(paths.leaf[t, c])] - best)
    return float(best + np.log(total / paths.roots.size))


@helper()
def insert(found: Candidates, size: Any, c: Any, value: float) -> Any:
    """Put class c behind those of a higher value, or of this value and a lower position; returns how many there are."""
    place = size
    while place > 0:
        other = place - np.uint32(1)
        if found.value[other] > value or (found.value[other] == value and found.classes[other] < c):
            break
        found.value[place], found.classes[place] = found.value[other], found.classes[other]
        place = other
    found.value[place], found.classes[place] = value, c
    return size + np.uint32(1)


@kernel(
    int64(BRANCHES, reads(uint32), PATHS, INSTANCES, BEAM, CANDIDATES, writes(int32, 2), writes(float64, 2)), **LEAN
)
def fill_forest_ranks(
    branches: Branches,
    slots: Array,
    paths: Paths,
    instances: Instances,
    beam: Beam,
    found: Candidates,
    ranked: Array,
    values: Array,
) -> int:
    """Rank the classes that the searches met, by the log of their mean probability, and write that too, 0 beside pads.

    Returns the number of edges read.
    """
    beam.read[0] = 0
    for i in range(ranked.shape[0]):
        n = np.uint32(0)
        for t in range(paths.roots.size):
            for place in range(search_tree(branches, slots, instances, i, paths.roots[t], beam)):
                c = np.uint32(branches.own[beam.leaves[place]])
                if found.listed[c] != i + 1:
                    found.listed[c] = i + 1
                    found.met[n] = c
                    n += np.uint32(1)
        size = np.uint32(0)
        for place in range(n):
            c = found.met[place]
            size = insert(found, size, c, mean_path(branches, slots, instances, i, paths, c, beam))
        for place in range(ranked.shape[1]):
            ranked[i, place] = found.classes[place] if place < size else -1
            values[i, place] = found.value[place] if place < size else 0.0
    return np.int64(beam.read[0])  # type: ignore[return-value]  # an integer to the caller


@kernel(
    int64(BRANCHES, reads(uint32), PATHS, INSTANCES, BEAM, CANDIDATES, reads(int32, 2), writes(float64, 2)), **LEAN
)  # fmt: skip
def fill_forest_scores(
    branches: Branches,
    slots: Array,
    paths: Paths,
    instances: Instances,
    beam: Beam,
    found: Candidates,
    ranks: Array,
    values: Array,
) -> int:
    """Write the log of the mean probability of the class in each rank, 0 beside pads. Returns 0."""
    for i in range(ranks.shape[0]):
        for place in range(ranks.shape[1]):
            c = ranks[i, place]
            if c < 0:
                values[i, place] = 0.0
            else:
                values[i, place] = mean_path(branches, slots, instances, i, paths, np.uint32(c), beam)
    return 0


class Forest(NamedTuple):
    """Trees that are searched together."""

    branches: Branches
    slots: NDArray[np.uint32]
    paths: Paths

    def rank(self, instances: Instances, k: int, width: int) -> tuple[NDArray[np.int32], NDArray[np.float64], int]:
        """Return the k best classes of each instance, best first, -1 pads; their scores; the number of edges read."""
        ranked, values = np.empty((instances.n_instances, k), np.int32), np.empty((instances.n_instances, k))
        space = self._space(instances, max(width, k))
        read = fill_forest_ranks(*self._frozen(), instances, *space, ranked, values)
        return ranked, values, int(read)

    def score(self, instances: Instances, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the log of the mean probability of the class in each rank, 0 beside pads."""
        values = np.empty(ranks.shape)
        space = self._space(instances, 1)
        fill_forest_scores(*self._frozen(), instances, *space, frozen(ranks, np.int32), values)
        return values

    def _frozen(self) -> tuple[Branches, NDArray[np.uint32], Paths]:
        """Return arrays that kernels take: those of a pickled learner may be written to."""
        branches = Branches(*(frozen(array) for array in self.branches))
        paths = Paths(*(frozen(array) for array in self.paths))
        return branches, frozen(self.slots, np.uint32), paths

    def _space(self, instances: Instances, width: int) -> tuple[Beam, Candidates]:
        n_trees, n_classes = self.paths.leaf.shape
        most = min(n_classes, n_trees * width)
        candidates = Candidates(
            met=np.zeros(most, np.uint32),
            classes=np.zeros(most, np.uint32),
            value=np.zeros(most),
            listed=np.zeros(n_classes, np.int64),
        )
        return empty_beam(self.branches.own.size, instances, width, width), candidates
