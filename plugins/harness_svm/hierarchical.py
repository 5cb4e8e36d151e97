"""HSVM: a multi-class support vector machine whose classes share the weights of the nodes above them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness import Taxonomy
from harness.errors import DataError
from harness.sdk import archive, rules
from harness.sdk.estimator import Matrix
from harness.sdk.kernels.instances import Instances
from harness_svm.choices import draw_seed, threshold
from harness_svm.classifier import LinearMachine
from harness_svm.hierarchy import SOURCES, Hierarchy, choose_hierarchy
from harness_svm.kernels.class_tree import ClassTree, as_tree
from harness_svm.kernels.structured import Goal
from harness_svm.kernels.structured_sweeps import rank_by_tree, sum_up, sweep_matrix
from harness_svm.objective import share_of_duals
from harness_svm.training import Kernels, begin

TREE_KERNELS = Kernels(
    sweep_matrix,
    "harness_svm.kernels.structured_rows:sweep_tree_rows",
    sum_up,
    most_repeats=10,
    worth_repeating=0.05,  # many rows are never far from right, and a few hold up the others
)
RESCALINGS = ("slack", "margin")
ATTRIBUTES = ("path", "leaf")
COSTS = ("tree", "zero-one")
Prices = tuple[float | tuple[float, float], ...]
"""By node of the taxonomy: what is paid, half for missing it and half for entering it wrongly, or both prices."""


class HSVM(LinearMachine):
    """Hierarchical support vector machine of Cai and Hofmann (CIKM 2004), solved in the dual row by row.

    F(x, y) is the sum of L_z(y) <w_z, x> over the nodes z on the path of class y, the root left out; a mistake costs
    what the two paths do not have in common. Only one vector a class is stored: a node's is the sum of those below it.

    The defaults are chosen on validation parts (docs/defaults.md). Cai and Hofmann have C=1.

    When to use
    -----------
    Classes have a tree, and a mistake in the same branch costs less than one far away.

    References
    ----------
    Cai and Hofmann, Hierarchical document categorization with support vector machines, CIKM 2004.

    Parameters
    ----------
    C : the price of a loss.
    rescaling : "slack" multiplies a loss by its cost, "margin" asks for a margin of that cost.
    attributes : L_z(y) before L(y) is scaled to length 1: "path" for 1 on the whole path, "leaf" for the class's own
        node alone, or a tuple with a number for each node of the taxonomy.
    costs : "tree", 1/2 for each node that is on one of two paths; "zero-one", 1 for any mistake; or a tuple with, for
        each node of the taxonomy, a number, half of which is paid for missing it and half for entering it wrongly, or
        both prices as a pair.
    taxonomy : None for the one that fit is given, "cluster" for one that is learned by balanced 2-means of the classes.
    unseen : whether classes without a training row compete and are ranked, by way of the nodes above them.
    tol : training ends when no row's gradients differ by more.
    max_sweeps : the most sweeps over all rows.
    prune : weights of no larger size are not stored; None stands for 0, and for 0.01 where a matrix of all weights
        would take over 2 GB.
    trace : whether `dual_` keeps the objective of the dual after each sweep, which takes a look at all weights.
    random_state : seed of the orders and of the clusters; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    rows_ : the index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes, from which those of
        all nodes follow.
    tree_ : the tree, a `harness_svm.kernels.class_tree.ClassTree`.
    prune_ : the threshold that was used.
    sweeps_ : the sweeps over all rows that training took.
    dual_ : with trace=True, the objective of the dual after each of them; else empty.
    support_share_ : of all pairs of a training row and another class than its own, the share that has a dual above 0.
    index_size_, index_bytes_ : non-zero weights, and the bytes that the index takes.
    n_features_in_ : the number of features.
    """

    records: ClassVar[Mapping[str, archive.RecordClass]] = {**LinearMachine.records, "tree_": ClassTree}
    scores_by_index: ClassVar[bool] = False  # a class scores what all nodes on its path score

    tree_: ClassTree
    prune_: float
    sweeps_: int
    dual_: NDArray[np.float64]
    support_share_: float

    def __init__(
        self,
        *,
        C: float = 3.0,
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
        self.C = C
        self.rescaling = rescaling
        self.attributes = attributes
        self.costs = costs
        self.taxonomy = taxonomy
        self.unseen = unseen
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.prune = prune
        self.trace = trace
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike, *, taxonomy: Taxonomy | None = None) -> Self:
        """Train from nothing; y holds class positions where a taxonomy is given."""
        X, labels = self._begin(X, y)
        seed = draw_seed(self.random_state)
        if self.unseen and taxonomy is not None and self.taxonomy is None:
            labels = labels._replace(indices=self.classes_[labels.indices])
            self.classes_ = np.arange(taxonomy.class_node.size)
        hierarchy = choose_hierarchy(self.taxonomy, taxonomy, X, labels, self.classes_, seed)
        nodes = taxonomy.parent.size if taxonomy is not None else 0
        self.tree_ = grow(hierarchy, self.attributes, self.costs, nodes)
        goal = Goal(float(self.C), float(self.tol), self.rescaling == "slack")
        training = begin(X, labels.indices, self.tree_, goal, TREE_KERNELS, bool(self.trace))
        self.sweeps_ = training.run(np.random.default_rng(seed), int(self.max_sweeps))
        self.dual_ = np.array(training.objectives)
        self.support_share_ = share_of_duals(training.duals, self.classes_.size)
        self.prune_ = threshold(self.prune, X.shape[1], self.classes_.size)
        self.base_ = np.zeros(self.classes_.size)
        self.rows_ = training.index(self.prune_)
        return self

    def _rank_by_features(self, instances: Instances, k: int) -> NDArray[np.int32]:
        return rank_by_tree(self.rows_, self.tree_, instances, self.base_, k)

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        parent, leaf = self.tree_.parent, self.tree_.leaf
        by_node, by_class = (parent.size,), (self.classes_.size,)
        archive.expect_array(parent, by_node, np.uint32, "tree_")
        archive.expect_array(leaf, by_class, np.uint32, "tree_")
        archive.expect_array(self.tree_.scale, by_class, np.float64, "tree_")
        for values in (self.tree_.weight, self.tree_.shared, self.tree_.missed, self.tree_.false):
            archive.expect_array(values, by_node, np.float64, "tree_")
        parents_first = parent[0] == 0 and np.all(parent[1:] < np.arange(1, parent.size))
        if not parents_first or np.any(leaf >= parent.size):
            raise ValueError("tree_ is no tree")

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "C": rules.positive(self.C),
            "rescaling": rules.one_of(self.rescaling, RESCALINGS),
            "attributes": _named_or_tuple(self.attributes, ATTRIBUTES),
            "costs": _named_or_tuple(self.costs, COSTS),
            "taxonomy": rules.optional(self.taxonomy, rules.one_of(self.taxonomy, SOURCES)),
            "unseen": rules.flag(self.unseen),
            "tol": rules.positive(self.tol),
            "max_sweeps": rules.count(self.max_sweeps),
            "trace": rules.flag(self.trace),
            "prune": rules.optional(self.prune, rules.not_negative(self.prune)),
        }


def _named_or_tuple(value: object, names: tuple[str, ...]) -> rules.Rule:
    holds, allowed = rules.one_of(value, names)
    return holds or isinstance(value, tuple), f"{allowed} or a tuple with a number for each node"


def grow(hierarchy: Hierarchy, attributes: str | tuple[float, ...], costs: str | Prices, nodes: int) -> ClassTree:
    """The tree with its attributes and costs; `nodes` is the size of the taxonomy that tuples must have."""
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
