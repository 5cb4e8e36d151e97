"""Crammer and Singer's multi-class support vector machine: all classes in one problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from harness.sdk import rules
from harness.sdk.classifier import Matrix
from harness.sdk.costs import settle_cost
from harness.sdk.index import load_kernel
from harness.sdk.kernels.instances import Labels
from harness_svm.linear import draw_seed
from harness_svm.structured.classifier import StructuredMachine
from harness_svm.structured.kernels.class_tree import as_tree
from harness_svm.structured.kernels.flat_sweeps import sweep_flat
from harness_svm.structured.solver import Kernels

load_kernel(ranks_untouched=True)
FLAT_KERNELS = Kernels(sweep_flat, "harness_svm.structured.kernels.flat_sweeps_sparse:sweep_flat_rows")


class CrammerSinger(StructuredMachine):
    """Multi-class support vector machine of Crammer and Singer, solved in the dual row by row.

    It minimises sum_y ||w_y||^2 / 2 + C sum_i max(0, 1 - min over y != y_i of <w_{y_i} - w_y, x_i>). There is no bias.

    The defaults are chosen on validation sets (results/defaults). Cai and Hofmann use C=1.

    `tol` bounds gradients, not the objective. With tol=0.1 and C=3, the objective was up to 1.0% above that of tol=0.03
    on six development sets (benchmarks/tolerances.py), and R1 at most 0.3 points below the best of four tolerances.
    tol=0.3 was as accurate in 12% less time, with an objective up to 3.7% higher.

    When to use
    -----------
    High accuracy with up to some hundred classes. All classes are trained in one problem, which takes time.

    References
    ----------
    Crammer and Singer, On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2001.

    Parameters
    ----------
    C : float, default=3.0
        Weight of the loss, above 0.
    tol : float, default=0.1
        Tolerance, above 0: training ends when no row's gradients differ by more.
    max_sweeps : int, default=1000
        Maximum number of sweeps over all rows, at least 1.
    prune : float or None, default=None
        Weights with an absolute value up to this, at least 0, are not stored. None means 0, or 0.01 if a matrix of all
        weights would take over 2 GB.
    trace : bool, default=False
        If True, `dual_` keeps the objective of the dual after each sweep, which takes extra time.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes.
    prune_ : float
        The threshold that was used for pruning.
    sweeps_ : int
        Number of sweeps over all rows.
    dual_ : ndarray
        With trace=True, the objective of the dual after each sweep; otherwise empty.
    support_share_ : float
        Share of the pairs of a training row and a false class whose dual is above 0.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of the index.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_svm import CrammerSinger
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = CrammerSinger(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Train from nothing.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.

        Returns
        -------
        self
            The fitted estimator.
        """
        rows, labels = self._begin(X, y)
        seed = draw_seed(self.random_state)
        self.C_ = settle_cost(self, self.C, rows, labels, seed)
        (fitted,) = self._train_path(rows, labels, [self.C_], seed)
        return fitted

    def _train_path(self, rows: Any, labels: Labels, costs: Sequence[float], seed: int) -> Iterator[Self]:
        """Yield the learner after training at each cost."""
        nodes = self.classes_.size + 1
        half = np.full(nodes, 0.5)
        tree = as_tree(np.zeros(nodes, np.int64), np.arange(1, nodes), np.ones(nodes), half, half)
        self.base_ = self._base_of_seen(labels)
        yield from self._solve_path(rows, labels, tree, FLAT_KERNELS, costs, slack=False, seed=seed)

    def _rules(self) -> dict[str, rules.Rule]:
        return {}
