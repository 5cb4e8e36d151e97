"""How far the training of all classes at once has come: the objective of the dual, and how many duals there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk.kernels.edges import as_edges
from harness.sdk.kernels.rows import Rows
from harness_svm.kernels.class_tree import ClassTree, OrderedTree

BLOCK_NUMBERS = 2**22
"""Weights are looked at in blocks of so many numbers, lest a copy of all of them is made."""


def dual_objective(duals: Rows, weights: Any, labels: NDArray[np.int32], tree: ClassTree | OrderedTree) -> float:
    """sum_iy cost_iy b_iy - ||w||^2 / 2, from the duals and the weights as they are kept."""
    edges = as_edges(duals)
    costs = pair_costs(tree, labels[edges.features], edges.classes)
    return float(costs @ edges.weights) - squared_length(weights, tree) / 2


def share_of_duals(duals: Rows, n_classes: int) -> float:
    """The share of all pairs of a row and a class other than its own that have a dual above 0."""
    pairs = duals.length.size * (n_classes - 1)
    return duals.n_edges / max(1, pairs)


def pair_costs(tree: ClassTree | OrderedTree, true: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    """What it costs to take each of the other classes for the true one beside it."""
    one, two = tree.leaf[true], tree.leaf[other]
    missed, false = tree.missed[one], tree.false[two]
    apart = one != two
    while apart.any():  # parents come ahead of their children: the one behind goes up, until both meet
        behind = one > two
        one = np.where(apart & behind, tree.parent[one], one)
        two = np.where(apart & ~behind, tree.parent[two], two)
        apart = one != two
    costs: NDArray[np.float64] = missed - tree.missed[one] + false - tree.false[one]
    return costs


def squared_length(weights: Any, tree: ClassTree | OrderedTree) -> float:
    """||w||^2, where w_z is sqrt(m_z) times the sum of the vectors of the classes below z."""
    below = class_paths(tree)
    total = 0.0
    for block in _blocks(weights, tree):
        sums = block @ below
        total += float(sums.power(2).sum(axis=0) @ tree.weight)
    return total


def class_paths(tree: ClassTree | OrderedTree) -> csr_array:
    """Classes x nodes: 1 where the node is on the path of the class, the root left out."""
    classes, nodes = [], []
    here, at = np.arange(tree.leaf.size), tree.leaf.astype(np.int64)
    while here.size:
        here, at = here[at > 0], at[at > 0]
        classes.append(here)
        nodes.append(at)
        at = tree.parent[at].astype(np.int64)
    places = np.concatenate(classes), np.concatenate(nodes)
    return csr_array((np.ones(places[0].size), places), shape=(tree.leaf.size, tree.parent.size))


def _blocks(weights: Any, tree: ClassTree | OrderedTree) -> Iterator[csr_array]:
    """The weights, some features at a time, as sparse matrices."""
    if isinstance(weights, Rows):
        indptr, classes, values = as_edges(weights)
        shape = (indptr.size - 1, tree.leaf.size)
        yield csr_array((values.astype(np.float64), classes.astype(np.int64), indptr), shape=shape)
        return
    height = max(1, BLOCK_NUMBERS // tree.parent.size)
    for start in range(0, len(weights), height):
        yield csr_array(weights[start : start + height])
