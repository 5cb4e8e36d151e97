"""Base of the tree learners: storage of weights, paths through the tree, and statistics."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from harness.sdk import rules
from harness.sdk.classifier import Examples, Matrix, SearchScores, with_first_ahead
from harness.sdk.kernels.instances import Instances, by_frequency, places_of, renamed
from harness.sdk.saving import expect, expect_array
from harness_tree.kernels.nodes import NODE, levels, route, tree_depth
from harness_tree.kernels.regressor import BLOCK, Weights, at_offsets, dense_weights, hashed_weights
from harness_tree.kernels.search import ClassLists, NodeRanks
from harness_tree.learner import PassLearner
from harness_tree.statistics import TreeStatistics, draw_tree, measure

STORES = ("auto", "dense", "hashed")
STEP_KINDS = ("adagrad", "plain")
DENSE_BYTES = 2**30
"""Maximum size of a dense table with store="auto"."""
FEWEST_BITS, MOST_BITS = 10, 27
"""The sizes from which bits="auto" chooses, up to that of the largest dense table."""


class TreeLearner(SearchScores, PassLearner):
    """A classifier that sends an instance down a binary tree to a leaf: left if h(x) < 0, otherwise right."""

    learned: ClassVar[str] = "table_"
    steepness: ClassVar[float] = 2.0
    """A node sends an instance to the right with probability sigma(steepness h), as in the ranking."""

    step: str
    store: str
    bits: int | Literal["auto"]
    nodes_: NDArray[Any]
    root_: int
    table_: NDArray[np.float32]
    """Weights and the sums of their squared gradients."""
    hashed_: bool
    block_: int
    """Number of neighbouring features in the table. Weights cannot be found with another number."""
    arrived_: int
    """Number of values of all rows at the beginning of training and in batches."""
    places_: NDArray[np.int32]
    """By feature: its place in a node's range of the table. Frequent features come first, which saves a third of the
    time of training."""

    # -- methods of a learner

    @abstractmethod
    def _lists(self) -> ClassLists:
        """Return the classes of each node."""

    @abstractmethod
    def _rank_nodes(self, instances: Instances, k: int) -> NodeRanks:
        """Return the k best classes of each instance, and the number of decisions."""

    @abstractmethod
    def _leaf_counts(self) -> csr_array:
        """Return the training instances by their last node and class."""

    # -- weights

    def _tree_rules(self) -> dict[str, rules.Rule]:
        holds, _ = rules.count(self.bits)
        allowed = self.bits == "auto" or (holds and int(self.bits) <= 32)
        return {
            "step": rules.one_of(self.step, STEP_KINDS),
            "store": rules.one_of(self.store, STORES),
            "bits": (allowed, '"auto" or an integer from 1 to 32'),
        }

    def _arrange(self, instances: Instances) -> None:
        self.arrived_ = int(instances.data.size)
        self.places_ = places_of(by_frequency(instances, self.n_features_in_))

    def _arranged(self, instances: Instances) -> Instances:
        return at_offsets(renamed(instances, self.places_), self._weights())

    def _begin_weights(self, n_slots: int) -> None:
        size = n_slots * (self.n_features_in_ + 1)
        too_large = 8 * size > DENSE_BYTES
        self.hashed_ = self.store == "hashed" or (self.store == "auto" and too_large)
        self.block_ = BLOCK if self.hashed_ else 1
        self.table_ = np.zeros((2 ** self._table_bits(n_slots) if self.hashed_ else size, 2), np.float32)

    def _table_bits(self, n_slots: int) -> int:
        """Return the binary logarithm of the size of a hashed table."""
        if self.bits != "auto":
            return int(self.bits)
        return needed_bits(self.arrived_, self.n_features_in_ + 1, n_slots)

    def _double_table(self, n_slots: int) -> None:
        """Double a hashed table. Each weight is copied to the second place where half of its users will look for it."""
        while len(self.table_) < 2 ** self._table_bits(n_slots):
            self.table_ = np.concatenate([self.table_, self.table_])

    def _weights(self) -> Weights:
        return hashed_weights(self.table_) if self.hashed_ else dense_weights(self.table_, self.n_features_in_)

    # -- ranking

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        return self._rank_nodes(instances, k).ranks

    def _score_pairs(self, rows: Examples, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the probability of each class by the paths to its leaves."""
        from harness_tree.kernels.path_scores import ClassLeaves, score_paths  # noqa: PLC0415 (compiles a kernel)

        instances = self._arranged(self._as_instances(rows))
        found = ClassLeaves(*leaves_by_class(self.nodes_, self._lists(), self.classes_.size))
        return score_paths(self.nodes_, self._weights(), found, instances, ranks, self._steepness())

    def _steepness(self) -> float:
        return self.steepness

    def predict_proba(self, X: Matrix) -> NDArray[np.float64]:
        """Return the probability of every class by the paths to its leaves, as rows x classes; not calibrated.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        """
        scores: NDArray[np.float64] = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([1.0 - scores, 1.0 + scores])
        total = scores.sum(axis=1, keepdims=True)
        even = np.full(scores.shape, 1.0 / self.classes_.size)
        shares: NDArray[np.float64] = np.divide(scores, total, out=even, where=total > 0)
        return with_first_ahead(shares, self.rank(X, 1)[:, 0])

    @property
    def index_size_(self) -> int:
        """The number of non-zero weights."""
        check_is_fitted(self)
        return int(np.count_nonzero(self.table_[:, 0]))

    @property
    def index_bytes_(self) -> int:
        """The bytes of weights, nodes and class statistics, including everything that further training needs."""
        check_is_fitted(self)
        total = 0
        for name, value in vars(self).items():
            if name.endswith("_") and isinstance(value, np.ndarray):
                total += value.nbytes
        return total

    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Return the weights read per active feature to find the k best classes of a row: one for each decision.

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
        instances = self._known_instances(X)
        steps = self._rank_nodes(instances, k).decisions
        active = np.add.reduceat(np.append(instances.data != 0, False), instances.indptr[:-1], dtype=np.int64)
        active[np.diff(instances.indptr) == 0] = 0
        return float((active * steps).sum() / active.sum()) if active.sum() else 0.0

    @property
    def depth_(self) -> int:
        """Maximum number of decisions from the root to a leaf."""
        check_is_fitted(self)
        return tree_depth(self.nodes_, self.root_)

    def statistics(self, X: Matrix = None, y: ArrayLike | None = None) -> TreeStatistics:
        """Return depth, balance, purity and quality of the tree.

        Parameters
        ----------
        X : array or sparse matrix or None, default=None
            Rows to measure on. None means the training rows.
        y : array or None, default=None
            Class of each row, required with X.

        Returns
        -------
        TreeStatistics
            The statistics.
        """
        return measure(self.nodes_, self.root_, self._counts(X, y)[0])

    def picture(self, X: Matrix = None, y: ArrayLike | None = None, *, depth: int = 4) -> str:
        """Return a drawing of the tree as text, with the paths of instances.

        Parameters
        ----------
        X : array or sparse matrix or None, default=None
            Rows to send through the tree. None means the training rows.
        y : array or None, default=None
            Class of each row, required with X.
        depth : int, default=4
            Maximum depth to draw.

        Returns
        -------
        str
            One line per node.
        """
        rules.enforce({"depth": rules.count(depth, 0)}, {"depth": depth})
        counts, names = self._counts(X, y)
        return draw_tree(self.nodes_, self.root_, counts, names.tolist(), depth)

    def _counts(self, X: Matrix, y: ArrayLike | None) -> tuple[csr_array, NDArray[Any]]:
        """Return the number of instances by node and class, and the names of these classes."""
        check_is_fitted(self)
        if X is None:
            return self._leaf_counts(), self.classes_
        leaves, _ = route(self.nodes_, self.root_, self._weights(), self._known_instances(X))
        names, found = np.unique(np.asarray(y), return_inverse=True)
        return count_pairs(leaves, found, (len(self.nodes_), names.size)), names

    # -- files

    def _check_tree(self, n_slots: int) -> None:
        nodes, n_nodes = self.nodes_, len(self.nodes_)
        expect(nodes.dtype == NODE and nodes.ndim == 1 and 0 <= self.root_ < n_nodes, "nodes_")
        self.nodes_ = nodes = nodes.astype(NODE)  # fields from a file are not aligned, which kernels need
        inner = nodes["left"] >= 0
        for link, least in (("parent", -1), ("left", 0), ("right", 0)):
            within = np.all(nodes[link] < n_nodes) and np.all(nodes[link][inner] >= least)
            expect(bool(within), link)
        expect(_reaches_each_once(nodes, self.root_), "nodes_")
        expect(bool(((nodes["slot"][inner] >= 0) & (nodes["slot"][inner] < n_slots)).all()), "slot")
        expect(getattr(self, "block_", None) == (BLOCK if self.hashed_ else 1), "block_")
        rows = len(self.table_) if self.hashed_ else n_slots * (self.n_features_in_ + 1)
        expect(not self.hashed_ or (rows > 0 and rows & (rows - 1) == 0), "table_")
        expect_array(self.table_, (rows, 2), np.float32, "table_")
        expect_array(self.places_, (self.n_features_in_,), np.int32, "places_")
        expect(np.array_equal(np.sort(self.places_), np.arange(self.n_features_in_)), "places_")


