"""A binary tree as an array of nodes, and the path of an instance through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import from_dtype, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness_tree.kernels.regressor import FROZEN_WEIGHTS, Weights, offset, score_node

NODE = np.dtype(
    [
        ("parent", np.int32),  # -1 at the root
        ("left", np.int32),  # -1 at a leaf
        ("right", np.int32),
        ("slot", np.int32),  # the number of its regressor, at inner nodes
        ("uid", np.uint32),  # its generation: renewed whenever the node starts afresh
        ("nd", np.int32),  # distinct classes that reached it
        ("maxl", np.int32),  # the most frequent of them
        ("maxc", np.int64),  # and how often it came
        ("C", np.int64),  # instances of the smallest leaf below it
        ("M", np.float64),  # sum of its scores
        ("N", np.int64),  # number of its scores
    ],
    align=True,
)
"""One cache line. Trees with a fixed shape use only the links, the slot and the uid."""
NODES, FROZEN_NODES = writes(from_dtype(NODE)), reads(from_dtype(NODE))


def freeze_weights(weights: Weights) -> Weights:
    """Return the weights as read-only arrays, for kernels that change nothing."""
    return weights._replace(table=frozen(weights.table))


def route(
    nodes: Array, root: int, weights: Weights, instances: Instances
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the leaf of each instance, and the number of decisions on the way."""
    leaves, depths = np.empty(instances.n_instances, np.int64), np.empty(instances.n_instances, np.int64)
    fill_leaves(nodes, root, freeze_weights(weights), instances, leaves, depths)
    return leaves, depths


@helper()
def next_node(nodes: Array, j: Any, weights: Weights, instances: Instances, i: int) -> Any:
    """Return the child of an inner node to which the instance goes."""
    h = score_node(weights, offset(weights, nodes[j].slot, nodes[j].uid), instances, i)
    return np.int64(nodes[j].left) if h < 0 else np.int64(nodes[j].right)


@kernel(void(FROZEN_NODES, int64, FROZEN_WEIGHTS, INSTANCES, writes(int64), writes(int64)), **LEAN)
def fill_leaves(nodes: Array, root: int, weights: Weights, instances: Instances, leaves: Array, depths: Array) -> None:
    """Route each instance to its leaf: left if h < 0, otherwise right."""
    for i in range(leaves.size):
        j, depth = np.int64(root), 0
        while nodes[j].left >= 0:
            j = next_node(nodes, j, weights, instances, i)
            depth += 1
        leaves[i], depths[i] = j, depth


def levels(nodes: Array, root: int) -> Iterator[NDArray[np.int64]]:
    """Yield the nodes at depth 0, 1, 2, ..., one level after the other."""
    level = np.array([root])
    while level.size:
        yield level
        inner = level[nodes["left"][level] >= 0]
        level = np.concatenate([nodes["left"][inner], nodes["right"][inner]]).astype(np.int64)


def tree_depth(nodes: Array, root: int) -> int:
    """Return the maximum number of decisions from the root to a leaf."""
    return sum(1 for _ in levels(nodes, root)) - 1
