"""SVM: one linear support vector machine for each class against the rest."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from harness.sdk import rules
from harness.sdk.classifier import Matrix
from harness.sdk.costs import settle_cost
from harness.sdk.index import load_kernel
from harness.sdk.kernels.edges import as_rows
from harness.sdk.kernels.instances import Labels, as_instances
from harness_svm.flat.kernels.dense_one_vs_rest import train_dense_one_vs_rest
from harness_svm.flat.kernels.one_vs_rest import train_one_vs_rest
from harness_svm.flat.parameters import HingeParameters
from harness_svm.linear import LinearMachine, draw_seed, threshold

load_kernel(ranks_untouched=True)

FEW_ROWS, FEW_ROWS_TOL = 100, 1e-10
"""So few rows are solved to this tolerance, which takes no time: neither the seed nor the order of rows shows."""


class SVM(HingeParameters, LinearMachine):
    """One-vs-rest linear support vector machines, by coordinate descent in the dual (Hsieh and others, 2008).

    Each class is trained independently, on as many threads as allowed (`harness run --threads`, or the variable
    OMP_NUM_THREADS). The number of threads changes no weight.

    The default of C is chosen on validation sets (results/defaults); KDD 2008 uses C=1. At most 100 rows are solved to
    1e-10 instead of `tol` if `max_sweeps` suffices.

    When to use
    -----------
    High accuracy with up to some thousand classes. Classes are trained independently, so more threads help.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for large-scale linear SVM, ICML
    2008.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes.
    base_ : ndarray of shape (n_classes,)
        The bias of each class.
    C_ : float
        The cost that was used.
    prune_ : float
        The threshold that was used for pruning.
    sweeps_ : ndarray of shape (n_classes,)
        Number of sweeps over all rows for each class.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of the index.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_svm import SVM
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = SVM(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    takes_several: ClassVar[bool] = True
    takes_dense: ClassVar[bool] = True

    C_: float
    prune_: float
    sweeps_: NDArray[np.int64]

    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train from nothing.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Factors of the cost C, one for each row. At the optimum, a row of weight 2 counts as two rows, and a row of
            weight 0 as none. C="auto" is chosen without weights.

        Returns
        -------
        self
            The fitted estimator.
        """
        rows, labels, weights = self._begin_weighted(X, y, sample_weight)
        seed = draw_seed(self.random_state)
        self.C_ = settle_cost(self, self.C, rows, labels, seed)
        for tol in (FEW_ROWS_TOL, self.tol) if rows.shape[0] <= FEW_ROWS else (self.tol,):
            (fitted,) = self._train_path(rows, labels, [self.C_], seed, tol=min(tol, self.tol), weights=weights)
            late = int((fitted.sweeps_ > self.max_sweeps).sum())
            if not late:
                break
        if late:
            warnings.warn(f"{late} classes are not within tol after {self.max_sweeps} sweeps", ConvergenceWarning, 2)
        fitted.sweeps_ = np.minimum(fitted.sweeps_, self.max_sweeps)
        return fitted

    def _train_path(
        self,
        rows: Any,
        labels: Labels,
        costs: Sequence[float],
        seed: int,
        *,
        tol: float | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Iterator[Self]:
        """Yield the learner after training at each cost; a class that is late has one sweep more than allowed."""
        n_features, n_classes = rows.shape[1], self.classes_.size
        self.prune_ = threshold(self.prune, n_features, n_classes)
        problems = [self._problem(C)._replace(tolerance=float(self.tol if tol is None else tol)) for C in costs]
        given = (labels, n_features, n_classes)
        if weights is not None:
            from harness_svm.flat.kernels.weighted import train_weighted_one_vs_rest  # noqa: PLC0415 (compiles a kernel that few need)

            instances = as_instances(csr_array(rows))
            path = [
                train_weighted_one_vs_rest(instances, *given, problem, seed, self.prune_, weights)
                for problem in problems
            ]
        elif isinstance(rows, np.ndarray):
            path = train_dense_one_vs_rest(rows, *given, problems, seed, self.prune_)
        else:
            path = train_one_vs_rest(as_instances(rows), *given, problems, seed, self.prune_)
        seen = self._base_of_seen(labels)
        for machines in path:
            self.sweeps_ = machines.sweeps
            self.base_ = seen + machines.bias
            self.rows_ = as_rows(machines.edges)
            yield self

    def _rules(self) -> dict[str, rules.Rule]:
        return self._hinge_rules()
