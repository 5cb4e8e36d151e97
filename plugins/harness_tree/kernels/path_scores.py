"""The probability of a class by a binary tree: the sum over its leaves of the probability of the path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness_tree.kernels.nodes import FROZEN_NODES, freeze_weights
from harness_tree.kernels.regressor import FROZEN_WEIGHTS, Weights, offset, score_node


class ClassLeaves(NamedTuple):
    """The leaves of class c are `leaves[starts[c]:starts[c + 1]]`, with the share of c among their training rows."""

    starts: NDArray[np.int64]
    leaves: NDArray[np.int64]
    shares: NDArray[np.float64]


CLASS_LEAVES = named(ClassLeaves, reads(int64), reads(int64), reads(float64))


def score_paths(
    nodes: Array,
    weights: Weights,
    leaves: ClassLeaves,
    instances: Instances,
    ranks: NDArray[np.int32],
    steepness: float,
) -> NDArray[np.float64]:
    """Return sum over leaves of c of P(leaf) share(c | leaf), for each class c in `ranks`; 0 beside pads.

    A node sends an instance to the right with probability 1 / (1 + exp(-steepness h(x))). P(leaf) is the product along
    its path. So an instance costs one decision for each node above a leaf of a ranked class.
    """
    scores = np.zeros(ranks.shape)
    frozen_leaves = ClassLeaves(*(frozen(array) for array in leaves))
    fill_path_scores(nodes, freeze_weights(weights), frozen_leaves, instances, frozen(ranks), steepness, scores)
    return scores


@kernel(
    void(FROZEN_NODES, FROZEN_WEIGHTS, CLASS_LEAVES, INSTANCES, reads(int32, 2), float64, writes(float64, 2)), **LEAN
)
def fill_path_scores(
    nodes: Array,
    weights: Weights,
    leaves: ClassLeaves,
    instances: Instances,
    ranks: Array,
    steepness: float,
    scores: Array,
) -> None:
    """See `score_paths`."""
    for i in range(ranks.shape[0]):
        for place in range(ranks.shape[1]):
            c = ranks[i, place]
            if c < 0:
                continue
            for e in range(leaves.starts[c], leaves.starts[c + 1]):
                j, odds = np.int64(leaves.leaves[e]), leaves.shares[e]
                while nodes[j].parent >= 0:
                    above = np.int64(nodes[j].parent)
                    h = score_node(weights, offset(weights, nodes[above].slot, nodes[above].uid), instances, i)
                    side = h if nodes[above].right == j else -h
                    odds *= 1.0 / (1.0 + np.exp(-steepness * side))
                    j = above
                scores[i, place] += odds
