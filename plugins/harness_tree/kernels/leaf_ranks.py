"""Ranking of classes by a tree: first the leaf of an instance, then other probable leaves, then the nodes above."""

from __future__ import annotations

import numpy as np
from numba import int64, void

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel
from harness.sdk.kernels.instances import Array, Instances
from harness_tree.kernels.nodes import FROZEN_NODES, freeze_weights, next_node, tree_depth
from harness_tree.kernels.regressor import FROZEN_WEIGHTS, Weights, offset, score_node
from harness_tree.kernels.search import (
    CLASS_LISTS,
    DECISIONS,
    RANKING_SPACE,
    RANKS,
    TINY,
    ClassLists,
    NodeRanks,
    RankingSpace,
    put,
    rank_met_classes,
    rank_nodes_above,
    ranking_space,
    take_first,
)

ROOM = 64
"""Number of nodes that may be open in the search, in addition to four for each leaf to find."""


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
    """Return the k best classes of each instance; -1 pads.

    The first class is that of the leaf to which the instance is routed. With n_leaves > 0, the classes of the n_leaves
    most probable leaves follow, by sum_leaf P(leaf) share(class | leaf). They are found best-first; a node sends an
    instance to the right with the probability sigma(2 h). The remaining places go to the other classes of its leaf and
    those of each node above, nearest first. An undecided tree could open all of its nodes, so the search ends when its
    space is full: an instance costs at most leaves x depth.

    Returns
    -------
    NodeRanks
        The rankings, and the number of decisions for each instance.
    """
    room = 4 * n_leaves * (tree_depth(nodes, root) + 1) + ROOM if n_leaves else 0
    space = ranking_space(room, n_classes)
    ranked = np.empty((instances.n_instances, k), np.int32)
    decisions = np.empty(instances.n_instances, np.int64)
    fill_node_ranks(nodes, root, freeze_weights(weights), lists, instances, space, n_leaves, ranked, decisions)
    return NodeRanks(ranked, decisions)


@helper()
def meet_leaf(lists: ClassLists, j: int, odds: float, space: RankingSpace, n_met: int) -> int:
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
    """Score the classes of the most probable leaves; returns the number of these classes, and of decisions."""
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
        rank_nodes_above(nodes, root, lists, j, space.listed, ranked, i, size)
