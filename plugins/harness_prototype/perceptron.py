"""The multi-class perceptron: one prototype per class; a mistake moves the true one and the predicted one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier, rules
from harness.sdk.kernels.density import Vectors
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.vectors import Block
from harness.sdk.ranking import are_many
from harness_prototype.kernels.dense_updates import learn_perceptron
from harness_prototype.kernels.perceptron import update_perceptron
from harness_prototype.limits import check_finite


class Perceptron(OnlineClassifier):
    """Multi-class perceptron on sparse prototypes.

    When another class than y is predicted for x, W[:, y] += x and W[:, predicted] -= x. There is no learning rate: it
    would scale all weights and change no decision. A class that no feature of x knows, and that is ahead only because
    others tie with it, counts as a mistake too: else the first class would never be learned.

    When to use
    -----------
    A baseline without anything to tune; `pa` is mostly better for a little more time.

    References
    ----------
    Crammer and Singer, Ultraconservative online algorithms for multiclass problems, JMLR 2003.

    Parameters
    ----------
    passes : times that training goes through the data, in a fresh random order each time.
    random_state : seed of the orders; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    rows_ : the index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes.
    index_size_, index_bytes_ : non-zero weights, and the bytes that the index takes.
    n_features_in_ : the number of features.
    """

    ranks_with_scores: ClassVar[bool] = True
    takes_dense: ClassVar[bool] = True

    def __init__(self, *, passes: int = 10, random_state: int | np.random.RandomState | None = None) -> None:
        self.passes = passes
        self.random_state = random_state

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        if self._learn_in_parts(instances, labels, order):
            done = order.size
        else:
            scores = np.empty_like(self.base_)
            done = update_perceptron(self.rows_, instances, labels.indices, order, self.base_, scores)
        check_finite(self.rows_, number)
        return done

    def _learn_in_parts(self, instances: Instances, labels: Labels, order: NDArray[np.int64]) -> bool:
        """Learn by the kernel for many classes; whether that pays."""
        if not are_many(self.classes_):
            return False
        from harness_prototype.kernels.perceptron_parted import (  # noqa: PLC0415 (compiles what few data need)
            update_perceptron_parted,
        )
        from harness_prototype.parts import Parts, learn_in_parts, met_often  # noqa: PLC0415

        features, y, base = met_often(instances, self.n_features_in_, self.base_.size), labels.indices, self.base_
        if not features.size:
            return False

        def update(parts: Parts, order: NDArray[np.int64]) -> int:
            rows, frequent, search, found, heaviest = parts
            return update_perceptron_parted(rows, frequent, instances, y, order, base, search, found, heaviest)

        self.rows_ = learn_in_parts(self.rows_, features, instances, order, base.size, update)
        return True

    def _learn_block(self, W: Vectors, block: Block, labels: Labels) -> None:
        learn_perceptron(W, block, labels.indices, self.base_, np.empty_like(self.base_))

    def _rules(self) -> dict[str, rules.Rule]:
        return {}
