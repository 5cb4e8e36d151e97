"""LOMtree (Choromanska and Langford): a tree of linear splits that grows while it learns, within a budget of nodes.

Each node keeps, class by class, the mean score of the instances that reached it. An instance of class y is trained to
the right if the mean of its class is at least the mean of all classes, otherwise to the left. This makes splits
balanced and pure. When the budget is spent, a leaf that would gain by a split replaces the smallest leaf.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, from_dtype, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.score import fetch_instance
from harness_tree.kernels.nodes import NODE, NODES
from harness_tree.kernels.regressor import (
    REGRESSOR_STEP,
    WEIGHTS,
    RegressorStep,
    Weights,
    clear_slot,
    move_regressor,
    offset,
    score_node,
)

ENTRY = np.dtype([("key", np.uint64), ("m", np.float64), ("n", np.int64), ("l", np.int64)])
"""Statistics of a class at a node: the key uid * 2^32 + class, sum of scores, times trained, times reached."""
TALLY = np.dtype(
    [
        ("root", np.int64),
        ("t", np.int64),  # inner nodes
        ("n_nodes", np.int64),
        ("next_uid", np.int64),
        ("n_entries", np.int64),
        ("deepest", np.int64),  # no leaf was ever further from the root
        ("examples", np.int64),
        ("swaps", np.int64),
        ("lost", np.int64),  # sum of C of the leaves that were swapped away
        ("roots", np.int64),  # swaps that replaced the root
    ]
)
VACANT = np.uint64(2**64 - 1)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
LOAD = 0.6


class GrowingTree(NamedTuple):
    """Nodes, their statistics by class (a hash table whose size is a power of two), and one record of counts."""

    nodes: NDArray[Any]
    entries: NDArray[Any]
    tally: NDArray[Any]


class Growth(NamedTuple):
    """Limits of growth: `budget` inner nodes; then a leaf replaces another when C - maxc > resistance (C_root + 1)."""

    budget: int
    resistance: float


ENTRIES = writes(from_dtype(ENTRY))
GROWING_TREE = named(GrowingTree, NODES, ENTRIES, writes(from_dtype(TALLY)))
GROWTH = named(Growth, int64, float64)


def empty_entries(size: int) -> NDArray[Any]:
    """Return a hash table with this number of vacant entries."""
    entries = np.zeros(size, ENTRY)
    entries["key"] = VACANT
    return entries


def new_tree(budget: int, n_entries: int = 1024) -> GrowingTree:
    """Return a tree with a single leaf and room for `budget` inner nodes; memory is allocated on first use."""
    tree = GrowingTree(np.zeros(2 * budget + 1, NODE), empty_entries(n_entries), np.zeros(1, TALLY))
    tree.tally["n_nodes"] = tree.tally["next_uid"] = 1
    root = tree.nodes[:1]
    root["parent"] = root["left"] = root["right"] = root["slot"] = root["maxl"] = -1
    return tree


def make_room(tree: GrowingTree) -> GrowingTree:
    """Return the same tree without the statistics of dead nodes, in a table with twice the room that it needs."""
    uids = tree.nodes["uid"][: tree.tally["n_nodes"][0]]
    alive = np.isin(tree.entries["key"] >> np.uint64(32), uids) & (tree.entries["key"] != VACANT)
    kept, size = tree.entries[alive], tree.entries.size
    while LOAD * size < 2 * kept.size + tree.tally["deepest"][0] + 8:
        size *= 2
    entries = empty_entries(size)
    refill(entries, kept)
    tree.tally["n_entries"] = kept.size
    return tree._replace(entries=entries)


def counts_of(tree: GrowingTree) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the class counts of the live nodes: node, class, and how often the class reached the node."""
    uids = tree.nodes["uid"][: tree.tally["n_nodes"][0]]
    by_uid = np.argsort(uids)
    held = tree.entries[tree.entries["key"] != VACANT]
    uid, classes = held["key"] >> np.uint64(32), (held["key"] & np.uint64(2**32 - 1)).astype(np.int64)
    places = np.minimum(np.searchsorted(uids, uid, sorter=by_uid), uids.size - 1)
    nodes = by_uid[places]
    alive = uids[nodes] == uid
    return nodes[alive], classes[alive], held["l"][alive]


@helper()
def find_entry(entries: Array, key: Any) -> Any:
    """Return the position of the entry, or the vacant position where it belongs."""
    mask = np.uint64(entries.size - 1)
    mixed = key * GOLDEN
    at = (mixed ^ (mixed >> np.uint64(32))) & mask
    while entries[at].key != key and entries[at].key != VACANT:
        at = (at + np.uint64(1)) & mask
    return at


@kernel(void(ENTRIES, ENTRIES), **LEAN)
def refill(entries: Array, kept: Array) -> None:
    """Copy entries into an empty hash table."""
    for e in range(kept.size):
        at = find_entry(entries, kept[e].key)
        entries[at].key, entries[at].m, entries[at].n, entries[at].l = kept[e].key, kept[e].m, kept[e].n, kept[e].l


@helper()
def reach(tree: GrowingTree, j: Any, y: Any) -> Any:
    """Count the arrival of class y at node j; returns the place of its entry, which is created if necessary."""
    node = tree.nodes[j]
    key = (np.uint64(node.uid) << np.uint64(32)) | np.uint64(y)
    at = find_entry(tree.entries, key)
    entry = tree.entries[at]
    if entry.key == VACANT:
        entry.key, entry.m, entry.n, entry.l = key, 0.0, 0, 0
        tree.tally[0].n_entries += 1
        node.nd += 1
    entry.l += 1
    if entry.l > node.maxc:
        node.maxc, node.maxl = entry.l, y
    return at


