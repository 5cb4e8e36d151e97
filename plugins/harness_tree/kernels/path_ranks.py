"""Ranking of classes by a tree for a few times the decisions of one prediction.

An instance first goes down greedily. Then the most probable node that is still open decides, and so on, until the
decisions are used up: WAYS times as many as on the first path. An open node that did not decide contributes the classes
that reached it in training.

The weights of nodes far from the root are rarely in a cache, and a search waits for them at each decision. So LANES
instances are searched in turn: the weights of the next decision of each are requested one round ahead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, from_dtype, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.score import prefetch
from harness_tree.kernels.nodes import FROZEN_NODES, freeze_weights, tree_depth
from harness_tree.kernels.regressor import FROZEN_WEIGHTS, Weights, offset, place, score_node
from harness_tree.kernels.search import (
    CLASS_LISTS,
    DECISIONS,
    RANKING_SPACE,
    RANKS,
    TINY,
    ClassLists,
    NodeRanks,
    RankingSpace,
    rank_met_classes,
    rank_nodes_above,
    ranking_space,
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
LANES = 4
"""Number of instances that are searched in turn; 8 are not faster (measured)."""
FETCHED = 16
"""Maximum number of weights of a decision that are requested ahead; a processor requests few more at once."""

LANE = np.dtype(
    [
        ("instance", np.int64),  # -1 without one
        ("node", np.int64),  # the next to decide
        ("odds", np.float64),  # its probability
        ("own", np.int64),  # the leaf of the first path; -1 before it is reached
        ("counted", np.int64),  # leaves reached, at the beginning of the queue
        ("first", np.int64),  # the open nodes are queue[first:end]
        ("end", np.int64),
        ("made", np.int64),  # decisions
        ("most", np.int64),
    ],
    align=True,
)
"""The search for the classes of one instance."""


class Lanes(NamedTuple):
    """Searches in turn. Each has a queue: the leaves it has reached, then open nodes by probability, highest first."""

    states: NDArray[Any]
    odds: NDArray[np.float64]
    nodes: NDArray[np.int64]


QUEUES = named(Lanes, writes(from_dtype(LANE)), writes(float64, 2), writes(int64, 2))


def rank_paths(
    nodes: Array, root: int, weights: Weights, lists: ClassLists, instances: Instances, k: int, n_classes: int
) -> NodeRanks:
    """Return the k best classes of each instance; -1 pads.

    The class of the leaf to which the instance is routed is first. The others follow by

        sum over leaves reached, and open nodes, of P(node) share(class | node)

    and then the classes of the nodes above its leaf.
    """
    room = 2 * WAYS * (tree_depth(nodes, root) + 1) + 2  # a decision puts two nodes into the queue at most
    lanes = Lanes(np.zeros(LANES, LANE), np.empty((LANES, room)), np.empty((LANES, room), np.int64))
    space = ranking_space(0, n_classes)
    ranked = np.empty((instances.n_instances, k), np.int32)
    decisions = np.empty(instances.n_instances, np.int64)
    fill_path_ranks(nodes, root, freeze_weights(weights), lists, instances, lanes, space, ranked, decisions)
    return NodeRanks(ranked, decisions)


@helper()
def begin_search(lane: Any, root: int, i: Any) -> None:
    """Start the search of an instance at the root. The first place of the queue is for the leaf of the first path."""
    lane.instance, lane.node, lane.odds, lane.own = i, root, 1.0, -1
    lane.counted, lane.first, lane.end = 0, 1, 1
    lane.made, lane.most = 0, 0


@helper()
def put_open(lanes: Lanes, number: Any, odds: float, j: Any) -> None:
    """Add node j to the open nodes of a lane, behind those that are as probable."""
    lane, all_odds, queue = lanes.states[number], lanes.odds, lanes.nodes
    at, first = np.uint64(lane.end), np.uint64(lane.first)
    while at > first and all_odds[number, at - np.uint64(1)] < odds:
        all_odds[number, at] = all_odds[number, at - np.uint64(1)]
        queue[number, at] = queue[number, at - np.uint64(1)]
        at -= np.uint64(1)
    all_odds[number, at], queue[number, at] = odds, j
    lane.end += 1


@helper()
def count_leaf(lanes: Lanes, number: Any, odds: float, j: Any) -> None:
    """Add leaf j to those that the search of a lane has reached."""
    lane = lanes.states[number]
    lanes.odds[number, lane.counted], lanes.nodes[number, lane.counted] = odds, j
    lane.counted += 1


@helper()
def decide_node(nodes: Array, weights: Weights, instances: Instances, lanes: Lanes, number: Any) -> None:
    """Let the node of a lane decide: the likelier child becomes its node, and the other one is open."""
    lane = lanes.states[number]
    j = lane.node
    left, right = np.int64(nodes[j].left), np.int64(nodes[j].right)
    prefetch(nodes, left)
    prefetch(nodes, right)
    h = score_node(weights, offset(weights, nodes[j].slot, nodes[j].uid), instances, lane.instance)
    likelier = 1.0 / (1.0 + np.exp(-STEEPNESS * abs(h)))
    child, other = (left, right) if h < 0 else (right, left)
    put_open(lanes, number, lane.odds * (1.0 - likelier), other)
    lane.node, lane.odds = child, lane.odds * likelier
    lane.made += 1


@helper()
def go_on(nodes: Array, lanes: Lanes, number: Any) -> bool:
    """Choose the next node of a lane after a decision; returns whether there is one."""
    lane = lanes.states[number]
    j, odds = lane.node, lane.odds
    is_leaf = nodes[j].left < 0
    if lane.own < 0:
        if not is_leaf:
            return True
        lane.own, lane.most = j, WAYS * lane.made
        count_leaf(lanes, number, odds, j)
    elif lane.made < lane.most and odds > lanes.odds[number, lane.first]:
        if not is_leaf:
            return True
        count_leaf(lanes, number, odds, j)
    else:
        put_open(lanes, number, odds, j)
    while lane.first < lane.end and lane.made < lane.most:
        j, odds = lanes.nodes[number, lane.first], lanes.odds[number, lane.first]
        lane.first += 1
        if nodes[j].left >= 0:
            lane.node, lane.odds = j, odds
            return True
        count_leaf(lanes, number, odds, j)
    return False


@helper()
def fetch_weights(nodes: Array, weights: Weights, instances: Instances, i: Any, j: Any) -> None:
    """Prefetch the weights that node j needs for its decision on an instance, the first of them in a long one."""
    start = offset(weights, nodes[j].slot, nodes[j].uid)
    lo, hi = np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1])
    prefetch(weights.table, np.uint64(2) * (start & weights.mask))  # a weight takes two numbers of the table
    for p in range(lo, min(hi, lo + np.uint64(FETCHED))):
        prefetch(weights.table, np.uint64(2) * place(weights, start, instances.indices[p]))


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
def rank_found(
    nodes: Array, root: int, lists: ClassLists, lanes: Lanes, number: Any, space: RankingSpace, ranked: Array
) -> None:
    """Rank the classes of the leaves and open nodes that the search of a lane has found."""
    lane = lanes.states[number]
    i, top = lane.instance, lists.classes[lists.starts[lane.own]]
    ranked[i, 0] = top
    space.listed[top] = i + 1
    size, n_met = 1, 0
    if ranked.shape[1] > 1:
        for e in range(lane.counted):
            n_met = hear_node(lists, lanes.nodes[number, e], lanes.odds[number, e], space, n_met)
        for e in range(lane.first, min(lane.end, lane.first + MOST_PASSED_BY)):
            n_met = hear_node(lists, lanes.nodes[number, e], lanes.odds[number, e], space, n_met)
        size = rank_met_classes(space, n_met, ranked, i)
    rank_nodes_above(nodes, root, lists, lane.own, space.listed, ranked, i, size)


@kernel(
    void(FROZEN_NODES, int64, FROZEN_WEIGHTS, CLASS_LISTS, INSTANCES, QUEUES, RANKING_SPACE, RANKS, DECISIONS), **LEAN
)
def fill_path_ranks(
    nodes: Array,
    root: int,
    weights: Weights,
    lists: ClassLists,
    instances: Instances,
    lanes: Lanes,
    space: RankingSpace,
    ranked: Array,
    decisions: Array,
) -> None:
    """See `rank_paths`."""
    begun, active = min(LANES, ranked.shape[0]), min(LANES, ranked.shape[0])
    for number in range(LANES):
        begin_search(lanes.states[number], root, number if number < begun else -1)
    while active > 0:
        for number in range(LANES):
            lane = lanes.states[number]
            if lane.instance < 0:
                continue
            if nodes[lane.node].left >= 0:
                decide_node(nodes, weights, instances, lanes, number)
            if go_on(nodes, lanes, number):
                fetch_weights(nodes, weights, instances, lane.instance, lane.node)
                continue
            decisions[lane.instance] = lane.made
            rank_found(nodes, root, lists, lanes, number, space, ranked)
            more = begun < ranked.shape[0]
            begin_search(lane, root, begun if more else -1)
            begun, active = begun + more, active - (not more)
