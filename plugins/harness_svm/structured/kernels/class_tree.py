"""A tree of classes with its attributes and costs summed along the paths, as the structured machines use it.

Each node z weighs m_z; z <= y are the nodes on the path of class y, without the root. L_z(y) = r_y sqrt(m_z) on that
path and 0 elsewhere; r_y scales L(y) to length 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, uint32
from numpy.typing import NDArray

from harness.sdk.kernels.compile import helper, named, reads
from harness.sdk.kernels.instances import Array, frozen


class ClassTree(NamedTuple):
    """The tree. Node 0 is the root, each parent precedes its children, and every class has its own leaf."""

    parent: NDArray[np.uint32]
    leaf: NDArray[np.uint32]
    """By class."""
    weight: NDArray[np.float64]
    """m_z; 0 for the root."""
    scale: NDArray[np.float64]
    """r_y, by class."""
    shared: NDArray[np.float64]
    """Sum of m_z from the root to each node: <L(y), L(y')> = r_y r_y' shared(last node that y and y' have in
    common)."""
    missed: NDArray[np.float64]
    """Sum, from the root to each node, of the costs of leaving out a node of the true path."""
    false: NDArray[np.float64]
    """Sum, from the root to each node, of the costs of entering a node beside the true path."""


CLASS_TREE = named(ClassTree, *map(reads, (uint32, uint32, float64, float64, float64, float64, float64)))


def as_tree(parent: Array, leaf: Array, weight: Array, missed: Array, false: Array) -> ClassTree:
    """Return the tree with its sums along the paths, and each L(y) scaled to length 1.

    All arrays have one element per node, except `leaf`, which has one per class.
    """
    weight = np.concatenate([[0.0], weight[1:]])
    shared, missed, false = (_from_root(parent, values) for values in (weight, missed, false))
    lengths = shared[leaf]
    scale = np.divide(1.0, np.sqrt(lengths), out=np.zeros(lengths.size), where=lengths > 0)
    whole = (frozen(array, np.float64) for array in (weight, scale, shared, missed, false))
    return ClassTree(frozen(parent, np.uint32), frozen(leaf, np.uint32), *whole)


def _from_root(parent: Array, values: Array) -> NDArray[np.float64]:
    sums = np.zeros(parent.size)
    for z in range(1, parent.size):
        sums[z] = sums[parent[z]] + values[z]
    return sums


class OrderedTree(NamedTuple):
    """A tree whose classes are ordered such that classes below the same node are neighbours.

    Training reads this form.
    """

    parent: NDArray[np.uint32]
    leaf: NDArray[np.uint32]
    weight: NDArray[np.float64]
    scale: NDArray[np.float64]
    shared: NDArray[np.float64]
    missed: NDArray[np.float64]
    false: NDArray[np.float64]
    entered: NDArray[np.float64]
    """By class: `false` of its leaf."""
    first: NDArray[np.uint32]
    """By node: the classes below it are `first` to `end` - 1."""
    end: NDArray[np.uint32]
    top: NDArray[np.uint32]
    """By class: the child of the root above it."""


ORDERED_TREE = named(
    OrderedTree, *map(reads, (uint32, uint32, *[float64] * 6, uint32, uint32, uint32))
)  # fmt: skip


def in_order(tree: ClassTree) -> tuple[NDArray[np.int64], OrderedTree]:
    """Return the classes in the order of a tree, and the tree with each class renamed to its place in this order."""
    parent, nodes = tree.parent.astype(np.int64), tree.parent.size
    below = np.bincount(tree.leaf, minlength=nodes)
    for z in range(nodes - 1, 0, -1):
        below[parent[z]] += below[z]
    first, free, top = (np.zeros(nodes, np.int64) for _ in range(3))
    for z in range(1, nodes):
        first[z] = free[z] = free[parent[z]]
        free[parent[z]] += below[z]
        top[z] = z if parent[z] == 0 else top[parent[z]]
    order = np.argsort(first[tree.leaf])
    leaf = tree.leaf[order]
    return order, OrderedTree(
        parent=frozen(tree.parent),
        leaf=frozen(leaf),
        weight=frozen(tree.weight),
        scale=frozen(tree.scale[order]),
        shared=frozen(tree.shared),
        missed=frozen(tree.missed),
        false=frozen(tree.false),
        entered=frozen(tree.false[leaf]),
        first=frozen(first, np.uint32),
        end=frozen(first + below, np.uint32),
        top=frozen(top[leaf], np.uint32),
    )


@helper()
def sum_subtrees(tree: ClassTree | OrderedTree, scores: Array, sums: Array) -> None:
    """Compute the sum of the scores <u_y, x> below each node."""
    for z in range(np.uint32(sums.size)):
        sums[z] = 0.0
    for c in range(np.uint32(scores.size)):
        sums[tree.leaf[c]] = scores[c]
    for back in range(np.uint32(1), np.uint32(sums.size)):
        last: Any = np.uint32(sums.size) - back
        sums[tree.parent[last]] += sums[last]


@helper()
def come_down(tree: ClassTree | OrderedTree, sums: Array, totals: Array) -> None:
    """Compute node totals from node sums; F(x, y) = r_y totals[leaf of y]."""
    totals[0] = 0.0
    for z in range(np.uint32(1), np.uint32(sums.size)):
        totals[z] = totals[tree.parent[z]] + tree.weight[z] * sums[z]


@helper()
def last_in_common(tree: ClassTree | OrderedTree, c: Any, other: Any) -> Any:
    """Return the last node that the paths of two classes share."""
    one, two = tree.leaf[c], tree.leaf[other]
    while one != two:
        if one > two:
            one = tree.parent[one]
        else:
            two = tree.parent[two]
    return one


@helper()
def alike(tree: ClassTree | OrderedTree, c: Any, other: Any) -> Any:
    """Return <L(c), L(other)>."""
    return tree.scale[c] * tree.scale[other] * tree.shared[last_in_common(tree, c, other)]


@helper()
def cost_beyond(tree: OrderedTree, y: Any, c: Any, last: Any) -> Any:
    """Return the cost of predicting class c for y; `last` is the last node that their paths share."""
    return tree.missed[tree.leaf[y]] - tree.missed[last] + tree.entered[c] - tree.false[last]
