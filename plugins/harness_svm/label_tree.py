"""Label trees: support vector machines at the nodes of a tree of clusters of classes, searched by a beam."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Taxonomy
from harness.sdk import rules
from harness.sdk.classifier import LEAST_SHARED_ROWS, LOWEST_SCORE, Matrix
from harness.sdk.costs import cost_rule, settle_cost
from harness.sdk.kernels.instances import Instances, Labels, as_instances, rows_between
from harness.sdk.threads import in_threads, stretches
from harness_svm.flat.kernels.dual import pose
from harness_svm.hierarchy import Hierarchy, cluster, from_given
from harness_svm.linear import threshold
from harness_svm.topdown.classifier import SAMPLE_OF_TREES, Choice, NodeTraining, TopDown, TreeTraining
from harness_svm.topdown.kernels.beam import feature_slots, rank_by_beam
from harness_svm.topdown.kernels.branches import Branches
from harness_svm.topdown.kernels.forest import Forest, Paths, join_trees, trace_paths
from harness_svm.topdown.one_vs_rest import learn_machines

TREES = ("cluster", "taxonomy")
MOST_SAMPLED = 0.75
"""Share of the rows on which one of several trees chooses the cost, at most."""


class LabelTree(TopDown):
    """Label trees, the method of Parabel (2018), Bonsai (2020) and XR-Linear (2020).

    Classes are put into balanced clusters by the mean directions of their rows, and clusters into larger ones. Each
    child of a node has a linear support vector machine with squared hinge loss, trained on the rows below the node. A
    row follows the `beam` best paths at once. The score of a path is the sum of -max(0, 1 - score)^2 over its nodes.

    When to use
    -----------
    Hundreds to tens of thousands of classes with texts, where rankings shall be quick and memory small; several labels
    a row. With `tree="taxonomy"`, where the classes' own tree is to be kept to. With `trees=1` if training time matters
    more than a point of R1.

    References
    ----------
    Prabhu et al., Parabel: partitioned label trees for extreme classification with application to dynamic search
    advertising, WWW 2018. Khandagale et al., Bonsai, Machine Learning 2020. Yu et al., PECOS, JMLR 2022.

    Parameters
    ----------
    trees : int, default=3
        Number of trees, each with its own seed and clusters. A path of score s counts as a probability exp(s), and a
        class as the mean of its probabilities in all trees. There is one tree if it is the taxonomy, or if all classes
        are in one cluster.
    tree : {"cluster", "taxonomy"}, default="cluster"
        "cluster" learns a tree, "taxonomy" uses the taxonomy passed to `fit`.
    fanout : int, default=16
        Number of children of a cluster, a power of two of at least 2.
    leaf_classes : int, default=100
        A cluster with at most this many classes, at least 2, has them as children.
    beam : int, default=10
        Number of paths followed at once in each tree.
    C : float or "auto", default=2.0
        Weight of the loss at each node. "auto" chooses from 0.3, 1, 3 and 10 on a held-out tenth of the training rows.
    tol : float, default=0.3
        Tolerance, above 0: training of a node ends when the projected gradients of a sweep differ by no more.
    max_sweeps : int, default=100
        Maximum number of sweeps over the rows of a node, at least 1.
    prune : float, default=0.05
        Weights with an absolute value up to this, at least 0, are not stored.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows and of the clusters. Equal seeds give equal bits.

    Attributes
    ----------
    C_ : float
        The cost that was used.
    branches_ : Branches
        The trees, one behind the other, with the weights of their nodes, a
        `harness_svm.topdown.kernels.branches.Branches`.
    slots_ : ndarray
        Hash table of the positions of each node's features.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of the trees.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_svm import LabelTree
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = LabelTree(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    C_: float
    slots_: NDArray[np.uint32]
    paths_: Paths

    def __init__(
        self,
        *,
        trees: int = 3,
        tree: Literal["cluster", "taxonomy"] = "cluster",
        fanout: int = 16,
        leaf_classes: int = 100,
        beam: int = 10,
        C: float | Literal["auto"] = 2.0,
        tol: float = 0.3,
        max_sweeps: int = 100,
        prune: float = 0.05,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.trees = trees
        self.tree = tree
        self.fanout = fanout
        self.leaf_classes = leaf_classes
        self.beam = beam
        self.C = C
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.prune = prune
        self.random_state = random_state

    def _train(self, tree: TreeTraining, costs: Sequence[float]) -> list[Branches]:
        seeds = tree_seeds(tree.seed, self._n_trees(tree.seen.size))
        grown = [super(LabelTree, self)._train(tree._replace(seed=seed), costs) for seed in seeds]
        return [join_trees(trees) for trees in zip(*grown, strict=True)]

    def _n_trees(self, n_classes: int) -> int:
        """The number of trees that differ by more than the order of rows."""
        return 1 if self.tree == "taxonomy" or n_classes <= self.leaf_classes else int(self.trees)

    def _prepare_search(self) -> None:
        self.slots_ = feature_slots(self.branches_)
        self.paths_ = trace_paths(self.branches_, self.classes_.size)

    def _grow_hierarchy(self, tree: TreeTraining) -> Hierarchy:
        if self.tree == "taxonomy":
            return from_given(tree.taxonomy, self.classes_[tree.seen], 'tree="cluster"')
        n_classes, fanout, leaf_classes = tree.seen.size, int(self.fanout), int(self.leaf_classes)
        return cluster(tree.rows, tree.labels, n_classes, tree.seed, fanout, leaf_classes)

    def _settle_cost(self, rows: csr_array, labels: Labels, seed: int, taxonomy: Taxonomy | None) -> float:
        alone = copy(self)  # the time for one of several trees is a smaller share
        alone.trees = 1
        share = min(MOST_SAMPLED, SAMPLE_OF_TREES * self._n_trees(self.classes_.size))
        self.C_ = settle_cost(alone, self.C, rows, labels, seed, share=share, taxonomy=taxonomy)
        return self.C_

    def _learn(self, node: NodeTraining, costs: Sequence[float]) -> list[Choice]:
        tol, most = float(self.tol), int(self.max_sweeps)
        problems = [pose(C, squared=True, bias=1.0, tolerance=tol, most_sweeps=most) for C in costs]
        return learn_machines(node, problems, threshold(self.prune, self.n_features_in_, self.classes_.size))

    def _search(self, instances: Instances, k: int) -> tuple[NDArray[np.int32], int]:
        if self.paths_.roots.size == 1:
            return rank_by_beam(self.branches_, self.slots_, instances, k, int(self.beam))
        ranked, _, read = self._forest().rank(instances, k, int(self.beam))
        return ranked, read

    def rank_scored(self, X: Matrix, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return ranks and scores, of several trees with one computation for both.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows.
        k : int
            Number of classes for each row.

        Returns
        -------
        ranks : ndarray of int32, shape (n_rows, k)
            The same as by `rank`, to the last bit.
        scores : ndarray of float64, shape (n_rows, k)
            The same as by `scores`, to the last bit.
        """
        rows = self._known(X)
        if self.paths_.roots.size == 1:
            ranks = self.rank(rows, k)
            return ranks, self.scores(rows, ranks)
        forest, parts = self._forest(), stretches(rows.shape[0], least=LEAST_SHARED_ROWS)
        found = in_threads(
            lambda part: forest.rank(as_instances(rows_between(rows, part)), k, int(self.beam))[:2], parts
        )
        pieces = list(zip(*found, strict=True))
        return np.concatenate(pieces[0]), np.maximum(np.concatenate(pieces[1]), LOWEST_SCORE)

    def _score_pairs(self, rows: csr_array, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the score of the path to each class, or the log of its mean probability in several trees."""
        if self.paths_.roots.size == 1:
            return super()._score_pairs(rows, ranks)
        return self._forest().score(as_instances(rows), ranks)

    def _roots(self) -> list[int]:
        roots: list[int] = self.paths_.roots.tolist()
        return roots

    def _forest(self) -> Forest:
        return Forest(self.branches_, self.slots_, self.paths_)

    def _judge_steps(self, scores: NDArray[np.float64], is_only_child: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the negative squared hinge of each node's score; 0 for an only child."""
        return np.where(is_only_child, 0.0, -(np.maximum(0.0, 1.0 - scores) ** 2))

    # -- files

    def _fitted(self) -> dict[str, Any]:
        fitted = super()._fitted()
        del fitted["paths_"]  # made of the branches
        return fitted

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        self._prepare_search()  # rather made again than believed

    def _rules(self) -> dict[str, rules.Rule]:
        whole, _ = rules.count(self.fanout, 2)
        return {
            "trees": rules.count(self.trees),
            "tree": rules.one_of(self.tree, TREES),
            "fanout": (whole and self.fanout & (self.fanout - 1) == 0, "a power of two, at least 2"),
            "leaf_classes": rules.count(self.leaf_classes, 2),
            "beam": rules.count(self.beam),
            "C": cost_rule(self.C),
            "tol": rules.positive(self.tol),
            "max_sweeps": rules.count(self.max_sweeps),
            "prune": rules.not_negative(self.prune),
        }


def tree_seeds(seed: int, count: int) -> list[int]:
    """Return a seed for each tree: the first tree equals that of a learner with one tree.

    Examples
    --------
    >>> tree_seeds(7, 1)
    [7]
    """
    others = np.random.SeedSequence(seed).generate_state(count - 1) % 2**31
    return [seed, *others.tolist()]
