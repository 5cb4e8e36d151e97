"""The weight-bounded perceptron: OOZ with two classes, for which its convergence is proved."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier, rules
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.moves import no_moves
from harness_prototype.kernels.bounded_perceptron import update_bounded


class BoundedPerceptron(OnlineClassifier):
    """Weight-bounded perceptrons (Madani and Huang, 2010, appendix): binary OOZ, each class against the rest.

    Each feature splits a weight of 1 between the class, w, and the rest, 1 - w. All w start at 1/2. If the false side
    scores at least as much as the true side, each feature of x shifts rate x_f from the false to the true side, or the
    remaining weight of the false side if that is less. Features with x_f <= 0 are ignored. With two classes, one
    perceptron is enough, and this is the algorithm of the paper. With more classes, each class has its own. If weights
    in [0, 1] separate rows of length 1 by u beta, u > 1, no class makes more than n_features / (4 (u - 1) beta^2)
    mistakes.

    When to use
    -----------
    Two or few classes, if a proven bound on the number of mistakes is needed. Use `ooz` for many classes.

    References
    ----------
    Madani and Huang, Large-scale many-class prediction via flat techniques, 2010.

    Parameters
    ----------
    beta : float, default=0.1
        Learning rate, above 0 and at most 1.
    passes : int, default=10
        Number of passes over the training rows, at least 1, each in a new random order.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes. An edge holds w - 1/2; a
        missing edge means w = 1/2.
    mistakes_ : ndarray of shape (n_classes,)
        Number of updates of each class.
    index_size_, index_bytes_ : int
        Number of weights other than 1/2, and bytes of the index.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> from harness_prototype import BoundedPerceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> X = normalize(X)
    >>> learner = BoundedPerceptron(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    ignores_not_positive: ClassVar[bool] = True
    takes_several: ClassVar[bool] = True

    mistakes_: NDArray[np.int64]

    def __init__(
        self,
        *,
        beta: float = 0.1,
        passes: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.beta = beta
        self.passes = passes
        self.random_state = random_state

    def _arrays(self, n_features: int, n_classes: int) -> dict[str, NDArray[Any]]:
        return {"mistakes_": np.zeros(n_classes, np.int64)}

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        zeros = np.zeros(self.classes_.size)
        scores, moves = np.empty_like(zeros), no_moves(zeros.size)
        rate = float(self.beta)
        return update_bounded(self.rows_, instances, labels, order, zeros, scores, moves, self.mistakes_, rate)

    def _rules(self) -> dict[str, rules.Rule]:
        holds, _ = rules.positive(self.beta)
        return {"beta": (holds and self.beta <= 1, "a number above 0 and at most 1")}
