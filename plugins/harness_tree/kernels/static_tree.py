"""Trees whose shape is fixed before training, one class per leaf: the random tree and the filter tree."""

from __future__ import annotations

import numpy as np
from numba import boolean, float32, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.score import fetch_instance
from harness_tree.kernels.nodes import FROZEN_NODES, NODE
from harness_tree.kernels.regressor import (
    REGRESSOR_STEP,
    WEIGHTS,
    RegressorStep,
    Weights,
    move_regressor,
    offset,
    score_node,
)


def build_tree(order: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Return the tree with the classes in this order, and the leaf of each class.

    Class r of the order is at leaf floor(r * n / K) of a complete tree with n = 2^ceil(log2 K) leaves, so no leaf is
    deeper than ceil(log2 K). A node with an empty side would decide nothing and is left out.
    """
    n_classes = order.size
    width = 1 << (n_classes - 1).bit_length()
    nodes, leaf_of = np.zeros(2 * n_classes - 1, NODE), np.empty(n_classes, np.int64)
    for link in ("parent", "left", "right", "slot"):
        nodes[link] = -1
    spots = np.arange(n_classes) * width // n_classes
    waiting, made, slots = [(0, n_classes, 0, width, -1, "")], 0, 0
    while waiting:
        first, last, low, high, parent, side = waiting.pop()
        if last - first > 1:
            middle = (low + high) // 2
            cut = int(np.searchsorted(spots, middle))
            if cut in (first, last):  # one side is empty: the other takes its place
                half = (middle, high) if cut == first else (low, middle)
                waiting.append((first, last, *half, parent, side))
                continue
            waiting += [(cut, last, middle, high, made, "right"), (first, cut, low, middle, made, "left")]
            nodes[made]["slot"], slots = slots, slots + 1
        else:
            leaf_of[order[first]] = made
            nodes[made]["maxl"] = order[first]
        nodes[made]["parent"], nodes[made]["uid"] = parent, made
        if side:
            nodes[parent][side] = made
        made += 1
    return nodes, leaf_of


@kernel(
    void(
        FROZEN_NODES,
        reads(int64),
        WEIGHTS,
        INSTANCES,
        reads(int32),
        reads(int64),
        REGRESSOR_STEP,
        boolean,
        writes(float32, 2),
    ),
    **LEAN,
)
def update_static_tree(
    nodes: Array,
    leaf_of: Array,
    weights: Weights,
    instances: Instances,
    labels: Array,
    order: Array,
    step: RegressorStep,
    winners_only: bool,
    space: Array,
) -> None:
    """Train each node, from the leaf of an instance's class up to the root, to send the instance to that side.

    With `winners_only`, the filter tree, the walk ends at the first node whose score before the step would have sent
    the instance to the other side: only the winner of a match plays the next one.
    """
    for done in range(order.size):
        fetch_instance(instances, order, done)
        i = order[done]
        v = leaf_of[labels[i]]
        while nodes[v].parent >= 0:
            parent = np.int64(nodes[v].parent)
            c = 1.0 if nodes[parent].right == v else -1.0
            start = offset(weights, nodes[parent].slot, nodes[parent].uid)
            h = score_node(weights, start, instances, i)
            move_regressor(weights, start, instances, i, h, c, step, space)
            if winners_only and (h >= 0) != (c > 0):
                break
            v = parent
