"""PA: multi-class passive-aggressive learning. One prototype per class; each update moves two of them."""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier, rules
from harness.sdk.index import are_many
from harness.sdk.kernels.instances import Instances, Labels, Vectors
from harness.sdk.kernels.vectors import Block
from harness_prototype.kernels.dense_updates import learn_pa
from harness_prototype.kernels.passive_aggressive import PAStep, update_pa
from harness_prototype.limits import check_finite

PA_VARIANTS = ("PA", "PA-I", "PA-II")
PA_STEPS = ("printed", "exact")


class PA(OnlineClassifier):
    """Passive-aggressive classifier on sparse prototypes.

    An instance x of class y is compared with the best other class c' seen so far. When its loss
    L = margin - s_y + s_c' is positive, W[:, y] += tau x and W[:, c'] -= tau x. With an indicator matrix for y,
    the lowest scoring true class is compared with the highest scoring false one.

    The defaults are chosen on validation sets (results/defaults). The 2010 reports use PA-II with C=0.01, margin=0.05
    and 20 passes; KDD 2008 names no values.

    When to use
    -----------
    High accuracy of a flat learner, if the index may grow with the data. A baseline that is hard to beat.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, Online passive-aggressive algorithms, JMLR 2006.

    Parameters
    ----------
    C : float, default=0.1
        Aggressiveness, above 0: bounds tau in PA-I, regularises it in PA-II, and has no effect in PA.
    passes : int, default=10
        Number of passes over the training rows, at least 1, each in a new random order.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-II"
        Step length: tau = L / n for PA, min(C, L / n) for PA-I, L / (n + 1 / (2 C)) for PA-II.
    step : {"printed", "exact"}, default="printed"
        Squared norm n in the step length: ||x||^2 as printed in the papers, or the exact 2 ||x||^2 of both moves.
    margin : float, default=1.0
        Required lead over every other class, above 0. A smaller lead causes a loss.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes, with the weights W.
    base_ : ndarray of shape (n_classes,)
        0 for each class that has occurred, -inf for the others.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of the index.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_prototype import PA
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = PA(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    takes_several: ClassVar[bool] = True
    ranks_with_scores: ClassVar[bool] = True
    takes_dense: ClassVar[bool] = True
    when_too_large: ClassVar[str] = "scale X up, or use PA-I or PA-II"

    def __init__(
        self,
        *,
        C: float = 0.1,
        passes: int = 10,
        variant: Literal["PA", "PA-I", "PA-II"] = "PA-II",
        step: Literal["printed", "exact"] = "printed",
        margin: float = 1.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.passes = passes
        self.variant = variant
        self.step = step
        self.margin = margin
        self.random_state = random_state

    def _step(self) -> PAStep:
        return PAStep(
            margin=float(self.margin),
            scale=1.0 if self.step == "printed" else 2.0,
            ridge=1 / (2 * float(self.C)) if self.variant == "PA-II" else 0.0,
            cap=float(self.C) if self.variant == "PA-I" else inf,
        )

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        if self._learn_hybrid(instances, labels, order):
            done = order.size
        else:
            scores = np.empty_like(self.base_)
            done = update_pa(self.rows_, instances, labels, order, self.base_, scores, self._step())
        check_finite(self.rows_, number, self.when_too_large)
        return done

    def _learn_hybrid(self, instances: Instances, labels: Labels, order: NDArray[np.int64]) -> bool:
        """Learn by the kernel for many classes, if that is faster. Return whether it did."""
        one_label_each = bool(np.all(np.diff(labels.indptr) == 1))
        if not are_many(self.classes_) or not one_label_each:
            return False
        from harness_prototype import hybrid  # noqa: PLC0415 (compiles kernels that few datasets need)
        from harness_prototype.kernels.hybrid_pa import update_pa_hybrid  # noqa: PLC0415 (the same)

        def update(index: Any, order: NDArray[np.int64]) -> int:
            return update_pa_hybrid(index, instances, labels.indices, order, self.base_, self._step())

        return hybrid.learn_pass(self, instances, order, update)

    def _learn_block(self, W: Vectors, block: Block, labels: Labels) -> None:
        learn_pa(W, block, labels, self.base_, np.empty_like(self.base_), self._step())

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "C": rules.positive(self.C),
            "variant": rules.one_of(self.variant, PA_VARIANTS),
            "step": rules.one_of(self.step, PA_STEPS),
            "margin": rules.positive(self.margin),
        }
