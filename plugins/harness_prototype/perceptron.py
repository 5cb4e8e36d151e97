"""The multi-class perceptron: one prototype per class; a mistake moves the true one and the predicted one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier, rules
from harness.sdk.index import are_many
from harness.sdk.kernels.instances import Instances, Labels, Vectors
from harness.sdk.kernels.vectors import Block
from harness_prototype.kernels.dense_updates import learn_perceptron
from harness_prototype.kernels.perceptron import update_perceptron
from harness_prototype.limits import check_finite


class Perceptron(OnlineClassifier):
    """Multi-class perceptron on sparse prototypes.

    When another class than y is predicted for x, W[:, y] += x and W[:, predicted] -= x. There is no learning rate,
    since it would scale all weights and change no decision. If no feature of x has an edge to y, and y only ties with
    another class, this counts as a mistake too. Otherwise the first class would never be learned.

    When to use
    -----------
    A baseline without hyperparameters; `pa` is mostly more accurate for a little more time.

    References
    ----------
    Crammer and Singer, Ultraconservative online algorithms for multiclass problems, JMLR 2003.

    Parameters
    ----------
    passes : int, default=10
        Number of passes over the training rows, at least 1, each in a new random order.
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
    >>> from harness_prototype import Perceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Perceptron(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 1])
    """

    ranks_with_scores: ClassVar[bool] = True
    takes_dense: ClassVar[bool] = True

    def __init__(self, *, passes: int = 10, random_state: int | np.random.RandomState | None = None) -> None:
        self.passes = passes
        self.random_state = random_state

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        if self._learn_hybrid(instances, labels, order):
            done = order.size
        else:
            scores = np.empty_like(self.base_)
            done = update_perceptron(self.rows_, instances, labels.indices, order, self.base_, scores)
        check_finite(self.rows_, number)
        return done

    def _learn_hybrid(self, instances: Instances, labels: Labels, order: NDArray[np.int64]) -> bool:
        """Learn by the kernel for many classes, if that is faster. Return whether it did."""
        if not are_many(self.classes_):
            return False
        from harness_prototype import hybrid  # noqa: PLC0415 (compiles kernels that few datasets need)
        from harness_prototype.kernels.hybrid_perceptron import update_perceptron_hybrid  # noqa: PLC0415 (the same)

        def update(index: Any, order: NDArray[np.int64]) -> int:
            return update_perceptron_hybrid(index, instances, labels.indices, order, self.base_)

        return hybrid.learn_pass(self, instances, order, update)

    def _learn_block(self, W: Vectors, block: Block, labels: Labels) -> None:
        learn_perceptron(W, block, labels.indices, self.base_, np.empty_like(self.base_))

    def _rules(self) -> dict[str, rules.Rule]:
        return {}
