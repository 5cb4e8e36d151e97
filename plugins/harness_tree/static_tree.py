"""Base of the trees that are drawn at random before training, with one leaf for each class."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk import rules
from harness.sdk.kernels.instances import Instances
from harness.sdk.saving import expect
from harness_tree.kernels.leaf_ranks import rank_nodes
from harness_tree.kernels.regressor import RegressorStep
from harness_tree.kernels.search import ClassLists, NodeRanks, make_lists
from harness_tree.kernels.static_tree import build_tree, update_static_tree
from harness_tree.learner import Positions
from harness_tree.tree import TreeLearner


class StaticTree(TreeLearner):
    """A complete tree with the classes in random order at its leaves, and a regressor at each inner node.

    Parameters
    ----------
    loss : {"hinge", "absolute", "squared", "logistic"}, default="hinge"
        Loss of each regressor.
    step : {"adagrad", "plain"}, default="adagrad"
        "adagrad" adapts the learning rate of each weight; "plain" uses one rate for all.
    eta : float, default=1.0
        Learning rate of the first pass, above 0.
    decay : float, default=0.85
        Factor applied to the learning rate after each pass, above 0 and at most 1.
    passes : int, default=5
        Number of passes over the training rows, at least 1, each in a new random order.
    store : {"auto", "dense", "hashed"}, default="auto"
        Storage of the weights. "dense" is an array for each inner node, "hashed" one hash table for all nodes. "auto"
        is dense up to 1 GB.
    bits : int or "auto", default="auto"
        A hash table has 2^bits weights of 8 bytes each, bits from 1 to 32. "auto" chooses a size by the number of
        values in the training rows, at most 2^27.
    random_state : int, RandomState instance or None, default=None
        Seed of the tree and of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    nodes_ : ndarray
        The nodes of the tree, with the fields described in `harness_tree.kernels.nodes`.
    leaf_of_ : ndarray of shape (n_classes,)
        The leaf of each class.
    depth_ : int
        Maximum number of decisions to a leaf, at most ceil(log2 K).
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of all learned arrays.
    """

    winners_only: ClassVar[bool]
    """True if an instance trains only the nodes up to the first one that would send it to the other side."""

    root_: int = 0
    leaf_of_: NDArray[np.int64]
    """The leaf of each class."""

    def __init__(
        self,
        *,
        loss: Literal["hinge", "absolute", "squared", "logistic"] = "hinge",
        step: Literal["adagrad", "plain"] = "adagrad",
        eta: float = 1.0,
        decay: float = 0.85,
        passes: int = 5,
        store: Literal["auto", "dense", "hashed"] = "auto",
        bits: int | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.loss = loss
        self.step = step
        self.eta = eta
        self.decay = decay
        self.passes = passes
        self.store = store
        self.bits = bits
        self.random_state = random_state

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
