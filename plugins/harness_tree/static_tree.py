"""Trees that are drawn at random before training, one leaf a class: what the random tree and the filter tree share."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk import rules
from harness.sdk.archive import expect
from harness.sdk.kernels.instances import Instances
from harness_tree.kernels.ranking import rank_nodes
from harness_tree.kernels.regressor import RegressorStep
from harness_tree.kernels.search import ClassLists, NodeRanks, make_lists
from harness_tree.kernels.static_tree import build_tree, update_static_tree
from harness_tree.learner import Positions
from harness_tree.tree import TreeLearner


class StaticTree(TreeLearner):
    """A complete tree with the classes in random order at its leaves, and a regressor at each inner node."""

    winners_only: ClassVar[bool]
    """Whether an instance goes up only as far as each node on the way sends it to its own side."""

    root_: int = 0
    leaf_of_: NDArray[np.int64]
    """The leaf of each class."""

    def _rules(self) -> dict[str, rules.Rule]:
        return self._tree_rules()

    def _set_up(self, generator: np.random.Generator) -> None:
        self.nodes_, self.leaf_of_ = build_tree(generator.permutation(self.classes_.size))
        self._begin_weights(self.classes_.size - 1)

    def _learn(self, instances: Instances, labels: Positions, order: NDArray[np.int64], step: RegressorStep) -> None:
        space = np.empty((2, int(np.diff(instances.indptr).max(initial=0))), np.float32)
        weights = self._weights()
        update_static_tree(
            self.nodes_, self.leaf_of_, weights, instances, labels, order, step, self.winners_only, space
        )

    def _lists(self) -> ClassLists:
        is_leaf = self.nodes_["left"] < 0
        starts = np.concatenate([[0], np.cumsum(is_leaf)])
        counts = np.ones(self.classes_.size, np.int64)
        return make_lists(starts, self.nodes_["maxl"][is_leaf], counts)

    def _rank_nodes(self, instances: Instances, k: int) -> NodeRanks:
        n_leaves = k if k > 1 else 0
        lists, n_classes = self._lists(), self.classes_.size
        return rank_nodes(self.nodes_, self.root_, self._weights(), lists, instances, k, n_classes, n_leaves)

    def _leaf_counts(self) -> csr_array:
        raise ValueError("this tree keeps no counts of its training data: give X and y")

    def _check_restored(self) -> None:
        self._check_tree(self.classes_.size - 1)
        leaves = np.flatnonzero(self.nodes_["left"] < 0)
        expect(self.leaf_of_.dtype == np.int64 and np.array_equal(np.sort(self.leaf_of_), leaves), "leaf_of_")
        expect(np.array_equal(self.nodes_["maxl"][self.leaf_of_], np.arange(self.classes_.size)), "leaf_of_")
