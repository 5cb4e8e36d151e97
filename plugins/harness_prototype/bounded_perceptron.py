"""The weight-bounded perceptron: what OOZ becomes with two classes, and the one that its proof of convergence is of."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier, rules
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.moves import no_moves
from harness_prototype.kernels.bounded_perceptron import update_bounded


class BoundedPerceptron(OnlineClassifier):
    """Weight-bounded perceptrons (Madani and Huang, 2010, appendix): binary OOZ, one class against the rest.

    Each feature splits a weight of 1 between the class, w, and the rest, 1 - w; all w are 1/2 at the start. If the
    false side scores as much as the true one or more, each feature of x shifts rate x_f from the false to the true
    side, or what the false side still has. Features with x_f <= 0 are ignored. With two classes the one against the
    other is the same as the other against the one, and this is the algorithm of the paper; with more there is one of
    them for each class. If weights in [0, 1] separate rows of length 1 by u beta, u > 1, no class makes more than
    n_features / (4 (u - 1) beta^2) mistakes.

    When to use
    -----------
    Two classes or few, and a bound on the mistakes that can be proved; for many classes take `ooz`.

    References
    ----------
    Madani and Huang, Large-scale many-class prediction via flat techniques, 2010.

    Parameters
    ----------
    beta : float, default=0.1
        Learning rate, above 0 and at most 1.
    passes : int, default=10
        Number of passes over the training rows, each in a new random order.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows in each pass. Equal seeds give equal bits.

    Attributes
    ----------
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes. An edge holds w - 1/2;
        without an edge it is 0.
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