def leaves_by_class(
    nodes: NDArray[Any], lists: ClassLists, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the start of each class's leaves, these leaves, and the share of the class at each.

    A leaf without training rows belongs to its first class.
    """
    at = np.repeat(np.arange(len(nodes)), np.diff(lists.starts))
    totals = lists.totals[at]
    is_first = np.arange(at.size) == lists.starts[at]
    shares = np.where(totals > 0, lists.counts / np.maximum(totals, 1), is_first)
    kept = np.flatnonzero((nodes["left"][at] < 0) & (shares > 0))
    kept = kept[np.argsort(lists.classes[kept], kind="stable")]
    starts = np.searchsorted(lists.classes[kept], np.arange(n_classes + 1))
    return starts.astype(np.int64), at[kept].astype(np.int64), shares[kept].astype(np.float64)


def needed_bits(n_values: int, n_weights: int, n_nodes: int) -> int:
    """Return the binary logarithm of the table size for rows with `n_values` values, between fixed bounds.

    Each value reaches one node of each level, and the 2^d nodes of level d have n_weights each. So at most
    min(n_values, 2^d n_weights) weights of a level are ever used.
    """
    levels_needed = max(1, int(n_nodes)).bit_length()
    used = 0
    for level in range(levels_needed):
        used += min(n_values, 2**level * n_weights)
    return min(max(used.bit_length(), FEWEST_BITS), MOST_BITS)


def count_pairs(rows: NDArray[np.int64], columns: NDArray[Any], shape: tuple[int, int]) -> csr_array:
    """Return how often each pair occurs."""
    counts = csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
    counts.sum_duplicates()
    return counts


def _reaches_each_once(nodes: NDArray[Any], root: int) -> bool:
    """Return whether the links form a single tree: each node is reached once, and is the parent of its children."""
    met = 0
    for level in levels(nodes, root):
        met += level.size
        if met > len(nodes):  # the links form a cycle
            return False
        inner = level[nodes["left"][level] >= 0]
        for side in ("left", "right"):
            if np.any(nodes["parent"][nodes[side][inner]] != inner):
                return False
    return met == len(nodes) and bool(nodes["parent"][root] == -1)
