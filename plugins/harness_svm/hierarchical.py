"""HSVM: a multi-class support vector machine whose classes share the weights of the nodes above them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from harness import Taxonomy
from harness.errors import DataError
from harness.sdk import rules, saving
from harness.sdk.classifier import Matrix, SearchScores
from harness.sdk.costs import settle_cost
from harness.sdk.kernels.instances import Instances, Labels
from harness_svm.hierarchy import SOURCES, Hierarchy, choose_hierarchy, lattice_nodes
from harness_svm.linear import draw_seed
from harness_svm.structured.classifier import StructuredMachine
from harness_svm.structured.kernels.class_tree import ClassTree, as_tree
from harness_svm.structured.kernels.lattice import Lattice, as_lattice
from harness_svm.structured.kernels.tree_sweeps import rank_by_tree, sum_up, sweep_matrix
from harness_svm.structured.solver import Kernels, class_paths

TREE_KERNELS = Kernels(
    sweep_matrix,
    "harness_svm.structured.kernels.tree_sweeps_sparse:sweep_tree_rows",
    sum_up,
    most_repeats=10,
    worth_repeating=0.05,  # many rows are never far from right, and a few hold up the others
)
RESCALINGS = ("slack", "margin")
ATTRIBUTES = ("path", "leaf")
COSTS = ("tree", "zero-one")
MOST_AT_ONCE = 4_000_000
"""Maximum number of scores in memory at a time."""
Prices = tuple[float | tuple[float, float], ...]
"""By node of the taxonomy: a price, half for missing the node and half for entering it wrongly, or both prices."""


class HSVM(SearchScores, StructuredMachine):
    """Hierarchical support vector machine of Cai and Hofmann (CIKM 2004), solved in the dual row by row.

    F(x, y) is the sum of L_z(y) <w_z, x> over the nodes z of class y: its own and all above it, without the root. In a
    taxonomy whose nodes have several parents, each node counts once. A mistake costs the nodes that only one of the two
    classes has. One vector per class is stored; the vector of a node is the sum of those below it.

    The defaults are chosen on validation sets (results/defaults). Cai and Hofmann use C=1.

    When to use
    -----------
    Classes in a tree, if a mistake within a branch costs less than a mistake far away.

    References
    ----------
    Cai and Hofmann, Hierarchical document categorization with support vector machines, CIKM 2004.

    Parameters
    ----------
    C : float, default=3.0
        Weight of the loss, above 0.
    rescaling : {"slack", "margin"}, default="slack"
        "slack" multiplies a loss by its cost, "margin" requires a margin of that cost.
    attributes : str or tuple of float, default="path"
        L_z(y) before L(y) is scaled to length 1. "path" is the weight of each node of the class, which is 1 unless the
        taxonomy gives others; "leaf" is 1 only at its own node. A tuple has a number for each node of the taxonomy.
    costs : str or tuple, default="tree"
        Cost of a mistake. "tree" adds up the costs of the nodes that only one of the two classes has: those of the
        taxonomy, or 1/2; "zero-one" is 1. A tuple has a number for each node of the taxonomy, half for missing the node
        and half for entering it wrongly, or both as a pair.
    taxonomy : str or None, default=None
        None uses the taxonomy passed to `fit`. "cluster" learns a tree by balanced 2-means of the classes. None does
        the same with a warning if `fit` gets no taxonomy.
    unseen : bool, default=False
        If True, classes without a training row are ranked too, by the weights of the nodes above them.
    tol : float, default=0.1
        Tolerance, above 0: training ends when no row's gradients differ by more.
    max_sweeps : int, default=1000
        Maximum number of sweeps over all rows, at least 1.
    prune : float or None, default=None
        Weights with an absolute value up to this, at least 0, are not stored. None means 0, or 0.01 if a matrix of all
        weights would take over 2 GB.
    trace : bool, default=False
        If True, `dual_` keeps the objective of the dual after each sweep, which takes extra time.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows and of the clusters. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes. The weights of the nodes
        are sums of those of the classes.
    tree_ : ClassTree
        The tree, a `harness_svm.structured.kernels.class_tree.ClassTree`. Not set if nodes have several parents.
    lattice_ : Lattice
        In its place, if nodes have several parents, a `harness_svm.structured.kernels.lattice.Lattice`.
    prune_ : float
        The threshold that was used for pruning.
    sweeps_ : int
        Number of sweeps over all rows.
    dual_ : ndarray
        With trace=True, the objective of the dual after each sweep; otherwise empty.
    support_share_ : float
        Share of the pairs of a training row and a false class whose dual is above 0.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of the index and the tree.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_svm import HSVM
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = HSVM(taxonomy="cluster", random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    records: ClassVar[Mapping[str, saving.RecordClass]] = {
        **StructuredMachine.records,
        "tree_": ClassTree,
        "lattice_": Lattice,
    }
    scores_by_index: ClassVar[bool] = False  # a class scores what all nodes on its path score

    tree_: ClassTree
    lattice_: Lattice

    def __init__(
        self,
        *,
        C: float | Literal["auto"] = 3.0,
        rescaling: Literal["slack", "margin"] = "slack",
        attributes: str | tuple[float, ...] = "path",
        costs: str | Prices = "tree",
        taxonomy: str | None = None,
        unseen: bool = False,
        tol: float = 0.1,
        max_sweeps: int = 1000,
        prune: float | None = None,
        trace: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(C=C, tol=tol, max_sweeps=max_sweeps, prune=prune, trace=trace, random_state=random_state)
        self.rescaling = rescaling
        self.attributes = attributes
        self.costs = costs
        self.taxonomy = taxonomy
        self.unseen = unseen

    def fit(self, X: Matrix, y: ArrayLike, *, taxonomy: Taxonomy | None = None) -> Self:
        """Train from scratch.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            Training rows.
        y : array of shape (n_rows,)
            Class of each row; the positions of the classes in the taxonomy if there is one.
        taxonomy : Taxonomy or None, default=None
            The tree or lattice of the classes.

        Returns
        -------
        self : HSVM
            The fitted learner.
        """
        X, labels = self._begin(X, y)
        seed = draw_seed(self.random_state)
        if self.unseen and taxonomy is not None and self.taxonomy is None:
            labels = labels._replace(indices=self.classes_[labels.indices])
            self.classes_ = np.arange(taxonomy.class_node.size)
        self.C_ = settle_cost(self, self.C, X, labels, seed, taxonomy=taxonomy)
        (fitted,) = self._train_path(X, labels, [self.C_], seed, taxonomy=taxonomy)
        return fitted

    def _train_path(
        self, rows: Any, labels: Labels, costs: Sequence[float], seed: int, *, taxonomy: Taxonomy | None = None
    ) -> Iterator[Self]:
        """Yield the learner after training at each cost."""
        given = taxonomy if self.taxonomy is None else None
        self.base_ = np.zeros(self.classes_.size)
        kernels = TREE_KERNELS
        if given is not None and not given.is_tree:
            self.lattice_ = grow_lattice(given, self.classes_, self.attributes, self.costs)
            kernels = lattice_kernels()
        else:
            hierarchy = choose_hierarchy(self.taxonomy, taxonomy, rows, labels, self.classes_, seed)
            self.tree_ = grow(hierarchy, self.attributes, self.costs, given)
        slack = self.rescaling == "slack"
        yield from self._solve_path(rows, labels, self._graph, kernels, costs, slack=slack, seed=seed)

    @property
    def _graph(self) -> ClassTree | Lattice:
        """The nodes of the classes."""
        return self.lattice_ if hasattr(self, "lattice_") else self.tree_

    def _rank_by_features(self, instances: Instances, k: int) -> NDArray[np.int32]:
        graph = self._graph
        if isinstance(graph, Lattice):
            from harness_svm.structured.kernels.lattice_sweeps import rank_by_lattice  # noqa: PLC0415 (compiles)

            return rank_by_lattice(self.rows_, graph, instances, self.base_, k)
        return rank_by_tree(self.rows_, graph, instances, self.base_, k)

    def _score_pairs(self, rows: Any, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return F(x, y): r_y times the scores of all classes below each node of y, summed over its nodes."""
        weights, n_classes = super()._weights_of(np.arange(self.n_features_in_)), self.classes_.size
        graph, paths = self._graph, class_paths(self._graph)
        found = np.empty(ranks.shape)
        step = max(1, MOST_AT_ONCE // max(n_classes, graph.weight.size))
        for start in range(0, rows.shape[0], step):
            part = slice(start, start + step)
            own = csr_array(rows[part]).astype(np.float64) @ weights
            totals = (own @ (paths * graph.weight) @ paths.T).toarray()
            scores = totals * graph.scale + self.base_
            found[part] = np.take_along_axis(scores, np.maximum(ranks[part], 0), axis=1)
        return found

    def _weights_of(self, features: NDArray[Any]) -> csr_array:
        graph, paths = self._graph, class_paths(self._graph)
        totals = super()._weights_of(features) @ (paths * graph.weight) @ paths.T
        return csr_array(totals * graph.scale)

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        graph = self._graph
        if isinstance(graph, Lattice):
            check_lattice(graph, self.classes_.size)
        else:
            check_tree(graph, self.classes_.size)

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "rescaling": rules.one_of(self.rescaling, RESCALINGS),
            "attributes": _named_or_tuple(self.attributes, ATTRIBUTES),
            "costs": _named_or_tuple(self.costs, COSTS),
            "taxonomy": rules.optional(self.taxonomy, rules.one_of(self.taxonomy, SOURCES)),
            "unseen": rules.flag(self.unseen),
        }


def check_tree(tree: ClassTree, n_classes: int) -> None:
    """Raise ValueError if the arrays of a file do not form a tree."""
    by_node = tree.parent.shape
    saving.expect_array(tree.parent, by_node, np.uint32, "tree_")
    saving.expect_array(tree.leaf, (n_classes,), np.uint32, "tree_")
    saving.expect_array(tree.scale, (n_classes,), np.float64, "tree_")
    for values in (tree.weight, tree.shared, tree.missed, tree.false):
        saving.expect_array(values, by_node, np.float64, "tree_")
    parents_first = tree.parent[0] == 0 and np.all(tree.parent[1:] < np.arange(1, tree.parent.size))
    if not parents_first or np.any(tree.leaf >= tree.parent.size):
        raise ValueError("tree_ is no tree")


def check_lattice(lattice: Lattice, n_classes: int) -> None:
    """Raise ValueError if the arrays of a file do not form a lattice."""
    n_nodes, n_pairs = lattice.weight.size, lattice.nodes.size
    for starts, ends, n_rows, n_columns in (
        (lattice.start, lattice.nodes, n_classes, n_nodes),
        (lattice.first, lattice.classes, n_nodes, n_classes),
    ):
        saving.expect_array(starts, (n_rows + 1,), np.uint32, "lattice_")
        saving.expect_array(ends, (n_pairs,), np.uint32, "lattice_")
        ascending = starts[0] == 0 and starts[-1] == n_pairs and np.all(np.diff(starts.astype(np.int64)) >= 0)
        if not ascending or np.any(ends >= n_columns):
            raise ValueError("lattice_ is no lattice")
    for values in (lattice.weight, lattice.missed, lattice.false):
        saving.expect_array(values, (n_nodes,), np.float64, "lattice_")
    for values in (lattice.scale, lattice.leaving, lattice.entering):
        saving.expect_array(values, (n_classes,), np.float64, "lattice_")


def lattice_kernels() -> Kernels:
    """Return the kernels for taxonomies whose nodes have several parents; they compile on first use."""
    from harness_svm.structured.kernels.lattice_sweeps import sum_up_lattice, sweep_lattice  # noqa: PLC0415 (as said)

    sparse = "harness_svm.structured.kernels.lattice_sweeps_sparse:sweep_lattice_rows"
    return TREE_KERNELS._replace(dense=sweep_lattice, sparse=sparse, sum_up=sum_up_lattice)


def _named_or_tuple(value: object, names: tuple[str, ...]) -> rules.Rule:
    holds, allowed = rules.one_of(value, names)
    return holds or isinstance(value, tuple), f"{allowed} or a tuple with a number for each node"


def grow(
    hierarchy: Hierarchy, attributes: str | tuple[float, ...], costs: str | Prices, taxonomy: Taxonomy | None
) -> ClassTree:
    """Return the tree with its attributes and costs; the taxonomy is required for tuples."""
    weight, missed, false = _price(hierarchy.origin, hierarchy.is_leaf, attributes, costs, taxonomy)
    return as_tree(hierarchy.parent, hierarchy.leaf, weight, missed, false)


def grow_lattice(
    taxonomy: Taxonomy, classes: NDArray[Any], attributes: str | tuple[float, ...], costs: str | Prices
) -> Lattice:
    """Return the lattice above these classes with its attributes and costs."""
    nodes = lattice_nodes(taxonomy, classes)
    return as_lattice(nodes.of_class, *_price(nodes.origin, nodes.is_leaf, attributes, costs, taxonomy))


def _price(
    origin: NDArray[np.int64],
    is_leaf: NDArray[np.bool_],
    attributes: str | tuple[float, ...],
    costs: str | Prices,
    taxonomy: Taxonomy | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight m_z of each node, and the costs of missing it and of entering it wrongly."""
    nodes = 0 if taxonomy is None else taxonomy.parent.size
    ones, leaves = np.ones(origin.size), is_leaf.astype(np.float64)
    if attributes == "path" and taxonomy is not None and taxonomy.weights is not None:
        weight = taxonomy.weights[origin] ** 2
    elif isinstance(attributes, str):
        weight = ones if attributes == "path" else leaves
    else:
        weight = _by_node("attributes", attributes, origin, nodes)[:, 0] ** 2
    if costs == "tree" and taxonomy is not None and taxonomy.costs is not None:
        prices = taxonomy.costs[origin]
    elif isinstance(costs, str):
        prices = (ones if costs == "tree" else leaves)[:, np.newaxis] / 2
    else:
        prices = _by_node("costs", costs, origin, nodes)
        prices = prices if prices.shape[1] == 2 else prices / 2
    return weight, prices[:, 0], prices[:, -1]


def _by_node(
    name: str, values: tuple[float, ...] | Prices, origin: NDArray[np.int64], nodes: int
) -> NDArray[np.float64]:
    table = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    if len(values) != nodes or table.shape[1] > 2 or not np.all(np.isfinite(table) & (table >= 0)):
        raise DataError(
            f"{name} has {len(values)} values: expected one for each of the {nodes} nodes of the taxonomy, "
            "none of them negative"
        )
    return table[origin]
