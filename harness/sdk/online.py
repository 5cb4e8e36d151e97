"""`OnlineClassifier`, the base class of online learners: everything except the update."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from math import inf
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from harness.host.contract import AfterPass
from harness.sdk import rules, saving
from harness.sdk.classifier import Examples, Matrix
from harness.sdk.contributions import rows_of_index
from harness.sdk.index import (
    IndexClassifier,
    are_many,
    load_kernel,
    load_kernel_for_many,
    rank_all_classes,
    rank_touched_classes,
)
from harness.sdk.kernels.class_scores import score_classes
from harness.sdk.kernels.edges import Edges, as_edges, as_rows, keep_largest, pack_rows
from harness.sdk.kernels.instances import Instances, Labels, Vectors, as_instances, positive_only
from harness.sdk.kernels.rows import CACHED_CLASSES, empty_rows, enlarge, widen
from harness.sdk.kernels.vectors import Block, as_matrix, matrix_edges, row_blocks, scored
from harness.sdk.threads import one_blas_thread


class OnlineClassifier(IndexClassifier):
    """A classifier that learns instance by instance into an index of feature -> (class, weight) edges.

    A learner implements `_rules` and `_update`, and sets class variables for input and ranking. It overrides `_arrays`
    if it has more than the index, and `_degree` if it scores a part of each row.

    Attributes
    ----------
    classes_ : the classes by position: sorted, followed by those of later batches.
    rows_ : the index.
    base_ : 0 for each class that occurred so far, -inf for the others.
    """

    ignores_not_positive: ClassVar[bool] = False
    """True if features with x_f <= 0 count as absent; each `fit` warns if some are negative."""
    ranks_untouched: ClassVar[bool] = True
    """True if classes without an edge to the row are ranked, with the score 0; else only scores above 0 are ranked."""

    when_too_large: ClassVar[str] = "scale X down"
    """Next step if float32 cannot hold the weights."""

    passes: int
    random_state: int | np.random.RandomState | None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        load_kernel(cls.ranks_untouched)

    # -- to implement

    @abstractmethod
    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        """Learn from the instances in this order, in pass `number`; change `rows_` and the arrays in place.

        Return the number of instances done. If the arena has no more room, it is enlarged, and the method is called
        again for the others.
        """

    def _learn_block(self, W: Vectors, block: Block, labels: Labels) -> None:
        """Learn from a block of dense rows; change the weights in place. For learners that take dense rows."""
        raise NotImplementedError(f"{type(self).__name__} takes_dense and has no _learn_block")

    def _arrays(self, n_features: int, n_classes: int) -> dict[str, NDArray[Any]]:
        """Return the initial arrays beside the index, by feature or by class; their names end in _."""
        return {}

    def _degree(self) -> int:
        """Return the number of edges of a row that scoring reads; 0 for all."""
        return 0

    def _factors(self) -> NDArray[np.float64]:
        """Return the factor of each feature in the ranking of touched classes; empty if all are 1."""
        return np.empty(0)

    def _sizes(self, edges: Edges) -> NDArray[Any]:
        """Return the importance of each edge; `prune` removes the least important."""
        sizes: NDArray[Any] = np.abs(edges.weights)
        return sizes

    # -- training

    def fit(self, X: Matrix, y: ArrayLike, *, after_pass: AfterPass | None = None) -> Self:
        """Train from scratch.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Training rows, dense or sparse.
        y : array-like of shape (n_rows,) or indicator matrix of shape (n_rows, n_classes)
            Labels. Only learners for several labels accept an indicator matrix.
        after_pass : callable or None, default=None
            Called as `after_pass(n)` after pass n = 1, 2, ..., when the learner can rank.

        Returns
        -------
        self
            The fitted learner.
        """
        rows, labels = self._begin(X, y)
        if self.ignores_not_positive:
            warn_of_negative(rows, self)
        examples = rows if isinstance(rows, np.ndarray) else self._as_instances(rows)
        self._begin_index(n_edges=_n_edges(examples))
        generator = self._generator()
        for number in range(1, self.passes + 1):
            self._train(examples, labels, generator.permutation(rows.shape[0]), number)
            if after_pass is not None:
                after_pass(number)
        # A degree limit reads a row from its front, so there the order of weights must stay.
        by_class = self.classes_.size > CACHED_CLASSES and not self._degree()
        self.rows_ = pack_rows(self.rows_, by_class=by_class)
        return self

    def partial_fit(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from a batch in one pass, in the given order.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows of the batch. New columns become new features; fewer columns than before are an error.
        y : array-like of shape (n_rows,) or indicator matrix of shape (n_rows, n_classes)
            Labels. New classes get the next positions.
        classes : array-like or None, default=None
            Classes that may occur later. Optional, also for the first batch.

        Returns
        -------
        self
            The updated learner.
        """
        rows, labels, first = self._begin_batch(X, y, classes)
        if self.ignores_not_positive and first:  # later batches would repeat it
            warn_of_negative(rows, self)
        examples = rows if isinstance(rows, np.ndarray) else self._as_instances(rows)
        if first:
            self._begin_index(n_edges=_n_edges(examples))
        else:
            self._grow()
        self._train(examples, labels, np.arange(rows.shape[0]), number=1)
        return self

    def keep_largest(self, share: float) -> Self:
        """Keep the largest weights of the index, and drop the others.

        Parameters
        ----------
        share : float
            From 0 to 1. The floor(share * index_size_) largest weights stay, ties by feature, then class.

        Returns
        -------
        self
            The pruned learner.
        """
        check_is_fitted(self)
        rules.enforce({"share": rules.share(share)}, {"share": share})
        edges = as_edges(self.rows_)
        self.rows_ = as_rows(keep_largest(edges, self._sizes(edges), share))
        return self

    def _shared_rules(self) -> dict[str, rules.Rule]:
        return {"passes": rules.count(self.passes), **super()._shared_rules()}

    def _as_instances(self, rows: Examples) -> Instances:
        instances = as_instances(rows)
        return positive_only(instances) if self.ignores_not_positive else instances

    def _train(self, examples: Instances | Vectors, labels: Labels, order: NDArray[np.int64], number: int) -> None:
        if isinstance(examples, np.ndarray):
            self._train_densely(examples, labels, order, number)
        else:
            done = self._update(examples, labels, order, number)
            while done < order.size:
                self.rows_, order = enlarge(self.rows_), order[done:]
                done = self._update(examples, labels, order, number)
        self.base_[labels.indices] = 0.0

    def _train_densely(self, X: Vectors, labels: Labels, order: NDArray[np.int64], number: int) -> None:
        """Run a pass on weights in a matrix, and build the index from it."""
        W = np.ascontiguousarray(as_matrix(self.rows_, self.classes_.size).T)
        with one_blas_thread():
            for rows in row_blocks(X, order):
                self._learn_block(W, scored(rows, rows.values @ W.T), labels)
        if not np.isfinite(W).all():
            raise ValueError(f"weights outgrew float32 in pass {number}: {self.when_too_large}")
        self.rows_ = as_rows(matrix_edges(np.ascontiguousarray(W.T)))

    # -- the model

    def _begin_index(self, n_edges: int) -> None:
        """Create an empty model for the known features and classes."""
        if self.ranks_untouched and are_many(self.classes_):
            load_kernel_for_many()
        self.rows_ = empty_rows(self.n_features_in_, n_edges)
        for name, array in self._fresh_arrays().items():
            setattr(self, name, array)

    def _grow(self) -> None:
        """Enlarge the arrays for new features and classes; the known ones keep their positions."""
        if (self.rows_.start.size, self.base_.size) == (self.n_features_in_, self.classes_.size):
            return
        self.rows_ = widen(self.rows_, self.n_features_in_)
        for name, array in self._fresh_arrays().items():
            known = getattr(self, name)
            array[: known.size] = known
            setattr(self, name, array)

    def _fresh_arrays(self) -> dict[str, NDArray[Any]]:
        n_classes = self.classes_.size
        return {"base_": np.full(n_classes, -inf), **self._arrays(self.n_features_in_, n_classes)}

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        for name, array in self._fresh_arrays().items():
            saving.expect_array(getattr(self, name), array.shape, array.dtype, name)

    # -- prediction

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        """Rank the classes; a row without features ranks none."""
        if self.ranks_untouched:
            return rank_all_classes(self.rows_, instances, self.base_, k)
        n_classes, degree = self.classes_.size, self._degree()
        return rank_touched_classes(self.rows_, instances, self._factors(), k, n_classes=n_classes, degree=degree)

    def _score_instances(self, instances: Instances, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        if self.ranks_untouched:
            return super()._score_instances(instances, ranks)
        base, factors, degree = np.zeros(self.classes_.size), self._factors(), self._degree()
        return score_classes(self.rows_, instances, base, ranks, factors=factors, degree=degree)

    def _weights_of(self, features: NDArray[Any]) -> csr_array:
        if self.ranks_untouched:
            return super()._weights_of(features)
        weights, factors = rows_of_index(self.rows_, features, self.classes_.size, self._degree()), self._factors()
        return csr_array(weights * factors[features][:, np.newaxis]) if factors.size else weights

    def _biases(self) -> NDArray[np.float64]:
        return super()._biases() if self.ranks_untouched else np.zeros(self.classes_.size)

    def _n_bytes_beside(self) -> int:
        beside = self._arrays(self.n_features_in_, self.classes_.size)
        return sum(array.nbytes for array in beside.values())

    def _n_edges_read(self, features: NDArray[np.int32]) -> NDArray[np.uint32]:
        lengths = super()._n_edges_read(features)
        return np.minimum(lengths, self._degree()) if self._degree() else lengths

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.ignores_not_positive  # on the centred data of scikit-learn's checks
        return tags


def warn_of_negative(rows: csr_array, learner: object) -> None:
    """Warn about ignored negative values: their number, and their share of the values that are not 0.

    The warning names the line that called `fit`.

    Parameters
    ----------
    rows : csr_array
        Training rows.
    learner : object
        The learner that ignores them.
    """
    ignored = np.count_nonzero(rows.data < 0)
    if ignored:
        share = ignored / np.count_nonzero(rows.data)
        warnings.warn(
            f"{type(learner).__name__} ignores {ignored:,} negative values in X, {share:.1%} of those that are not 0: "
            "scale the features to 0 and above",
            DataConversionWarning,
            stacklevel=3,
        )


def warn_without_bias(rows: Examples, learner: object, bias: float, stacklevel: int = 5) -> None:
    """Warn if the rows have negative values and the learner has no bias.

    Separators through the origin cannot keep a class apart from the others in centred data.

    Parameters
    ----------
    rows : csr_array or ndarray
        Training rows.
    learner : object
        The learner.
    bias : float
        Value of its constant feature; 0 for none.
    stacklevel : int, default=5
        Number of calls up to the line that called `fit`.
    """
    values = rows if isinstance(rows, np.ndarray) else rows.data
    negative = 0 if bias else np.count_nonzero(values < 0)
    if negative:
        share = negative / np.count_nonzero(values)
        warnings.warn(
            f"{type(learner).__name__} has no bias, and {share:.1%} of the values in X are negative: set bias=1.0, or "
            "scale the features to 0 and above",
            UserWarning,
            stacklevel=stacklevel,
        )


def _n_edges(examples: Instances | Vectors) -> int:
    """Return the room for edges in training; none for dense rows, whose index is built after each pass."""
    return 0 if isinstance(examples, np.ndarray) else examples.data.size
