"""The nodes of each class in a lattice, whose nodes may have several parents, with their attributes and costs.

z <= y are the nodes of class y: its own, and every node above it but the root, each once. Weights, lengths and costs
are those of `class_tree`. A tree has faster kernels, since there the nodes of a class are a path.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, uint32
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk.kernels.compile import helper, named, reads
from harness.sdk.kernels.instances import Array, frozen


class Lattice(NamedTuple):
    """The lattice. No two classes have the same nodes."""

    start: NDArray[np.uint32]
    """The nodes of class c are `nodes[start[c]:start[c + 1]]`, in ascending order."""
    nodes: NDArray[np.uint32]
    first: NDArray[np.uint32]
    """The classes below node z are `classes[first[z]:first[z + 1]]`, in ascending order."""
    classes: NDArray[np.uint32]
    weight: NDArray[np.float64]
    """m_z, by node."""
    scale: NDArray[np.float64]
    """r_y, by class."""
    missed: NDArray[np.float64]
    """Cost of leaving out a node of the true class, by node."""
    false: NDArray[np.float64]
    """Cost of entering a node that the true class does not have, by node."""
    leaving: NDArray[np.float64]
    """Sum of `missed` over the nodes of each class."""
    entering: NDArray[np.float64]
    """Sum of `false` over the nodes of each class."""


LATTICE = named(Lattice, *map(reads, (*[uint32] * 4, *[float64] * 6)))


def as_lattice(nodes_of: csr_array, weight: Array, missed: Array, false: Array) -> Lattice:
    """Return the lattice from the matrix classes x nodes, which has 1 for the nodes of each class."""
    up, down = csr_array(nodes_of), csr_array(nodes_of.T)
    up.sort_indices()
    down.sort_indices()
    lengths = up @ weight
    scale = np.divide(1.0, np.sqrt(lengths), out=np.zeros(lengths.size), where=lengths > 0)
    numbers = (weight, scale, missed, false, up @ missed, up @ false)
    return Lattice(
        frozen(up.indptr, np.uint32),
        frozen(up.indices, np.uint32),
        frozen(down.indptr, np.uint32),
        frozen(down.indices, np.uint32),
        *(frozen(values, np.float64) for values in numbers),
    )


@helper()
def shared_sum(lattice: Lattice, one: Any, other: Any, values: Array) -> float:
    """Return the sum of the values of the nodes that two classes share."""
    total = 0.0
    p, q = lattice.start[one], lattice.start[other]
    p_end, q_end = lattice.start[one + np.uint32(1)], lattice.start[other + np.uint32(1)]
    while p < p_end and q < q_end:
        z, v = lattice.nodes[p], lattice.nodes[q]
        if z == v:
            total += values[z]
        if z <= v:
            p += np.uint32(1)
        if v <= z:
            q += np.uint32(1)
    return total


@helper()
def alike_in_lattice(lattice: Lattice, c: Any, other: Any) -> Any:
    """Return <L(c), L(other)>."""
    return lattice.scale[c] * lattice.scale[other] * shared_sum(lattice, c, other, lattice.weight)


@helper()
def score_nodes(lattice: Lattice, own: Array, sums: Array, scores: Array) -> None:
    """Compute F(x, y) of each class from <u_y, x>, on the way the sum of these below each node.

    `own` and `scores` may be the same array.
    """
    for z in range(np.uint32(sums.size)):
        sums[z] = 0.0
        for e in range(np.uint64(lattice.first[z]), np.uint64(lattice.first[z + np.uint32(1)])):
            sums[z] += own[lattice.classes[e]]
    for c in range(np.uint32(scores.size)):
        total = 0.0
        for e in range(np.uint64(lattice.start[c]), np.uint64(lattice.start[c + np.uint32(1)])):
            total += lattice.weight[lattice.nodes[e]] * sums[lattice.nodes[e]]
        scores[c] = lattice.scale[c] * total
