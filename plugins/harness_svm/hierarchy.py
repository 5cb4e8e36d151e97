"""Class trees for the learners: only nodes above classes of the training data, and each class a leaf.

In a taxonomy whose nodes have several parents, the tree follows the first ones. `lattice_nodes` follows all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from sklearn.preprocessing import normalize

from harness import Taxonomy
from harness.errors import DataError
from harness.sdk.kernels.instances import Labels
from harness.sdk.outcomes import class_ancestors

SOURCES = ("cluster",)
LEAVES = 10
"""Maximum number of classes in a cluster that is not split further."""
MOST_ROUNDS = 20


@dataclass(frozen=True)
class Hierarchy:
    """A class tree. Node 0 is the root, parents precede their children, and the children of a node are neighbours."""

    parent: NDArray[np.int64]
    leaf: NDArray[np.int64]
    """By class."""
    origin: NDArray[np.int64]
    """By node: the node of the taxonomy that it represents; -1 in a learned tree."""

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """By node: True for leaves."""
        marks = np.zeros(self.parent.size, np.bool_)
        marks[self.leaf] = True
        return marks


def choose_hierarchy(
    source: str | None, taxonomy: Taxonomy | None, X: csr_array, labels: Labels, classes: NDArray[Any], seed: int
) -> Hierarchy:
    """Return the tree of the dataset, or a learned one if it is requested or there is no other.

    Parameters
    ----------
    source : str or None
        "cluster" to learn a tree; None to use the taxonomy.
    taxonomy : Taxonomy or None
        The tree of the dataset, if any.
    X : csr_array of shape (n_rows, n_features)
        Training rows.
    labels : Labels
        Positions of the classes of each row.
    classes : ndarray
        The classes by position.
    seed : int
        Seed of the clusters.
    """
    if source is None and taxonomy is not None:
        return from_taxonomy(taxonomy, classes)
    if source is None:
        warnings.warn(
            "no class tree: classes are clustered into one. Pass fit(X, y, taxonomy=harness.Taxonomy(...)), or set "
            'taxonomy="cluster" to silence this warning.',
            UserWarning,
            stacklevel=4,
        )
    return cluster(X, labels, classes.size, seed)


def from_given(taxonomy: Taxonomy | None, classes: NDArray[Any], otherwise: str) -> Hierarchy:
    """Return the tree of a taxonomy above these classes; `otherwise` names the alternative in the error message."""
    if taxonomy is None:
        raise DataError(
            "this learner needs a class tree and the data has none: pass fit(X, y, taxonomy=harness.Taxonomy(...)), "
            f"or let it learn one with {otherwise}"
        )
    return from_taxonomy(taxonomy, classes)


def from_taxonomy(taxonomy: Taxonomy, classes: NDArray[Any]) -> Hierarchy:
    """Return the part of a taxonomy above these classes, which are positions in it, along first parents.

    A class gets a separate leaf if other classes are below its node or share it.
    """
    check_positions(taxonomy, classes)
    nodes = taxonomy.class_node[classes]
    kept: set[int] = set()
    above = np.unique(nodes)
    while above.size:
        kept.update(above.tolist())
        above = np.setdiff1d(taxonomy.parent[above], [-1, *kept])
    children: dict[int, list[tuple[int, int]]] = {node: [] for node in kept}
    (root,) = [node for node in kept if taxonomy.parent[node] < 0]
    for node in sorted(kept):
        if node != root:
            children[int(taxonomy.parent[node])].append((node, -1))
    owners = np.bincount(nodes, minlength=taxonomy.parent.size)
    single: dict[int, int] = {}
    for position, node in enumerate(nodes.tolist()):
        if children[node] or owners[node] > 1 or node == root:
            children[node].append((node, position))
        else:
            single[node] = position
    return _number(root, children, single, classes.size)


class LatticeNodes(NamedTuple):
    """The nodes above some classes. Each class has its own leaf among them."""

    of_class: csr_array
    """classes x nodes: 1 for the leaf of a class and for each node above it, without the root."""
    is_leaf: NDArray[np.bool_]
    """By node."""
    origin: NDArray[np.int64]
    """By node: the node of the taxonomy that it represents."""


def lattice_nodes(taxonomy: Taxonomy, classes: NDArray[Any]) -> LatticeNodes:
    """Return the nodes above these classes, which are positions in the taxonomy, along all parents.

    A class gets a separate leaf if other classes are below its node or share it.
    """
    check_positions(taxonomy, classes)
    above, own = class_ancestors(taxonomy)[classes], taxonomy.class_node[classes]
    below = np.bincount(above.indices, minlength=taxonomy.parent.size)
    extra = np.flatnonzero(below[own] != 1)  # 0 for a class at the root
    kept = np.flatnonzero(below)
    leaves = csr_array((np.ones(extra.size), (extra, np.arange(extra.size))), shape=(classes.size, extra.size))
    is_leaf = np.append(np.isin(kept, np.delete(own, extra)), np.ones(extra.size, np.bool_))
    return LatticeNodes(csr_array(hstack([above[:, kept], leaves])), is_leaf, np.append(kept, own[extra]))


def check_positions(taxonomy: Taxonomy, classes: NDArray[Any]) -> None:
    """Raise DataError unless the classes are positions in the taxonomy."""
    known = taxonomy.class_node.size
    if classes.dtype.kind not in "iu" or classes.min() < 0 or classes.max() >= known:
        raise DataError(
            f"the taxonomy places the classes 0 to {known - 1}, and y names {classes[:3].tolist()} ...: "
            "y must hold class positions"
        )


def _number(root: int, children: dict[int, list[tuple[int, int]]], single: dict[int, int], n_classes: int) -> Hierarchy:
    """Number the nodes level by level; a child (node, class) is a leaf of that class unless the class is -1."""
    parent, origin, leaf = [0], [root], np.zeros(n_classes, np.int64)
    queue = [(0, root)]
    for number, node in queue:  # the loop appends to it
        for child, position in children[node]:
            own = single.get(child, -1) if position < 0 else position
            if own >= 0:
                leaf[own] = len(parent)
            else:
                queue.append((len(parent), child))
            parent.append(number)
            origin.append(child)
    return Hierarchy(np.array(parent), leaf, np.array(origin))


def cluster(
    X: csr_array, labels: Labels, n_classes: int, seed: int, fanout: int = 2, leaf_classes: int = LEAVES
) -> Hierarchy:
    """Return a tree by balanced 2-means of the classes' mean directions, as in Parabel (Prabhu and others, WWW 2018).

    A cluster is halved repeatedly into `fanout` children. A cluster of at most `leaf_classes` classes has these as its
    children.
    """
    n_rows = X.shape[0]
    row_of = np.repeat(np.arange(n_rows), np.diff(labels.indptr))
    members = csr_array((np.ones(row_of.size), (labels.indices, row_of)), shape=(n_classes, n_rows))
    centres = csr_array(normalize(members @ X.astype(np.float64)))
    random = np.random.default_rng(seed)
    parent, leaf = [0], np.zeros(n_classes, np.int64)
    queue = [(0, np.arange(n_classes))]
    for number, classes in queue:  # the loop appends to it
        if classes.size <= leaf_classes:
            leaf[classes] = len(parent) + np.arange(classes.size)
            parent += [number] * classes.size
        else:
            for part in divide(centres, classes, fanout, random):
                queue.append((len(parent), part))
                parent.append(number)
    return Hierarchy(np.array(parent), leaf, np.full(len(parent), -1))


def divide(
    centres: csr_array, classes: NDArray[np.int64], n_parts: int, random: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return the classes in `n_parts` clusters, a power of two, or in one cluster per class if there are fewer."""
    if n_parts == 1 or classes.size == 1:
        return [classes]
    parts = []
    for half in halve(centres[classes], random):
        parts += divide(centres, classes[half], n_parts // 2, random)
    return parts


def halve(centres: csr_array, random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two equal halves; each class is nearer to the mean direction of its own half."""
    n = centres.shape[0]
    first, second = random.choice(n, 2, replace=False)
    means, middle, last = centres[[first, second]].toarray(), n // 2, -np.inf
    halves = (np.arange(middle), np.arange(middle, n))
    for _ in range(MOST_ROUNDS):
        likeness = centres @ means.T
        order = np.argsort(likeness[:, 1] - likeness[:, 0], kind="stable")
        halves = (np.sort(order[:middle]), np.sort(order[middle:]))
        total = likeness[halves[0], 0].sum() + likeness[halves[1], 1].sum()
        if total <= last * (1 + 1e-4):
            break
        means, last = normalize(np.stack([centres[half].sum(axis=0) for half in halves])), total
    return halves
