"""What the top-down learners share: at each node of a class tree a flat learner chooses among the children."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from harness import Taxonomy
from harness.sdk.kernels.arrays import frozen
from harness.sdk.kernels.edges import Edges
from harness.sdk.kernels.instances import Instances, Labels, as_instances
from harness.sdk.kernels.rows import empty_rows
from harness_svm.classifier import IndexClassifier
from harness_svm.hierarchy import Hierarchy, choose_hierarchy
from harness_svm.kernels.descent import Branches, rank_by_descent


class Choice(NamedTuple):
    """What chooses at one node: the features that it knows, their edges to its children by number, and biases."""

    features: NDArray[np.int64]
    edges: Edges
    bias: NDArray[np.float64]


class TopDown(IndexClassifier):
    """A class tree with a flat learner at each node; a learner supplies `_learn`.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    branches_ : the tree with the weights of its nodes, a `harness_svm.kernels.descent.Branches`.
    index_size_, index_bytes_ : non-zero weights, and the bytes that the tree takes.
    n_features_in_ : the number of features.
    """

    records: ClassVar[Mapping[str, type[tuple[Any, ...]]]] = {"branches_": Branches}

    taxonomy: str | None
    branches_: Branches

    @abstractmethod
    def _learn(self, instances: Instances, labels: Labels, n_features: int, n_children: int, seed: int) -> Choice:
        """Learn to choose among the children of one node, from the rows below it."""

    def fit(self, X: Any, y: ArrayLike, *, taxonomy: Taxonomy | None = None) -> Self:
        """Train from nothing; y holds class positions where a taxonomy is given."""
        X, labels = self._begin(X, y)
        seed = self._seed()
        hierarchy = choose_hierarchy(self.taxonomy, taxonomy, X, labels.indices, self.classes_, seed)
        at = hierarchy.leaf[labels.indices]  # where each row is, on its way up to the root
        below: dict[int, list[tuple[NDArray[np.int64], NDArray[np.int64]]]] = {}
        rows = np.arange(at.size)
        while rows.size:
            above = hierarchy.parent[at]
            for z in np.unique(above).tolist():
                here = above == z
                below.setdefault(z, []).append((rows[here], at[here]))
            up = above > 0
            rows, at = rows[up], above[up]
        child = first_children(hierarchy)
        choices = {}
        for z, parts in below.items():
            if child[z + 1] - child[z] > 1:
                below_z, to = (np.concatenate(part) for part in zip(*parts, strict=True))
                order = np.argsort(below_z, kind="stable")
                choices[z] = self._choose(
                    X[below_z[order]], to[order] - child[z], child[z + 1] - child[z], (seed + z) % 2**31
                )
        self.branches_ = assemble(hierarchy, child, choices)
        self.base_ = np.zeros(self.classes_.size)
        self.rows_ = empty_rows(self.n_features_in_, 0)
        return self

    def _choose(self, X: csr_array, labels: NDArray[np.int64], n_children: int, seed: int) -> Choice:
        features, places = np.unique(X.indices, return_inverse=True)
        narrow = csr_array((X.data, places, X.indptr), shape=(X.shape[0], max(1, features.size)))
        by_row = Labels(frozen(np.arange(labels.size + 1), np.int64), frozen(labels, np.int32))
        found = self._learn(as_instances(narrow), by_row, features.size, n_children, seed)
        return found._replace(features=features)

    def _ranks(self, instances: Instances, k: int) -> NDArray[np.int32]:
        return rank_by_descent(self.branches_, instances, k)[0]

    @property
    def index_size_(self) -> int:
        """The number of stored weights, none of them 0."""
        return super().index_size_ + self.branches_.weights.size

    def edges_touched(self, X: Any) -> float:
        """Edges read per active feature on the way to one class; features that no node knows count, with no edge."""
        instances = self._known_instances(X)
        active = int(np.count_nonzero(instances.data))
        return rank_by_descent(self.branches_, instances, 1)[1] / active if active else 0.0

    def _check_restored(self, edges: Edges) -> None:
        super()._check_restored(edges)
        child, own, _, first, features, edge, children, weights = self.branches_
        wanted = [np.uint32, np.int32, np.float64, np.uint32, np.uint32, np.int64, np.uint32, np.float32]
        nodes = own.size
        sizes = [nodes + 1, nodes, nodes, nodes + 1, features.size, features.size + 1, weights.size, weights.size]
        if [array.dtype for array in self.branches_] != wanted or [array.size for array in self.branches_] != sizes:
            raise ValueError("branches_ does not fit")
        ascending = all(np.all(np.diff(array.astype(np.int64)) >= 0) for array in (child, first, edge))
        ends = child[-1] <= nodes and first[-1] == features.size and edge[-1] == weights.size
        inner = own < 0
        if not (ascending and ends and np.all(child[:-1][inner] > np.flatnonzero(inner)) and np.all(children < nodes)):
            raise ValueError("branches_ is no tree")
        if np.any(own >= self.classes_.size) or np.any(child[1:][inner] <= child[:-1][inner]):
            raise ValueError("branches_ leads nowhere")


def first_children(hierarchy: Hierarchy) -> NDArray[np.int64]:
    """By node, and one more: its first child; those of a leaf begin where they end."""
    counts = np.bincount(hierarchy.parent[1:], minlength=hierarchy.parent.size)
    return 1 + np.concatenate([[0], np.cumsum(counts)])


def assemble(hierarchy: Hierarchy, child: NDArray[np.int64], choices: Mapping[int, Choice]) -> Branches:
    """All choices of a tree, one behind the other in the order of the nodes."""
    nodes = hierarchy.parent.size
    own, base = np.full(nodes, -1, np.int32), np.zeros(nodes)
    own[hierarchy.leaf] = np.arange(hierarchy.leaf.size)
    order = sorted(choices)
    known, lengths = np.zeros(nodes, np.int64), [np.zeros(0, np.int64)]
    for z in order:
        base[child[z] : child[z + 1]] = choices[z].bias
        known[z] = choices[z].features.size
        lengths.append(np.diff(choices[z].edges.indptr)[: known[z]])

    def joined(parts: list[Any], dtype: Any) -> NDArray[Any]:
        return frozen(np.concatenate([np.zeros(0, dtype), *parts]), dtype)

    return Branches(
        child=frozen(child, np.uint32),
        own=frozen(own),
        base=frozen(base),
        first=frozen(np.concatenate([[0], np.cumsum(known)]), np.uint32),
        features=joined([choices[z].features for z in order], np.uint32),
        edge=frozen(np.concatenate([[0], np.cumsum(np.concatenate(lengths))]), np.int64),
        children=joined([choices[z].edges.classes + np.uint32(child[z]) for z in order], np.uint32),
        weights=joined([choices[z].edges.weights for z in order], np.float32),
    )