@helper()
def set_node(tree: GrowingTree, v: Any, parent: Any) -> None:
    """Make an empty leaf of a new generation, which hides the statistics of the old one. It inherits a label."""
    node, tally = tree.nodes[v], tree.tally[0]
    node.parent, node.left, node.right, node.slot = parent, -1, -1, -1
    node.uid = tally.next_uid
    tally.next_uid += 1
    node.nd, node.maxc, node.maxl = 0, 0, tree.nodes[parent].maxl
    node.C, node.M, node.N = 0, 0.0, 0


@helper()
def update_c(nodes: Array, root: Any, v: Any) -> None:
    """Update C = min(C_left, C_right) from v upwards, until it does not change."""
    while v != root:
        v = np.int64(nodes[v].parent)
        least = min(nodes[nodes[v].left].C, nodes[nodes[v].right].C)
        if least == nodes[v].C:
            break
        nodes[v].C = least


@helper()
def swap(tree: GrowingTree, weights: Weights, j: Any) -> Any:
    """Remove the smallest leaf and its parent, so leaf j can be split; j gets the cleared regressor of the parent.

    The sibling moves up, and becomes the root if there is no grandparent. Returns the two free nodes, or -1, -1 if j
    is the smallest leaf itself.
    """
    nodes, tally = tree.nodes, tree.tally[0]
    s = tally.root
    while nodes[s].left >= 0:
        left, right = np.int64(nodes[s].left), np.int64(nodes[s].right)
        s = left if nodes[left].C < nodes[right].C else right
    if s == j:
        return np.int64(-1), np.int64(-1)
    p = np.int64(nodes[s].parent)
    b = np.int64(nodes[p].right) if nodes[p].left == s else np.int64(nodes[p].left)
    tally.swaps += 1
    tally.lost += nodes[s].C
    if p == tally.root:
        tally.root = b
        tally.roots += 1
        nodes[b].parent = -1
    else:
        g = nodes[p].parent
        if nodes[g].left == p:
            nodes[g].left = b
        else:
            nodes[g].right = b
        nodes[b].parent = g
        update_c(nodes, tally.root, b)
    nodes[j].slot = nodes[p].slot
    clear_slot(weights, nodes[j].slot)
    return s, p


@helper()
def split(tree: GrowingTree, weights: Weights, j: Any, depth: Any, growth: Growth) -> bool:
    """Give a leaf with two classes two children: new nodes within the budget, otherwise nodes freed by a swap."""
    nodes, tally = tree.nodes, tree.tally[0]
    if nodes[j].nd < 2:
        return False
    if tally.t < growth.budget:
        a, b = tally.n_nodes, tally.n_nodes + 1
        tally.n_nodes += 2
        nodes[j].slot = tally.t
        tally.t += 1
    elif nodes[j].C - nodes[j].maxc > growth.resistance * (nodes[tally.root].C + 1):
        a, b = swap(tree, weights, j)
    else:
        return False
    if a < 0:
        return False
    set_node(tree, a, j)
    set_node(tree, b, j)
    nodes[j].left, nodes[j].right = a, b
    nodes[a].C = nodes[j].C // 2
    nodes[b].C = nodes[j].C - nodes[a].C
    nodes[j].C = nodes[a].C
    update_c(nodes, tally.root, j)
    tally.deepest = max(tally.deepest, depth + 1)
    return True


@helper()
def learn(
    tree: GrowingTree,
    weights: Weights,
    instances: Instances,
    i: int,
    y: Any,
    growth: Growth,
    step: RegressorStep,
    space: Array,
) -> None:
    """Send one instance down the tree, train each node on its way, and count it at its leaf.

    E = M / N is the mean score over all classes, and e = m / n that of class y (0 without any counts). The target of a
    node is c = -1 if E > e, otherwise 1. The instance follows the score of its node after the step.
    """
    nodes, tally = tree.nodes, tree.tally[0]
    j, depth = tally.root, np.int64(0)
    while True:
        at = reach(tree, j, y)
        if nodes[j].left < 0 and not split(tree, weights, j, depth, growth):
            break
        entry, node = tree.entries[at], nodes[j]
        E = node.M / node.N if node.N > 0 else 0.0
        e = entry.m / entry.n if entry.n > 0 else 0.0
        c = -1.0 if e < E else 1.0
        start = offset(weights, node.slot, node.uid)
        h = score_node(weights, start, instances, i)
        s = move_regressor(weights, start, instances, i, h, c, step, space)
        entry.m += s
        entry.n += 1
        node.M += s
        node.N += 1
        j = np.int64(node.left) if s < 0 else np.int64(node.right)
        depth += 1
    nodes[j].C += 1
    update_c(nodes, tally.root, j)


@kernel(
    int64(GROWING_TREE, WEIGHTS, INSTANCES, reads(int32), reads(int64), GROWTH, REGRESSOR_STEP, writes(float32, 2)),
    **LEAN,
)
def update_lomtree(
    tree: GrowingTree,
    weights: Weights,
    instances: Instances,
    labels: Array,
    order: Array,
    growth: Growth,
    step: RegressorStep,
    space: Array,
) -> int:
    """Learn from the instances in this order. Returns the number done before the table of entries was too full."""
    tally = tree.tally[0]
    for done in range(order.size):
        # an instance adds at most one entry for each node on its way, and one for a new leaf if it splits the last node
        if tally.n_entries + tally.deepest + 2 > LOAD * tree.entries.size:
            return done
        fetch_instance(instances, order, done)
        learn(tree, weights, instances, order[done], labels[order[done]], growth, step, space)
        tally.examples += 1
    return order.size
