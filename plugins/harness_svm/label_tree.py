"""Label trees: support vector machines at the nodes of a tree of clusters of classes, searched by a beam."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness import Taxonomy
from harness.sdk import rules
from harness.sdk.estimator import Matrix
from harness.sdk.kernels.instances import Instances, Labels
from harness_svm.choices import threshold
from harness_svm.hierarchy import Hierarchy, cluster, from_given
from harness_svm.kernels.beam import feature_slots, rank_by_beam
from harness_svm.kernels.dual import pose
from harness_svm.kernels.one_vs_rest import train_one_vs_rest
from harness_svm.topdown import Choice, TopDown

TREES = ("cluster", "taxonomy")


class LabelTree(TopDown):
    """Label tree, the method of Parabel (2018), Bonsai (2020) and XR-Linear (2020).

    Classes are put into balanced clusters by the mean directions of their rows, and clusters into larger ones. Each
    child of a node has a linear support vector machine, squared hinge, trained on the rows below the node. A row goes
    down on the `beam` best ways at once; a path is as good as the sum of -max(0, 1 - score)^2 along it.

    When to use
    -----------
    Hundreds to tens of thousands of classes with texts, where rankings shall be quick and memory small; several labels
    a row. With `tree="taxonomy"`, where the classes' own tree is to be kept to.

    References
    ----------
    Prabhu et al., Parabel: partitioned label trees for extreme classification with application to dynamic search
    advertising, WWW 2018. Khandagale et al., Bonsai, Machine Learning 2020. Yu et al., PECOS, JMLR 2022.

    Parameters
    ----------
    tree : "cluster", or "taxonomy" for the one that fit is given.
    fanout : the children of a cluster, a power of two.
    leaf_classes : a cluster with no more classes has them as children.
    beam : how many ways are followed.
    C : the price of a loss at each node.
    tol : training of a node ends when the projected gradients of a sweep differ by no more.
    max_sweeps : the most sweeps over the rows of a node.
    prune : weights of no larger size are not stored.
    random_state : seed of the orders and of the clusters; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    branches_ : the tree with the weights of its nodes, a `harness_svm.kernels.branches.Branches`.
    slots_ : where the weights of each node's features are.
    index_size_, index_bytes_ : non-zero weights, and the bytes that the tree takes.
    n_features_in_ : the number of features.
    """

    slots_: NDArray[np.uint32]

    def __init__(
        self,
        *,
        tree: Literal["cluster", "taxonomy"] = "cluster",
        fanout: int = 16,
        leaf_classes: int = 100,
        beam: int = 10,
        C: float = 2.0,
        tol: float = 0.3,
        max_sweeps: int = 100,
        prune: float = 0.05,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.tree = tree
        self.fanout = fanout
        self.leaf_classes = leaf_classes
        self.beam = beam
        self.C = C
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.prune = prune
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike, *, taxonomy: Taxonomy | None = None) -> LabelTree:
        """Train from nothing; y holds class positions where a taxonomy is used."""
        super().fit(X, y, taxonomy=taxonomy)
        self.slots_ = feature_slots(self.branches_)
        return self

    def _grow_hierarchy(
        self, rows: Any, labels: Labels, classes: NDArray[Any], taxonomy: Taxonomy | None, seed: int
    ) -> Hierarchy:
        if self.tree == "taxonomy":
            return from_given(taxonomy, classes, 'tree="cluster"')
        return cluster(rows, labels, classes.size, seed, int(self.fanout), int(self.leaf_classes))

    def _learn(self, instances: Instances, labels: Labels, n_features: int, n_children: int, seed: int) -> Choice:
        problem = pose(
            float(self.C), squared=True, bias=1.0, tolerance=float(self.tol), most_sweeps=int(self.max_sweeps)
        )
        prune = threshold(self.prune, self.n_features_in_, self.classes_.size)
        machines = train_one_vs_rest(instances, labels, max(1, n_features), n_children, problem, seed, prune)
        return Choice(np.empty(0, np.int64), machines.edges, machines.bias)

    def _search(self, instances: Instances, k: int) -> tuple[NDArray[np.int32], int]:
        return rank_by_beam(self.branches_, self.slots_, instances, k, int(self.beam))

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        self.slots_ = feature_slots(self.branches_)  # rather made again than believed

    def _rules(self) -> dict[str, rules.Rule]:
        whole, _ = rules.count(self.fanout, 2)
        return {
            "tree": rules.one_of(self.tree, TREES),
            "fanout": (whole and self.fanout & (self.fanout - 1) == 0, "a power of two, at least 2"),
            "leaf_classes": rules.count(self.leaf_classes, 2),
            "beam": rules.count(self.beam),
            "C": rules.positive(self.C),
            "tol": rules.positive(self.tol),
            "max_sweeps": rules.count(self.max_sweeps),
            "prune": rules.not_negative(self.prune),
        }
