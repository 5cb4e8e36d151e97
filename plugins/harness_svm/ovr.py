"""SVM: one linear support vector machine for each class against the rest."""

from __future__ import annotations

import warnings
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from harness.sdk import rules
from harness.sdk.estimator import Matrix
from harness.sdk.kernels.edges import as_rows
from harness.sdk.kernels.instances import as_instances
from harness.sdk.ranking import load_kernel
from harness_svm.choices import draw_seed, threshold
from harness_svm.classifier import LinearMachine
from harness_svm.kernels.dense_one_vs_rest import train_dense_one_vs_rest
from harness_svm.kernels.dual import HINGE_LOSSES, pose
from harness_svm.kernels.one_vs_rest import train_one_vs_rest

load_kernel(ranks_untouched=True)


class SVM(LinearMachine):
    """One-vs-rest linear support vector machines, by coordinate descent in the dual (Hsieh and others, 2008).

    Classes are trained on their own, on as many threads as are allowed (`harness run --threads`, or the variable
    OMP_NUM_THREADS); their number changes no weight.

    The default of C is chosen on validation parts (docs/defaults.md); KDD 2008 has C=1.

    When to use
    -----------
    Accuracy first, some thousands of classes at most, and threads to spare: each class is trained by itself.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for large-scale linear SVM, ICML
    2008.

    Parameters
    ----------
    C : the price of a loss against ||w||^2 / 2.
    loss : "squared_hinge" or "hinge".
    bias : the value of a constant feature that is added; 0 for none. Its weight is regularised like any other.
    tol : training ends when the projected gradients of a sweep differ by no more.
    max_sweeps : the most sweeps over all rows for a class.
    prune : weights of no larger size are not stored; None stands for 0, and for 0.01 where a matrix of all weights
        would take over 2 GB.
    random_state : seed of the orders; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    rows_ : the index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes.
    base_ : the bias of each class.
    prune_ : the threshold that was used.
    sweeps_ : the sweeps over all rows that each class took.
    index_size_, index_bytes_ : non-zero weights, and the bytes that the index takes.
    n_features_in_ : the number of features.
    """

    takes_several: ClassVar[bool] = True
    takes_dense: ClassVar[bool] = True

    prune_: float
    sweeps_: NDArray[np.int64]

    def __init__(
        self,
        *,
        C: float = 3.0,
        loss: Literal["hinge", "squared_hinge"] = "squared_hinge",
        bias: float = 1.0,
        tol: float = 0.1,
        max_sweeps: int = 1000,
        prune: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.bias = bias
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.prune = prune
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Train from nothing."""
        X, labels = self._begin(X, y)
        n_features, n_classes = X.shape[1], self.classes_.size
        problem = pose(
            float(self.C),
            squared=self.loss == "squared_hinge",
            bias=float(self.bias),
            tolerance=float(self.tol),
            most_sweeps=int(self.max_sweeps),
        )
        self.prune_ = threshold(self.prune, n_features, n_classes)
        given = (labels, n_features, n_classes, problem, draw_seed(self.random_state), self.prune_)
        if isinstance(X, np.ndarray):
            machines = train_dense_one_vs_rest(X, *given)
        else:
            machines = train_one_vs_rest(as_instances(X), *given)
        self.sweeps_ = np.minimum(machines.sweeps, self.max_sweeps)
        self.base_ = self._base_of_seen(labels) + machines.bias
        self.rows_ = as_rows(machines.edges)
        late = int((machines.sweeps > self.max_sweeps).sum())
        if late:
            warnings.warn(f"{late} classes are not within tol after {self.max_sweeps} sweeps", ConvergenceWarning, 2)
        return self

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "C": rules.positive(self.C),
            "loss": rules.one_of(self.loss, HINGE_LOSSES),
            "bias": rules.not_negative(self.bias),
            "tol": rules.positive(self.tol),
            "max_sweeps": rules.count(self.max_sweeps),
            "prune": rules.optional(self.prune, rules.not_negative(self.prune)),
        }
