"""Views of an outcome for metrics, figures and the page: by class, by level of the taxonomy, by confidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from harness.host.contract import Outcome, Taxonomy

Nodes = NDArray[np.int64]
AT_THE_ROOT = -2
"""Node of a class at the root, which is below no level."""


def tree_from_parents(
    root: str,
    parents: Mapping[Any, Any],
    class_nodes: Sequence[Any],
    names: Sequence[str] | None = None,
    more: Iterable[tuple[Any, Any]] = (),
) -> Taxonomy:
    """Return the taxonomy with these nodes below its root, in the order of the mapping.

    Parameters
    ----------
    root : str
        Name of the root, which is node 0.
    parents : mapping
        Parent of each node. A node whose parent is not a key of the mapping is a child of the root.
    class_nodes : sequence
        Node of each class.
    names : sequence of str or None, default=None
        Name of each node. By default the nodes are strings and name themselves.
    more : iterable of tuple, default=()
        Pairs of a node and a further parent of it.

    Returns
    -------
    Taxonomy
        The tree, with the node of each class; a lattice if there are further parents.
    """
    number = {node: position for position, node in enumerate(parents, 1)}
    parent = [-1, *(number.get(above, 0) for above in parents.values())]
    placed = [number.get(node, 0) for node in class_nodes]
    node_names = (root, *(parents if names is None else names))
    pairs = [(number[node], number.get(above, 0)) for node, above in more]
    more_parents = np.array(pairs, dtype=np.int64) if pairs else None
    return Taxonomy(np.array(parent, dtype=np.int64), np.array(placed, dtype=np.int64), node_names, more_parents)


def class_paths(taxonomy: Taxonomy) -> Nodes:
    """Return the path of each class in the taxonomy, along first parents.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy.

    Returns
    -------
    ndarray of int, shape (n_classes, depth)
        Nodes from below the root to the class; -1 pads.
    """
    parent, node = np.asarray(taxonomy.parent, np.int64), np.asarray(taxonomy.class_node, np.int64)
    upwards = []  # the path from the class up, column by column
    while (inside := (node >= 0) & (parent[node] >= 0)).any():
        upwards.append(np.where(inside, node, -1))
        node = np.where(inside, parent[node], -1)
    if not upwards:
        return np.empty((len(node), 0), np.int64)
    paths = np.stack(upwards, axis=1)[:, ::-1]
    order = np.argsort(paths < 0, axis=1, kind="stable")  # pads of shallow classes come first: move them to the end
    return np.take_along_axis(paths, order, axis=1)


def class_ancestors(taxonomy: Taxonomy) -> csr_array:
    """Return the node of each class and all nodes above it, along all parents.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy.

    Returns
    -------
    csr_array of shape (n_classes, n_nodes)
        1 for the node of the class and for its ancestors, without the root; sorted by node.
    """
    class_node, n_nodes = np.asarray(taxonomy.class_node, np.int64), len(taxonomy.parent)
    root = np.flatnonzero(np.asarray(taxonomy.parent) < 0)
    nodes, parents = taxonomy.edges()
    below = ~np.isin(parents, root)
    up = csr_array((np.ones(below.sum()), (nodes[below], parents[below])), shape=(n_nodes, n_nodes))
    here = np.flatnonzero(~np.isin(class_node, root))
    reached = csr_array((np.ones(here.size), (here, class_node[here])), shape=(class_node.size, n_nodes))
    found = reached
    while reached.nnz:
        reached = csr_array(reached @ up)
        found = csr_array(found + reached)
        for matrix in (reached, found):
            matrix.data[:] = 1
    found.sort_indices()
    return found


def nodes_by_level(taxonomy: Taxonomy) -> list[Nodes]:
    """Return the nodes of each class at each level of the taxonomy, from below the root to the deepest class.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy. The level of a node is the length of its longest path from the root.

    Returns
    -------
    list of ndarray of int, each of shape (n_classes, most_nodes)
        In a tree one node for each class, in a lattice possibly several, padded by -1. A class above the level has its
        own node, a class at the root `AT_THE_ROOT`.
    """
    if taxonomy.is_tree:
        paths = class_paths(taxonomy)
        return [_at_level(paths, level)[:, np.newaxis] for level in range(1, paths.shape[1] + 1)]
    levels, class_node = taxonomy.levels(), np.asarray(taxonomy.class_node, np.int64)
    own = levels[class_node]
    pairs = class_ancestors(taxonomy).tocoo()
    found = []
    for level in range(1, int(own.max(initial=0)) + 1):
        inside = (levels[pairs.col] == level) | ((pairs.col == class_node[pairs.row]) & (own[pairs.row] < level))
        found.append(pad_groups(pairs.row[inside], pairs.col[inside], class_node.size))
    return found


def pad_groups(classes: Nodes, nodes: Nodes, n_classes: int) -> Nodes:
    """Return the nodes of each class from pairs of a class and a node.

    Parameters
    ----------
    classes, nodes : ndarray of int
        The pairs.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of int, shape (n_classes, most_nodes)
        Padded by -1; `AT_THE_ROOT` for a class without a node.
    """
    order = np.argsort(classes, kind="stable")
    classes, nodes = classes[order], nodes[order]
    counts = np.bincount(classes, minlength=n_classes)
    table = np.full((n_classes, max(1, int(counts.max(initial=0)))), -1, np.int64)
    table[counts == 0, 0] = AT_THE_ROOT
    table[classes, np.arange(classes.size) - np.repeat(np.cumsum(counts) - counts, counts)] = nodes
    return table


def share_group(groups: Nodes, one: Nodes, other: Nodes) -> NDArray[np.bool_]:
    """Return whether two classes have a node in common.

    Parameters
    ----------
    groups : ndarray of int, shape (n_classes, most_nodes)
        The nodes of each class, padded by -1.
    one, other : ndarray of int
        The classes of each pair.
    """
    first, second = groups[one], groups[other]
    alike = (first[:, :, np.newaxis] == second[:, np.newaxis, :]) & (first != -1)[:, :, np.newaxis]
    return np.asarray(alike.any(axis=(1, 2)))


def _at_level(paths: Nodes, level: int) -> Nodes:
    """Return the node of each class at a level of a tree: its own node if it is above the level."""
    shown = paths[:, :level]
    deepest = np.where(shown >= 0, np.arange(level), -1).max(axis=1)
    return np.where(deepest >= 0, shown[np.arange(len(shown)), deepest], AT_THE_ROOT)


@dataclass(frozen=True)
class FrequencyBin:
    """Test rows of classes with a similar number of training rows: from a power of two to below the next."""

    least: int
    """The power of two."""
    frequency: float
    """Mean number of training rows of the class of a test row."""
    rows: int
    right: int


@dataclass(frozen=True)
class Confusion:
    """A class that was confused with another."""

    truth: str
    answer: str
    """Empty if no class was predicted."""
    rows: int


@dataclass(frozen=True)
class ByClass:
    """Errors of the first-ranked classes of a trial."""

    by_frequency: tuple[FrequencyBin, ...]
    by_level: tuple[float, ...]
    """Share of correct rows at each level, from below the root; empty without a taxonomy."""
    confusions: tuple[Confusion, ...]
    """All pairs that occurred."""
    class_rows: dict[str, int]
    """Number of test rows by class."""


def by_class(outcome: Outcome, class_names: tuple[str, ...]) -> ByClass | None:
    """Return the errors of a trial by class.

    Parameters
    ----------
    outcome : Outcome
        Ranks and true classes of the test rows.
    class_names : tuple of str
        Name of each class.

    Returns
    -------
    ByClass or None
        None for multi-label data, and if no row has a label.
    """
    if issparse(outcome.truth):
        return None
    truth = np.asarray(outcome.truth, np.int64)
    labelled = truth >= 0
    if not labelled.any():
        return None
    truth, answer = truth[labelled], outcome.ranks[labelled, 0].astype(np.int64)
    by_level: list[float] = []
    if outcome.taxonomy is not None:
        for groups in nodes_by_level(outcome.taxonomy):
            by_level.append(float(np.mean((answer >= 0) & share_group(groups, answer, truth))))
    return ByClass(
        by_frequency=_bins(truth, answer, outcome.train_class_counts),
        by_level=tuple(by_level),
        confusions=_confusions(truth, answer, class_names),
        class_rows=_rows_by_class(truth, class_names),
    )


def _bins(truth: NDArray[np.int64], answer: NDArray[np.int64], seen: NDArray[np.int64]) -> tuple[FrequencyBin, ...]:
    """Return the groups of classes with training rows; rows of other classes cannot be right."""
    frequency = seen[truth]
    exponent = np.floor(np.log2(np.maximum(frequency, 1))).astype(np.int64)
    bins = []
    for power in np.unique(exponent[frequency > 0]):
        inside = (exponent == power) & (frequency > 0)
        right = int((truth[inside] == answer[inside]).sum())
        bins.append(FrequencyBin(2 ** int(power), float(frequency[inside].mean()), int(inside.sum()), right))
    return tuple(bins)


def _confusions(truth: NDArray[np.int64], answer: NDArray[np.int64], names: tuple[str, ...]) -> tuple[Confusion, ...]:
    wrong = truth != answer
    pairs, counts = np.unique(np.stack([truth[wrong], answer[wrong]], axis=1), axis=0, return_counts=True)
    confusions = []
    for (true, named), count in zip(pairs.tolist(), counts.tolist(), strict=True):
        confusions.append(Confusion(names[true], names[named] if named >= 0 else "", count))
    return tuple(confusions)


def _rows_by_class(truth: NDArray[np.int64], names: tuple[str, ...]) -> dict[str, int]:
    there, counts = np.unique(truth, return_counts=True)
    return {names[true]: count for true, count in zip(there.tolist(), counts.tolist(), strict=True)}


@dataclass(frozen=True)
class RiskCurve:
    """Error rates among the most confident rows: an entry for the first row, the first two, and so on."""

    coverage: NDArray[np.float64]
    """Coverage: shares of all rows."""
    risk: NDArray[np.float64]
    """Share of errors among them; errors are spread evenly over rows of equal confidence."""
    is_threshold: NDArray[np.bool_]
    """True if a threshold can select just these rows: it cannot separate rows of equal confidence."""


def gaps_of(ranks: NDArray[np.int32], scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the confidence of each row: the score of the first class minus that of the second.

    Parameters
    ----------
    ranks : ndarray of int32, shape (n_rows, k)
        Ranked classes; -1 pads.
    scores : ndarray of float32, shape (n_rows, at least 2)
        Scores of the ranked classes.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        Gaps; -inf for a row without ranks.
    """
    wide = scores.astype(np.float64)
    return np.where(ranks[:, 0] >= 0, wide[:, 0] - wide[:, 1], -np.inf)


def risk_curve(gaps: NDArray[np.float64], wrong: NDArray[np.bool_]) -> RiskCurve:
    """Return error rates among the most confident rows.

    Parameters
    ----------
    gaps : ndarray of float64, shape (n_rows,)
        Confidence of each row, for at least one row.
    wrong : ndarray of bool, shape (n_rows,)
        Whether the first class of the row is wrong.

    Returns
    -------
    RiskCurve
        Entry i covers the i + 1 most confident rows. Ties are averaged.
    """
    order = np.argsort(-gaps, kind="stable")
    _, group = np.unique(-gaps[order], return_inverse=True)
    spread = (np.bincount(group, weights=wrong[order]) / np.bincount(group))[group]
    taken = np.arange(1, len(order) + 1)
    is_threshold = np.append(np.diff(group) > 0, True)
    return RiskCurve(taken / len(order), np.cumsum(spread) / taken, is_threshold)
