"""OAA: online one-against-all, the flat rival of the trees. Each class has a linear regressor, trained on all rows."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from harness.sdk import rules
from harness.sdk.archive import expect_array
from harness.sdk.estimator import Matrix
from harness.sdk.kernels.instances import Instances
from harness_tree.kernels.one_against_all import rank_oaa, update_oaa
from harness_tree.kernels.regressor import RegressorStep
from harness_tree.learner import BatchLearner, Positions


class OAA(BatchLearner):
    """One linear regressor for each class against all others, h_k(x) = <w_k, x> + b_k, trained online side by side.

    Every instance moves every regressor whose loss it has, towards 1 for its own class and -1 for the others, by a
    plain gradient step that never passes its target. The class with the highest score wins, the first one on ties.

    The defaults are chosen on validation parts (docs/defaults.md); the paper of LOMtree has 20 passes.

    When to use
    -----------
    To compare with the flat baseline of the paper of LOMtree; time grows with the classes.

    References
    ----------
    Choromanska and Langford, Logarithmic time online multiclass prediction, NIPS 2015.

    Parameters
    ----------
    loss : "hinge", "absolute", "squared" or "logistic".
    eta : the rate of the first pass.
    decay : what the rate is multiplied by after each pass.
    passes : times that training goes through the data, in a fresh random order each time.
    random_state : seed of the orders; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    W_ : the weights, (features + 1) x classes, the biases first. It is dense: 4 bytes a feature and class.
    base_ : 0 for each class met so far, -inf for the others.
    index_size_, index_bytes_ : non-zero weights, and the bytes that the weights take.
    n_features_in_ : the number of features.
    """

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

    def _learn(self, instances: Instances, labels: Positions, order: NDArray[np.int64], step: RegressorStep) -> None:
        n_classes = self.classes_.size
        zeros, scores, moved = np.zeros(n_classes), np.empty(n_classes), np.empty(n_classes, np.int32)
        update_oaa(self.W_, instances, labels, order, step, zeros, scores, moved)
        if not np.isfinite(self.W_[0]).all() or not np.isfinite(scores).all():
            raise ValueError("weights outgrew float32: scale X down, or lower eta")
        self.base_[labels] = 0.0

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        return rank_oaa(self.W_, instances, self.base_, k)

    @property
    def index_size_(self) -> int:
        """The number of weights other than 0."""
        check_is_fitted(self)
        return int(np.count_nonzero(self.W_))

    @property
    def index_bytes_(self) -> int:
        """The bytes that the weights take."""
        check_is_fitted(self)
        return self.W_.nbytes + self.base_.nbytes

    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Weights read per active feature: one for each class."""
        return float(self.classes_.size) if self._known_instances(X).data.any() else 0.0

    def _check_restored(self) -> None:
        shape = (self.n_features_in_ + 1, self.classes_.size)
        expect_array(self.W_, shape, np.float32, "W_")
        expect_array(self.base_, shape[1:], np.float64, "base_")
