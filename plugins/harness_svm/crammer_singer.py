"""Crammer and Singer's multi-class support vector machine: all classes in one problem."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.sdk import rules
from harness.sdk.estimator import Matrix
from harness.sdk.ranking import load_kernel
from harness_svm.choices import draw_seed, threshold
from harness_svm.classifier import LinearMachine
from harness_svm.kernels.class_tree import as_tree
from harness_svm.kernels.flat_sweeps import sweep_flat
from harness_svm.kernels.structured import Goal
from harness_svm.objective import share_of_duals
from harness_svm.training import Kernels, begin

load_kernel(ranks_untouched=True)
FLAT_KERNELS = Kernels(sweep_flat, "harness_svm.kernels.flat_rows:sweep_flat_rows")


class CrammerSinger(LinearMachine):
    """Multi-class support vector machine of Crammer and Singer, solved in the dual row by row.

    It minimises sum_y ||w_y||^2 / 2 + C sum_i max(0, 1 - min over y != y_i of <w_{y_i} - w_y, x_i>). There is no bias.

    The defaults are chosen on validation parts (docs/defaults.md). Cai and Hofmann have C=1.

    When to use
    -----------
    Accuracy first with few or some hundred classes; all classes are in one problem, which takes its time.

    References
    ----------
    Crammer and Singer, On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2001.

    Parameters
    ----------
    C : the price of a loss.
    tol : training ends when no row's gradients differ by more.
    max_sweeps : the most sweeps over all rows.
    prune : weights of no larger size are not stored; None stands for 0, and for 0.01 where a matrix of all weights
        would take over 2 GB.
    trace : whether `dual_` keeps the objective of the dual after each sweep, which takes a look at all weights.
    random_state : seed of the orders; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    rows_ : the index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes.
    prune_ : the threshold that was used.
    sweeps_ : the sweeps over all rows that training took.
    dual_ : with trace=True, the objective of the dual after each of them; else empty.
    support_share_ : of all pairs of a training row and another class than its own, the share that has a dual above 0.
    index_size_, index_bytes_ : non-zero weights, and the bytes that the index takes.
    n_features_in_ : the number of features.
    """

    prune_: float
    sweeps_: int
    dual_: NDArray[np.float64]
    support_share_: float

    def __init__(
        self,
        *,
        C: float = 3.0,
        tol: float = 0.1,
        max_sweeps: int = 1000,
        prune: float | None = None,
        trace: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.prune = prune
        self.trace = trace
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Train from nothing."""
        X, labels = self._begin(X, y)
        nodes = self.classes_.size + 1
        half = np.full(nodes, 0.5)
        tree = as_tree(np.zeros(nodes, np.int64), np.arange(1, nodes), np.ones(nodes), half, half)
        goal = Goal(float(self.C), float(self.tol), False)
        training = begin(X, labels.indices, tree, goal, FLAT_KERNELS, bool(self.trace))
        self.sweeps_ = training.run(np.random.default_rng(draw_seed(self.random_state)), int(self.max_sweeps))
        self.dual_ = np.array(training.objectives)
        self.support_share_ = share_of_duals(training.duals, self.classes_.size)
        self.prune_ = threshold(self.prune, X.shape[1], self.classes_.size)
        self.base_ = self._base_of_seen(labels)
        self.rows_ = training.index(self.prune_)
        return self

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "C": rules.positive(self.C),
            "tol": rules.positive(self.tol),
            "max_sweeps": rules.count(self.max_sweeps),
            "trace": rules.flag(self.trace),
            "prune": rules.optional(self.prune, rules.not_negative(self.prune)),
        }
