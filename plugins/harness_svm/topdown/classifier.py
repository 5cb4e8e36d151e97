"""Base of the top-down learners: at each node of a class tree, a flat learner chooses among the children."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from harness import Taxonomy
from harness.errors import DataError
from harness.sdk import saving
from harness.sdk.classifier import Classifier, Matrix, SearchScores
from harness.sdk.contributions import Contributions, collect_parts, share_along
from harness.sdk.kernels.edges import Edges
from harness.sdk.kernels.instances import Instances, Labels, as_instances, frozen
from harness.sdk.threads import in_threads
from harness_svm.hierarchy import Hierarchy, choose_hierarchy
from harness_svm.linear import draw_seed
from harness_svm.topdown.kernels.branches import Branches

SAMPLE_OF_TREES = 0.07
"""Share of the rows that choose the cost: less than of flat learners, since parts of the work depend on the classes."""
MOST_NODE_SCORES = 4_000_000
"""Maximum number of node scores in memory at a time."""


class Choice(NamedTuple):
    """The classifier of one node: its features, their edges to numbered children, and biases."""

    features: NDArray[np.int64]
    edges: Edges
    bias: NDArray[np.float64]


class TreeTraining(NamedTuple):
    """What a tree is trained on."""

    rows: csr_array
    labels: Labels
    """Positions in `seen`."""
    seen: NDArray[np.int32]
    """The classes that have a row, by their position in `classes_`."""
    taxonomy: Taxonomy | None
    seed: int


class NodeTraining(NamedTuple):
    """What the classifier of one node is trained on."""

    instances: Instances
    """The rows below the node, with the features that occur in them."""
    labels: Labels
    """The children that lead to the labels of each row."""
    n_features: int
    n_children: int
    seed: int


class Below(NamedTuple):
    """The training rows below a node, in their order, and for each row the children that lead to its labels."""

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    """The children of row number r are `children[starts[r]:starts[r + 1]]`; a single one if each row has one label."""
    children: NDArray[np.int64]


class TopDown(SearchScores, Classifier):
    """A class tree with a flat learner at each node. A subclass implements `_learn`.

    A row with several labels goes down every branch with one of them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    branches_ : Branches
        The tree with the weights of its nodes, a `harness_svm.topdown.kernels.branches.Branches`.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of the tree.
    """

    takes_several: ClassVar[bool] = True
    learned: ClassVar[str] = "branches_"
    records: ClassVar[Mapping[str, saving.RecordClass]] = {"branches_": Branches}

    taxonomy: str | None
    random_state: int | np.random.RandomState | None
    branches_: Branches

    @abstractmethod
    def _learn(self, node: NodeTraining, costs: Sequence[float]) -> list[Choice]:
        """Learn to choose among the children of one node, from the rows below it, at each cost."""

    def fit(self, X: Matrix, y: ArrayLike, *, taxonomy: Taxonomy | None = None) -> Self:
        """Train from scratch.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            Training rows.
        y : array of shape (n_rows,) or (n_rows, n_classes)
            Class of each row, or an indicator matrix. If there is a taxonomy, the positions of the classes in it.
        taxonomy : Taxonomy or None, default=None
            The tree of the classes.

        Returns
        -------
        self : TopDown
            The fitted learner.

        Raises
        ------
        DataError
            If no row of y has a label.
        """
        rows, labels = self._begin(X, y)
        seed = draw_seed(self.random_state)
        if not labels.indices.size:
            raise DataError("no row of y has a label: expected at least one")
        cost = self._settle_cost(rows, labels, seed, taxonomy)
        (fitted,) = self._train_path(rows, labels, [cost], seed, taxonomy=taxonomy)
        return fitted

    def _settle_cost(self, rows: csr_array, labels: Labels, seed: int, taxonomy: Taxonomy | None) -> float:
        """Return the cost to train at; learners without a cost ignore it."""
        return 1.0

    def _train_path(
        self, rows: csr_array, labels: Labels, costs: Sequence[float], seed: int, *, taxonomy: Taxonomy | None = None
    ) -> Iterator[Self]:
        """Yield the learner after training at each cost."""
        seen, places = np.unique(labels.indices, return_inverse=True)
        labels = labels._replace(indices=frozen(places, np.int32))  # a column of y may have no row: it gets no leaf
        for branches in self._train(TreeTraining(rows, labels, seen, taxonomy, seed), costs):
            self.branches_ = branches
            self._prepare_search()
            yield self

    def _prepare_search(self) -> None:
        """Set the attributes that follow from `branches_`; most searches need none."""

    def _train(self, tree: TreeTraining, costs: Sequence[float]) -> list[Branches]:
        """Return the tree over the classes in `seen`, trained at each cost."""
        hierarchy = self._grow_hierarchy(tree)
        child = first_children(hierarchy)
        below = rows_below(hierarchy, tree.labels)

        def choose(z: int) -> list[Choice]:
            numbers = Labels(frozen(below[z].starts, np.int64), frozen(below[z].children - child[z], np.int32))
            n_children = int(child[z + 1] - child[z])
            return self._choose(tree.rows[below[z].rows], numbers, n_children, (tree.seed + z) % 2**31, costs)

        nodes = [z for z in below if child[z + 1] - child[z] > 1]
        nodes.sort(key=lambda z: -below[z].rows.size * int(child[z + 1] - child[z]))  # the longest first
        paths = in_threads(choose, nodes)
        trees = []
        for number in range(len(costs)):
            choices = {z: path[number] for z, path in zip(nodes, paths, strict=True)}
            trees.append(assemble(hierarchy, tree.seen, child, choices))
        return trees

    def _grow_hierarchy(self, tree: TreeTraining) -> Hierarchy:
        """Return the tree above the classes that have a row."""
        classes = self.classes_[tree.seen]
        return choose_hierarchy(self.taxonomy, tree.taxonomy, tree.rows, tree.labels, classes, tree.seed)

    def _choose(self, X: csr_array, labels: Labels, n_children: int, seed: int, costs: Sequence[float]) -> list[Choice]:
        """Learn from rows with the features of this node only, so its cost depends on these alone."""
        features, places = np.unique(X.indices, return_inverse=True)
        narrow = csr_array((X.data, places, X.indptr), shape=(X.shape[0], max(1, features.size)))
        found = self._learn(NodeTraining(as_instances(narrow), labels, features.size, n_children, seed), costs)
        return [choice._replace(features=features) for choice in found]

    # -- asking

    def _rank(self, X: csr_array, k: int) -> NDArray[np.int32]:
        ranked, _ = self._search(as_instances(X), k)
        return ranked

    @abstractmethod
    def _search(self, instances: Instances, k: int) -> tuple[NDArray[np.int32], int]:
        """Return the k best classes of each instance, best first, -1 pads; and the number of edges read."""

    def _judge_steps(self, scores: NDArray[np.float64], is_only_child: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the score of the step to each node: log sigma(score), where score is <w, x> + bias."""
        return -np.logaddexp(0.0, -scores)

    def _score_pairs(self, rows: csr_array, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the score of the path to each class: the sum over its nodes, as in the search."""
        tree = self.branches_
        n_nodes = tree.own.size
        leaf = np.full(self.classes_.size, -1, np.int64)
        leaf[tree.own[tree.own >= 0]] = np.flatnonzero(tree.own >= 0)
        weights = node_weights(tree, self.n_features_in_)
        found = np.empty(ranks.shape)
        for start in range(0, rows.shape[0], max(1, MOST_NODE_SCORES // n_nodes)):
            part = slice(start, start + max(1, MOST_NODE_SCORES // n_nodes))
            scores = (rows[part].astype(np.float64) @ weights).toarray() + tree.base
            paths = self._add_paths(scores)
            at = leaf[np.maximum(ranks[part], 0)]
            found[part] = np.where(at >= 0, np.take_along_axis(paths, np.maximum(at, 0), axis=1), -np.inf)
        return found

    def _explain_pairs(self, rows: csr_array, ranks: NDArray[np.int32]) -> Contributions:
        """Share what each step of a path adds among the features, in proportion to their parts in its score.

        Of several trees, each one counts by its share of the mean probability of the class.
        """
        tree, parent = self.branches_, self._parents()
        weights = node_weights(tree, self.n_features_in_)
        is_only = np.append(False, np.diff(tree.child.astype(np.int64))[parent[1:]] == 1)
        parent[self._roots()] = -1

        def parts_of(
            features: NDArray[np.int32], values: NDArray[np.float64], classes: NDArray[np.int32]
        ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            parts, bias = np.zeros((classes.size, features.size)), np.zeros(classes.size)
            for place, c in enumerate(classes.tolist()):
                found = []
                for leaf in np.flatnonzero(tree.own == c).tolist():
                    path = path_above(leaf, parent)
                    steps = values[:, np.newaxis] * weights[features][:, path].toarray()
                    judge = partial(self._judge_steps, is_only_child=is_only[path])
                    found.append(share_along(steps, tree.base[path], judge))
                if found:
                    parts[place], bias[place] = average_paths(found)
            return parts, bias

        return collect_parts(as_instances(rows), self.n_features_in_, ranks, parts_of)

    def _roots(self) -> list[int]:
        """Return the roots of the trees."""
        return [0]

    def _parents(self) -> NDArray[np.int64]:
        """Return the parent of each node, -1 for the root."""
        child = self.branches_.child.astype(np.int64)
        n_children = child[1:] - child[:-1]
        return np.append(-1, np.repeat(np.arange(n_children.size), n_children))

    def _add_paths(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of the path to each node, from the scores of all nodes."""
        child = self.branches_.child.astype(np.int64)
        parent = self._parents()[1:]
        is_only = np.concatenate([[False], np.diff(child)[parent] == 1])
        paths = self._judge_steps(scores, is_only)
        paths[:, 0] = 0.0
        level = np.array([0])
        while level.size:
            level = np.concatenate([np.arange(child[z], child[z + 1]) for z in level.tolist()])
            paths[:, level] += paths[:, parent[level - 1]]
        return paths

    @property
    def index_size_(self) -> int:
        """The number of stored weights, none of them 0."""
        check_is_fitted(self)
        return self.branches_.weights.size

    @property
    def index_bytes_(self) -> int:
        """The bytes that the tree takes, with its weights."""
        check_is_fitted(self)
        return sum(array.nbytes for array in self.branches_)

    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Return the edges read per active feature on the way to k classes, counting features without any edge too.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        k : int, default=1
            Number of classes for each row, at least 1.

        Returns
        -------
        float
            Mean over the active features of all rows.
        """
        instances = as_instances(self._known(X))
        active = int(np.count_nonzero(instances.data))
        _, read = self._search(instances, k)
        return read / active if active else 0.0

    # -- files

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        check_branches(self.branches_, self.classes_.size)


def path_above(node: int, parent: NDArray[np.int64]) -> list[int]:
    """Return the nodes from this one up to the root, which has no parent (-1) and is left out."""
    path = []
    while parent[node] >= 0:
        path.append(node)
        node = int(parent[node])
    return path


def average_paths(found: Sequence[tuple[NDArray[np.float64], float]]) -> tuple[NDArray[np.float64], float]:
    """Return the parts of the log of the mean probability of some paths, from the parts and the bias of each path.

    A path of score s has probability exp(s). Its parts count by its share of the sum of all probabilities.
    """
    if len(found) == 1:
        return found[0]
    scores = np.array([parts.sum() + bias for parts, bias in found])
    likely = np.exp(scores - scores.max())
    mean = float(scores.max() + np.log(likely.mean()))
    parts = np.average([parts for parts, _ in found], axis=0, weights=likely)
    return parts, mean - float(parts.sum())


def node_weights(branches: Branches, n_features: int) -> csr_array:
    """Return the weights of all nodes as one matrix, features x nodes: each node has a single parent."""
    features = np.repeat(branches.features.astype(np.int64), np.diff(branches.edge))
    nodes = branches.children.astype(np.int64)
    weights = branches.weights.astype(np.float64)
    return csr_array((weights, (features, nodes)), shape=(n_features, branches.own.size))


def rows_below(hierarchy: Hierarchy, labels: Labels) -> dict[int, Below]:
    """Return, for each inner node with training rows, the rows with a class below it."""
    rows = np.repeat(np.arange(labels.indptr.size - 1), np.diff(labels.indptr))
    at = hierarchy.leaf[labels.indices]  # node of each label of a row, moving up to the root
    n_nodes = hierarchy.parent.size
    levels: dict[int, list[NDArray[np.int64]]] = {}
    while rows.size:
        above = hierarchy.parent[at]
        for z in np.unique(above).tolist():
            here = above == z
            levels.setdefault(z, []).append(rows[here] * n_nodes + at[here])
        up = above > 0
        rows, at = rows[up], above[up]
    return {z: _by_row(np.concatenate(parts), n_nodes) for z, parts in levels.items()}


def _by_row(pairs: NDArray[np.int64], n_nodes: int) -> Below:
    """Return the rows and children of a node from pairs row * n_nodes + child.

    Labels below the same child count once.
    """
    rows, children = np.divmod(np.unique(pairs), n_nodes)
    distinct, starts = np.unique(rows, return_index=True)
    return Below(distinct, np.append(starts, rows.size), children)


def first_children(hierarchy: Hierarchy) -> NDArray[np.int64]:
    """Return the first child of each node, and one end; a leaf has an empty range."""
    counts = np.bincount(hierarchy.parent[1:], minlength=hierarchy.parent.size)
    return 1 + np.concatenate([[0], np.cumsum(counts)])


def assemble(
    hierarchy: Hierarchy, classes: NDArray[np.int32], child: NDArray[np.int64], choices: Mapping[int, Choice]
) -> Branches:
    """Return all choices of a tree in the order of the nodes; `classes` are the classes of its leaves."""
    nodes = hierarchy.parent.size
    own, base = np.full(nodes, -1, np.int32), np.zeros(nodes)
    own[hierarchy.leaf] = classes
    n_known = np.zeros(nodes, np.int64)
    features, lengths, children, weights = [], [], [], []
    for z in sorted(choices):
        choice = choices[z]
        base[child[z] : child[z + 1]] = choice.bias
        n_known[z] = choice.features.size
        features.append(choice.features)
        lengths.append(np.diff(choice.edges.indptr)[: n_known[z]])
        children.append(choice.edges.classes + np.uint32(child[z]))
        weights.append(choice.edges.weights)
    return Branches(
        child=frozen(child, np.uint32),
        own=frozen(own),
        base=frozen(base),
        first=frozen(_starts(n_known), np.uint32),
        features=_joined(features, np.uint32),
        edge=frozen(_starts(_joined(lengths, np.int64)), np.int64),
        children=_joined(children, np.uint32),
        weights=_joined(weights, np.float32),
    )


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start of each stretch, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths)])


def _joined(parts: list[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    return frozen(np.concatenate([np.zeros(0, dtype), *parts]), dtype)


def check_branches(branches: Branches, n_classes: int) -> None:
    """Raise ValueError if the arrays do not form a tree that a search can follow to the leaves."""
    child, own, base, first, features, edge, children, weights = branches
    n_nodes, n_features, n_weights = own.size, features.size, weights.size
    for array, size, dtype in (
        (child, n_nodes + 1, np.uint32),
        (own, n_nodes, np.int32),
        (base, n_nodes, np.float64),
        (first, n_nodes + 1, np.uint32),
        (features, n_features, np.uint32),
        (edge, n_features + 1, np.int64),
        (children, n_weights, np.uint32),
        (weights, n_weights, np.float32),
    ):
        saving.expect_array(array, (size,), dtype, "branches_")
    ascending = all(np.all(np.diff(array.astype(np.int64)) >= 0) for array in (child, first, edge))
    ends = child[-1] <= n_nodes and first[-1] == n_features and edge[-1] == n_weights
    inner = own < 0
    down = np.all(child[:-1][inner] > np.flatnonzero(inner)) and np.all(children < n_nodes)
    if not (ascending and ends and down):
        raise ValueError("branches_ is not a tree")
    if np.any(own >= n_classes) or np.any(child[1:][inner] <= child[:-1][inner]):
        raise ValueError("branches_ leads nowhere")
