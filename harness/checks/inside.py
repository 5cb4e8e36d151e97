"""The learner that wrappers are checked with: simple, and with all that a wrapper may ask of the one inside."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from harness.abilities import AfterPass
from harness.sdk.estimator import Classifier, Matrix
from harness.sdk.kernels.instances import Labels
from harness.sdk.rules import Rule, count


class ClassSums(Classifier):
    """Scores a class by the product of the row with the sum of the class's rows.

    Parameters
    ----------
    passes : times that the rows are added up.
    random_state : a seed that nothing depends on.

    Attributes
    ----------
    coef_ : the sums, classes x features.
    """

    takes_several = True
    learned = "coef_"
    coef_: NDArray[np.float64]

    def __init__(self, *, passes: int = 1, random_state: int | np.random.RandomState | None = None) -> None:
        self.passes = passes
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike, *, after_pass: AfterPass | None = None) -> Self:
        """Add up the rows of each class."""
        rows, labels = self._begin(X, y)
        self.coef_ = np.zeros((self.classes_.size, self.n_features_in_))
        for number in range(1, self.passes + 1):
            self._add(rows, labels)
            if after_pass is not None:
                after_pass(number)
        return self

    def partial_fit(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Add the rows of a batch."""
        rows, labels, first = self._begin_batch(X, y, classes)
        known = np.zeros((0, 0)) if first else self.coef_
        self.coef_ = np.zeros((self.classes_.size, self.n_features_in_))
        self.coef_[: known.shape[0], : known.shape[1]] = known
        self._add(rows, labels)
        return self

    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Weights read per active feature: one for each class."""
        return float(self.classes_.size) if self._known(X).nnz else 0.0

    def _add(self, rows: csr_array, labels: Labels) -> None:
        shape = (rows.shape[0], self.classes_.size)
        members = csr_array((np.ones(labels.indices.size), labels.indices, labels.indptr), shape=shape)
        self.coef_ += (members.T @ rows).toarray()

    def _rank(self, X: csr_array, k: int) -> NDArray[np.int32]:
        order = np.argsort(-(X @ self.coef_.T), axis=1, kind="stable")[:, :k]
        return np.pad(order.astype(np.int32), ((0, 0), (0, k - order.shape[1])), constant_values=-1)

    def _rules(self) -> dict[str, Rule]:
        return {"passes": count(self.passes)}
