"""A tree of classes in which each inner node has a linear machine for each of its children.

Each node has its own index of weights, in which only the features of the instance are looked up. So the time depends on
the number of visited nodes, not on the number of classes. The searches are in `descent` and `beam`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float32, float64, int32, int64, uint32
from numpy.typing import NDArray

from harness.sdk.kernels.compile import named, reads


class Branches(NamedTuple):
    """The machines of a tree. Node 0 is the root; the children of node z are `child[z]` to `child[z + 1] - 1`."""

    child: NDArray[np.uint32]
    own: NDArray[np.int32]
    """By node: its class, or -1 for an inner node."""
    base: NDArray[np.float64]
    """By node: its score as a child before any feature counts; -inf if it is never entered."""
    first: NDArray[np.uint32]
    """The features of node z are `features[first[z]:first[z + 1]]`, in order."""
    features: NDArray[np.uint32]
    edge: NDArray[np.int64]
    """The edges of the feature in place p are `edge[p]:edge[p + 1]`."""
    children: NDArray[np.uint32]
    """By edge: the node to which it leads."""
    weights: NDArray[np.float32]


_TYPES = (uint32, int32, float64, uint32, uint32, int64, uint32, float32)
BRANCHES = named(Branches, *map(reads, _TYPES))
