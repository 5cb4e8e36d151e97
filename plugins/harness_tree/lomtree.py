"""LOMtree: a tree whose splits are learned together with its regressors, with predictions in logarithmic time."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk import rules
from harness.sdk.kernels.instances import Instances
from harness.sdk.saving import expect, expect_array
from harness_tree.kernels.lomtree import (
    ENTRY,
    TALLY,
    VACANT,
    GrowingTree,
    Growth,
    counts_of,
    make_room,
    new_tree,
    update_lomtree,
)
from harness_tree.kernels.nodes import NODE, route
from harness_tree.kernels.path_ranks import STEEPNESS, rank_paths
from harness_tree.kernels.regressor import RegressorStep
from harness_tree.kernels.search import ClassLists, NodeRanks, as_lists, make_lists
from harness_tree.learner import BatchLearner, Positions
from harness_tree.tree import TreeLearner, count_pairs

Indices = NDArray[np.int64]
RANKINGS = ("paths", "nodes", "leaves")
LIST_NAMES = ("list_starts_", "list_classes_", "list_counts_")
NODES_PER_CLASS = 4
"""Default number of inner nodes for each class."""
LEAST_RATE, MOST_RATE, ALL_PASSES = 0.1, 0.5, 2.0
"""Bounds of the default learning rate, and the sum of the rates of all passes in between."""


class LOMtree(TreeLearner, BatchLearner):
    """Logarithmic online multi-class tree of Choromanska and Langford (NIPS 2015).

    A leaf with instances of a second class is split, as long as there are fewer than T inner nodes. A node trains an
    instance to the right if the mean score of its class is at least that of all classes, otherwise to the left. This
    makes splits even and pure. With T nodes, a leaf with many instances outside its main class replaces the smallest
    leaf. A leaf predicts its most frequent class.

    When to use
    -----------
    Very many classes without a taxonomy. Time grows with the logarithm of their number.

    References
    ----------
    Choromanska and Langford, Logarithmic time online multiclass prediction, NIPS 2015.

    Parameters
    ----------
    T : int or None, default=None
        Maximum number of inner nodes, at least 0. None means four times the number of classes. With fewer than
        n_classes - 1, some classes have no leaf.
    resistance : float, default=4.0
        Resistance to swaps, R_S, at least 0: a leaf replaces the smallest leaf when C - maxc > R_S (C_root + 1), where
        C counts instances, and C_root those of the smallest leaf. Below 2, there are too many swaps in several passes.
    loss : {"hinge", "absolute", "squared", "logistic"}, default="hinge"
        Loss of each regressor.
    step : {"adagrad", "plain"}, default="adagrad"
        "adagrad" adapts the learning rate of each weight; "plain" uses one rate for all and is less accurate.
    eta : float or None, default=None
        Learning rate of the first pass, above 0. None means 2 / passes, at least 0.1 and at most 0.5: 0.5 up to four
        passes, 0.1 from 20 passes on. The rule was chosen on validation rows, with the default loss and step.
    decay : float, default=1.0
        Factor applied to the learning rate after each pass, above 0 and at most 1.
    passes : int, default=20
        Number of passes over the training rows, at least 1, each in a new random order.
    refit : bool, default=True
        If True, `fit` ends by counting the classes of the training rows in each leaf of the final tree. Otherwise the
        counts are those of training, when the tree was still changing.
    ranking : {"paths", "nodes", "leaves"}, default="paths"
        Classes ranked after that of the row's own leaf. "paths": classes of the most probable other nodes and leaves,
        with at most three times the decisions of one prediction. "nodes": the other classes of its leaf, then those of
        the nodes above it; the fastest. "leaves": classes of the most probable leaves, found best-first; the slowest.
    leaves : int, default=10
        Number of leaves searched with ranking="leaves", at least 1.
    store : {"auto", "dense", "hashed"}, default="auto"
        Storage of the weights. "dense" is an array for each inner node, "hashed" one hash table for all nodes. "auto"
        is dense up to 1 GB; the choice is made when training begins.
    bits : int or "auto", default="auto"
        A hash table has 2^bits weights of 8 bytes each, bits from 1 to 32. "auto" chooses a size by the number of
        values in the rows, at most 2^27.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    nodes_ : ndarray
        The nodes of the tree, with the fields described in `harness_tree.kernels.nodes`.
    root_ : int
        Number of the root node.
    tally_ : ndarray
        Counts of training: inner nodes, instances, swaps.
    depth_ : int
        Maximum number of decisions from the root to a leaf.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of all learned arrays.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_tree import LOMtree
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = LOMtree(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    entries_: NDArray[Any]
    tally_: NDArray[Any]
    list_starts_: NDArray[np.int64]
    list_classes_: NDArray[np.int32]
    list_counts_: NDArray[np.int64]

    def __init__(
        self,
        *,
        T: int | None = None,
        resistance: float = 4.0,
        loss: Literal["hinge", "absolute", "squared", "logistic"] = "hinge",
        step: Literal["adagrad", "plain"] = "adagrad",
        eta: float | None = None,
        decay: float = 1.0,
        passes: int = 20,
        refit: bool = True,
        ranking: Literal["paths", "nodes", "leaves"] = "paths",
        leaves: int = 10,
        store: Literal["auto", "dense", "hashed"] = "auto",
        bits: int | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.T = T
        self.resistance = resistance
        self.loss = loss
        self.step = step
        self.eta = eta
        self.decay = decay
        self.passes = passes
        self.refit = refit
        self.ranking = ranking
        self.leaves = leaves
        self.store = store
        self.bits = bits
        self.random_state = random_state

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "T": rules.optional(self.T, rules.count(self.T, 0)),
            "resistance": rules.not_negative(self.resistance),
            "refit": rules.flag(self.refit),
            "ranking": rules.one_of(self.ranking, RANKINGS),
            "leaves": rules.count(self.leaves),
            **self._tree_rules(),
        }

    def _budget(self) -> int:
        return NODES_PER_CLASS * self.classes_.size if self.T is None else int(self.T)

    def _shared_rules(self) -> dict[str, rules.Rule]:
        return {**super()._shared_rules(), "eta": rules.optional(self.eta, rules.positive(self.eta))}

    def _eta(self) -> float:
        if self.eta is None:
            return max(LEAST_RATE, min(MOST_RATE, ALL_PASSES / self.passes))
        return float(self.eta)

    # -- training

    def _set_up(self, generator: np.random.Generator) -> None:
        self.nodes_, self.entries_, self.tally_ = new_tree(0)
        self._begin_weights(self._budget())

    def _grow(self, instances: Instances) -> None:
        self.arrived_ += int(instances.data.size)
        if self.hashed_:
            self._double_table(self._budget())
        n_features = self.places_.size
        new = self.n_features_in_ - n_features
        self.places_ = np.append(self.places_, np.arange(n_features, self.n_features_in_, dtype=np.int32))
        if new and not self.hashed_:
            stretches = self.table_.reshape(-1, n_features + 1, 2)
            self.table_ = np.pad(stretches, ((0, 0), (0, new), (0, 0))).reshape(-1, 2)

    def _learn(self, instances: Instances, labels: Positions, order: NDArray[np.int64], step: RegressorStep) -> None:
        self._forget_lists()
        self._reserve()
        tree, weights = self._tree(), self._weights()
        growth = Growth(self._budget(), float(self.resistance))
        space = np.empty((2, int(np.diff(instances.indptr).max(initial=0))), np.float32)
        while (done := update_lomtree(tree, weights, instances, labels, order, growth, step, space)) < order.size:
            tree, order = make_room(tree), order[done:]
        self.entries_, self.root_ = tree.entries, int(tree.tally["root"][0])
        self._trim()
        if not np.isfinite(self.nodes_["M"]).all():
            raise ValueError("weights outgrew float32: scale X down, or lower eta")

    def _reserve(self) -> None:
        """Reserve room for all nodes of the budget; memory is allocated on first use."""
        budget, used = self._budget(), self.nodes_
        self.nodes_ = np.zeros(max(2 * budget + 1, used.size), NODE)
        self.nodes_[: used.size] = used
        size = budget * (self.n_features_in_ + 1)
        if not self.hashed_ and size > len(self.table_):
            kept = self.table_
            self.table_ = np.zeros((size, 2), np.float32)
            self.table_[: len(kept)] = kept

    def _trim(self) -> None:
        """Drop the room that no node uses yet."""
        self.nodes_ = self.nodes_[: self.tally_["n_nodes"][0]]

    def _forget_lists(self) -> None:
        for name in LIST_NAMES:
            if hasattr(self, name):
                delattr(self, name)

    def _finish(self) -> None:
        self._get_ready()
        if not self.hashed_:  # unused slots are not part of the index
            self.table_ = self.table_[: int(self.tally_["t"][0]) * (self.n_features_in_ + 1)]

    # -- ranking

    def _get_ready(self) -> None:
        """Compute the class lists of the nodes, at the first use after training."""
        if not hasattr(self, "list_starts_"):
            counted, favourites = counts_of(self._tree()), self.nodes_["maxl"].astype(np.int64)
            if self.refit and hasattr(self, "_training"):
                counted, favourites = self._refitted(*counted, favourites)
            self.list_starts_, self.list_classes_, self.list_counts_, _ = as_lists(*counted, favourites)

    def _lists(self) -> ClassLists:
        self._get_ready()
        return make_lists(self.list_starts_, self.list_classes_, self.list_counts_)

    def _refitted(
        self, at: Indices, classes: Indices, counts: Indices, favourites: Indices
    ) -> tuple[tuple[Indices, Indices, Indices], Indices]:
        """Return the counts with those of each leaf replaced by counts of the training rows that reach it."""
        instances, labels = self._training
        leaves, _ = route(self.nodes_, self.root_, self._weights(), instances)
        found = count_pairs(leaves, labels, (len(self.nodes_), self.classes_.size)).tocoo()
        inner = self.nodes_["left"][at] >= 0
        favourites[np.unique(leaves)] = -1  # ties go to the first class
        nodes_met, classes_met = found.coords
        counted = (
            np.concatenate([at[inner], nodes_met]).astype(np.int64),
            np.concatenate([classes[inner], classes_met]).astype(np.int64),
            np.concatenate([counts[inner], found.data]).astype(np.int64),
        )
        return counted, favourites

    def _rank_nodes(self, instances: Instances, k: int) -> NodeRanks:
        if k == 1:
            self._get_ready()
            leaves, decisions = route(self.nodes_, self.root_, self._weights(), instances)
            return NodeRanks(self.list_classes_[self.list_starts_[leaves]][:, np.newaxis], decisions)
        found = (self.nodes_, self.root_, self._weights(), self._lists(), instances, k, self.classes_.size)
        if self.ranking == "paths":
            return rank_paths(*found)
        from harness_tree.kernels.leaf_ranks import rank_nodes  # noqa: PLC0415 (compiled only if needed)

        return rank_nodes(*found, self.leaves if self.ranking == "leaves" else 0)

    def _steepness(self) -> float:
        return STEEPNESS if self.ranking == "paths" else super()._steepness()

    def _leaf_counts(self) -> csr_array:
        lists, n_nodes = self._lists(), len(self.nodes_)
        at = np.repeat(np.arange(n_nodes), np.diff(lists.starts))
        kept = (self.nodes_["left"][at] < 0) & (lists.counts > 0)
        shape = (n_nodes, self.classes_.size)
        return csr_array((lists.counts[kept].astype(np.float64), (at[kept], lists.classes[kept])), shape=shape)

    def _tree(self) -> GrowingTree:
        return GrowingTree(self.nodes_, self.entries_, self.tally_)

    # -- files

    def _check_restored(self) -> None:
        expect_array(self.tally_, (1,), TALLY, "tally_")
        tally, size = self.tally_[0], self.entries_.size
        expect(tally["n_nodes"] == len(self.nodes_) and tally["root"] == self.root_, "tally_")
        self._check_tree(int(tally["t"]))
        expect(
            self.entries_.dtype == ENTRY and self.entries_.ndim == 1 and size > 0 and size & (size - 1) == 0, "entries_"
        )
        expect(bool((self.entries_["key"] == VACANT).sum() == size - tally["n_entries"] > 0), "entries_")
        starts, classes = self.list_starts_, self.list_classes_
        expect_array(starts, (len(self.nodes_) + 1,), np.int64, "list_starts_")
        expect(bool(starts[0] == 0 and (np.diff(starts) >= (self.nodes_["left"] < 0)).all()), "list_starts_")
        expect_array(classes, (int(starts[-1]),), np.int32, "list_classes_")
        expect_array(self.list_counts_, (int(starts[-1]),), np.int64, "list_counts_")
        expect(bool(((classes >= 0) & (classes < self.classes_.size)).all()), "list_classes_")
