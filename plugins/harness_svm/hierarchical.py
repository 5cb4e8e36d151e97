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
from harness_svm.hierarchy import SOURCES, Hierarchy, choose_hierarchy
from harness_svm.linear import draw_seed
from harness_svm.structured.classifier import StructuredMachine
from harness_svm.structured.kernels.class_tree import ClassTree, as_tree
from harness_svm.structured.kernels.tree_sweeps import rank_by_tree, sum_up, sweep_matrix
from harness_svm.structured.solver import Kernels

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

    F(x, y) is the sum of L_z(y) <w_z, x> over the nodes z on the path of class y, without the root. A mistake costs the
    nodes that are on only one of the two paths. One vector per class is stored; the vector of a node is the sum of
    those below it.

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
        L_z(y) before L(y) is scaled to length 1. "path" is 1 on the path of the class, "leaf" is 1 only at its own
        node. A tuple has a number for each node of the taxonomy.
    costs : str or tuple, default="tree"
        Cost of a mistake. "tree" is 1/2 for each node on only one of the two paths, "zero-one" is 1. A tuple has a
        number for each node of the taxonomy, half for missing the node and half for entering it wrongly, or both as a
        pair.
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
        The tree, a `harness_svm.structured.kernels.class_tree.ClassTree`.
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

    records: ClassVar[Mapping[str, saving.RecordClass]] = {**StructuredMachine.records, "tree_": ClassTree}
    scores_by_index: ClassVar[bool] = False  # a class scores what all nodes on its path score

    tree_: ClassTree

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
            The tree of the classes.

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
        hierarchy = choose_hierarchy(self.taxonomy, taxonomy, rows, labels, self.classes_, seed)
        nodes = taxonomy.parent.size if taxonomy is not None else 0
        self.tree_ = grow(hierarchy, self.attributes, self.costs, nodes)
        self.base_ = np.zeros(self.classes_.size)
        slack = self.rescaling == "slack"
        yield from self._solve_path(rows, labels, self.tree_, TREE_KERNELS, costs, slack=slack, seed=seed)

    def _rank_by_features(self, instances: Instances, k: int) -> NDArray[np.int32]:
        return rank_by_tree(self.rows_, self.tree_, instances, self.base_, k)

    def _score_pairs(self, rows: Any, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return F(x, y): r_y times the scores of all classes below the path of y, summed over its nodes."""
        weights, n_classes = super()._weights_of(np.arange(self.n_features_in_)), self.classes_.size
        paths = _paths(self.tree_)
        found = np.empty(ranks.shape)
        step = max(1, MOST_AT_ONCE // max(n_classes, self.tree_.parent.size))
        for start in range(0, rows.shape[0], step):
            part = slice(start, start + step)
            own = csr_array(rows[part]).astype(np.float64) @ weights
            totals = (own @ (paths * self.tree_.weight) @ paths.T).toarray()
            scores = totals * self.tree_.scale + self.base_
            found[part] = np.take_along_axis(scores, np.maximum(ranks[part], 0), axis=1)
        return found

    def _weights_of(self, features: NDArray[Any]) -> csr_array:
        paths = _paths(self.tree_)
        totals = super()._weights_of(features) @ (paths * self.tree_.weight) @ paths.T
        return csr_array(totals * self.tree_.scale)

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        parent, leaf = self.tree_.parent, self.tree_.leaf
        by_node, by_class = (parent.size,), (self.classes_.size,)
        saving.expect_array(parent, by_node, np.uint32, "tree_")
        saving.expect_array(leaf, by_class, np.uint32, "tree_")
        saving.expect_array(self.tree_.scale, by_class, np.float64, "tree_")
        for values in (self.tree_.weight, self.tree_.shared, self.tree_.missed, self.tree_.false):
            saving.expect_array(values, by_node, np.float64, "tree_")
        parents_first = parent[0] == 0 and np.all(parent[1:] < np.arange(1, parent.size))
        if not parents_first or np.any(leaf >= parent.size):
            raise ValueError("tree_ is not a tree")

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "rescaling": rules.one_of(self.rescaling, RESCALINGS),
            "attributes": _named_or_tuple(self.attributes, ATTRIBUTES),
            "costs": _named_or_tuple(self.costs, COSTS),
            "taxonomy": rules.optional(self.taxonomy, rules.one_of(self.taxonomy, SOURCES)),
            "unseen": rules.flag(self.unseen),
        }


def _paths(tree: ClassTree) -> csr_array:
    """Return classes x nodes: 1 for each node on the path to a class, including its leaf but not the root."""
    at, classes = tree.leaf.astype(np.int64), np.arange(tree.leaf.size)
    found, nodes = [], []
    while at.size:
        inside = at > 0
        at, classes = at[inside], classes[inside]
        found.append(classes)
        nodes.append(at)
        at = tree.parent[at].astype(np.int64)
    rows, columns = np.concatenate(found), np.concatenate(nodes)
    return csr_array((np.ones(rows.size), (rows, columns)), shape=(tree.leaf.size, tree.parent.size))


def _named_or_tuple(value: object, names: tuple[str, ...]) -> rules.Rule:
    holds, allowed = rules.one_of(value, names)
    return holds or isinstance(value, tuple), f"{allowed} or a tuple with a number for each node"


def grow(hierarchy: Hierarchy, attributes: str | tuple[float, ...], costs: str | Prices, nodes: int) -> ClassTree:
    """Return the tree with its attributes and costs; `nodes` is the size of the taxonomy, required for tuples."""
    ones, leaves = np.ones(hierarchy.parent.size), hierarchy.is_leaf.astype(np.float64)
    if isinstance(attributes, str):
        weight = ones if attributes == "path" else leaves
    else:
        weight = _by_node("attributes", attributes, hierarchy, nodes)[:, 0] ** 2
    if isinstance(costs, str):
        missed = false = (ones if costs == "tree" else leaves) / 2
    else:
        prices = _by_node("costs", costs, hierarchy, nodes)
        missed, false = prices.T if prices.shape[1] == 2 else (prices[:, 0] / 2, prices[:, 0] / 2)
    return as_tree(hierarchy.parent, hierarchy.leaf, weight, missed, false)


def _by_node(name: str, values: tuple[float, ...] | Prices, hierarchy: Hierarchy, nodes: int) -> NDArray[np.float64]:
    table = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    if len(values) != nodes or table.shape[1] > 2 or not np.all(np.isfinite(table) & (table >= 0)):
        raise DataError(
            f"{name} has {len(values)} values: expected one for each of the {nodes} nodes of the taxonomy, "
            "none of them negative"
        )
    return table[hierarchy.origin]
