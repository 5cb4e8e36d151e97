"""OAA: online one-against-all, the flat baseline of the trees.

Each class has a linear regressor, trained on all rows.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from harness.sdk import rules
from harness.sdk.classifier import Examples, Matrix, SearchScores
from harness.sdk.contributions import Contributions, collect_parts, linear_parts
from harness.sdk.kernels.instances import Instances, Vectors, as_instances
from harness.sdk.kernels.vectors import rank_vectors
from harness.sdk.saving import expect_array
from harness.sdk.threads import in_threads, one_blas_thread, stretches
from harness_tree.kernels.dense_oaa import put_back, take_regressors, train_densely
from harness_tree.kernels.one_against_all import rank_oaa, train_columns
from harness_tree.kernels.regressor import RegressorStep
from harness_tree.learner import BatchLearner, Positions

CLASSES_OF_A_LINE = 16
"""Number of classes whose weights share a cache line: two threads that write to the same line slow each other down."""


class OAA(SearchScores, BatchLearner):
    """One linear regressor for each class against all others, h_k(x) = <w_k, x> + b_k, trained online.

    Every instance moves every regressor with a loss on it, towards 1 for its own class and -1 for the others, by a
    plain gradient step that never passes its target. The class with the highest score is predicted, the first one on
    ties.

    The defaults are chosen on validation sets (results/defaults); the LOMtree paper uses 20 passes.

    When to use
    -----------
    Comparison with the LOMtree paper, where it is the flat baseline. Time grows with the number of classes.

    References
    ----------
    Choromanska and Langford, Logarithmic time online multiclass prediction, NIPS 2015.

    Parameters
    ----------
    loss : {"hinge", "absolute", "squared", "logistic"}, default="hinge"
        Loss of each regressor.
    eta : float, default=1.0
        Learning rate of the first pass, above 0.
    decay : float, default=0.85
        Factor applied to the learning rate after each pass, above 0 and at most 1.
    passes : int, default=10
        Number of passes over the training rows, at least 1, each in a new random order.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    W_ : ndarray of shape (n_features + 1, n_classes)
        The weights, biases first, as a dense matrix of 4 bytes per weight.
    base_ : ndarray of shape (n_classes,)
        0 for each class that has occurred, -inf for the others.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of the weights.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_tree import OAA
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = OAA(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    takes_dense: ClassVar[bool] = True
    learned: ClassVar[str] = "W_"

    W_: NDArray[np.float32]
    base_: NDArray[np.float64]

    def __init__(
        self,
        *,
        loss: Literal["hinge", "absolute", "squared", "logistic"] = "hinge",
        eta: float = 1.0,
        decay: float = 0.85,
        passes: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.loss = loss
        self.eta = eta
        self.decay = decay
        self.passes = passes
        self.random_state = random_state

    def _rules(self) -> dict[str, rules.Rule]:
        return {}

    def _set_up(self, generator: np.random.Generator) -> None:
        self.W_ = np.zeros((self.n_features_in_ + 1, self.classes_.size), np.float32)
        self.base_ = np.full(self.classes_.size, -np.inf)

    def _grow(self, instances: Instances) -> None:
        new_features = self.n_features_in_ + 1 - self.W_.shape[0]
        new_classes = self.classes_.size - self.W_.shape[1]
        if new_features or new_classes:
            self.W_ = np.pad(self.W_, ((0, new_features), (0, new_classes)))
            self.base_ = np.pad(self.base_, (0, new_classes), constant_values=-np.inf)

    def _as_instances(self, rows: Examples) -> Any:
        """Return dense rows unchanged."""
        return rows if isinstance(rows, np.ndarray) else super()._as_instances(rows)

    def _learn(self, instances: Any, labels: Positions, order: NDArray[np.int64], step: RegressorStep) -> None:
        """Train the classes, distributed over threads since they are independent."""
        if isinstance(instances, np.ndarray):
            self._learn_densely(instances, labels, order, step)
        else:
            shares = stretches(self.classes_.size, least=CLASSES_OF_A_LINE)
            in_threads(lambda share: train_columns(self.W_, share, instances, labels, order, step), shares)
        if not np.isfinite(self.W_).all():
            raise ValueError("weights outgrew float32: scale X down, or lower eta")
        self.base_[labels] = 0.0

    def _learn_densely(self, X: Vectors, labels: Positions, order: NDArray[np.int64], step: RegressorStep) -> None:
        parts = take_regressors(self.W_)
        with one_blas_thread():
            in_threads(lambda share: train_densely(parts[share], X, labels, order, step), stretches(len(parts)))
        for part in parts:
            put_back(part, self.W_)

    def _rank_instances(self, instances: Any, k: int) -> NDArray[np.int32]:
        if isinstance(instances, np.ndarray):
            bias, matrix = self.W_[0].astype(np.float64), self.W_[1:]
            return rank_vectors(matrix, instances, bias + self.base_, k, empty_too=True)
        return rank_oaa(self.W_, instances, self.base_, k)

    def _score_pairs(self, rows: Examples, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the score of each class's regressor."""
        bias = self.W_[0].astype(np.float64) + self.base_
        columns = np.maximum(ranks, 0)
        if isinstance(rows, np.ndarray):
            every = (rows @ self.W_[1:]).astype(np.float64) + bias
            return np.take_along_axis(every, columns, axis=1)
        found: NDArray[np.float64] = bias[columns]
        for i, (start, stop) in enumerate(itertools.pairwise(rows.indptr.tolist())):
            weights = self.W_[1 + rows.indices[start:stop][:, np.newaxis], columns[i]].astype(np.float64)
            found[i] += rows.data[start:stop].astype(np.float64) @ weights
        return found

    def _explain_pairs(self, rows: Examples, ranks: NDArray[np.int32]) -> Contributions:
        def weights_of(features: NDArray[np.int32]) -> csr_array:
            return csr_array(self.W_[1 + features].astype(np.float64))

        bias = self.W_[0].astype(np.float64) + self.base_
        instances = as_instances(csr_array(rows))
        return collect_parts(instances, self.n_features_in_, ranks, linear_parts(weights_of, bias))

    @property
    def index_size_(self) -> int:
        """The number of non-zero weights."""
        check_is_fitted(self)
        return int(np.count_nonzero(self.W_))

    @property
    def index_bytes_(self) -> int:
        """The bytes of the weights."""
        check_is_fitted(self)
        return self.W_.nbytes + self.base_.nbytes

    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Return the weights read per active feature: one for each class.

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
        rows = self._known(X)
        values = rows if isinstance(rows, np.ndarray) else rows.data
        return float(self.classes_.size) if values.any() else 0.0

    def _check_restored(self) -> None:
        shape = (self.n_features_in_ + 1, self.classes_.size)
        expect_array(self.W_, shape, np.float32, "W_")
        expect_array(self.base_, shape[1:], np.float64, "base_")
