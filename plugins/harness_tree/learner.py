"""Base classes of the tree learners: training in passes or batches."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness import AfterPass
from harness.sdk import rules
from harness.sdk.classifier import Classifier, Examples, Matrix
from harness.sdk.kernels.instances import Instances, as_instances
from harness_tree.kernels.regressor import LOSSES, RegressorStep

Positions = NDArray[np.int32]
"""The class of each instance, as a position in `classes_`."""


class PassLearner(Classifier):
    """A classifier with linear regressors that learns instance by instance, in passes over the data.

    Subclasses implement `_set_up`, `_learn` and `_rank_instances`.
    """

    loss: str
    eta: float | None
    decay: float
    passes: int
    random_state: int | np.random.RandomState | None

    # -- methods of a learner

    @abstractmethod
    def _set_up(self, generator: np.random.Generator) -> None:
        """Create the untrained state for the known features and classes."""

    @abstractmethod
    def _learn(self, instances: Instances, labels: Positions, order: NDArray[np.int64], step: RegressorStep) -> None:
        """Learn from the instances in this order."""

    @abstractmethod
    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        """Return the positions of the k best classes of each instance; -1 pads."""

    def _as_instances(self, rows: Examples) -> Any:
        """Return the rows in the form that the kernels require."""
        return as_instances(rows)

    def _arrange(self, instances: Instances) -> None:
        """Choose the layout of the weights in memory, from the instances of the first batch."""

    def _arranged(self, instances: Instances) -> Instances:
        """Return the instances with features replaced by their places in the layout of the weights, if any."""
        return instances

    def _finish(self) -> None:  # most learners are done after the last pass
        """Finish training after the last pass."""

    # -- learning

    def fit(self, X: Matrix, y: ArrayLike, *, after_pass: AfterPass | None = None) -> Self:
        """Train from scratch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.
        after_pass : callable, optional
            Called with the number of each finished pass, when the learner can rank.

        Returns
        -------
        self
            The fitted estimator.
        """
        rows, labels = self._begin(X, y)
        instances = self._as_instances(rows)
        self._arrange(instances)
        generator = self._generator()
        self._set_up(generator)
        instances = self._arranged(instances)
        self._training = instances, labels.indices
        try:
            for number in range(1, self.passes + 1):
                order = generator.permutation(rows.shape[0])
                self._learn(instances, labels.indices, order, self._step(number))
                if after_pass is not None:
                    after_pass(number)
            self._finish()
        finally:
            del self._training
        return self

    def _shared_rules(self) -> dict[str, rules.Rule]:
        is_share, _ = rules.share(self.decay)
        return {
            "loss": rules.one_of(self.loss, LOSSES),
            "eta": rules.positive(self.eta),
            "decay": (is_share and self.decay > 0, "a number above 0, at most 1"),
            "passes": rules.count(self.passes),
            **super()._shared_rules(),
        }

    def _step(self, number: int) -> RegressorStep:
        """Return the settings of the steps in pass `number`."""
        adaptive = getattr(self, "step", "plain") == "adagrad"
        return RegressorStep(LOSSES.index(self.loss), adaptive, float(self._eta() * self.decay ** (number - 1)))

    def _eta(self) -> float:
        """Return the learning rate of the first pass."""
        assert self.eta is not None, "only some learners have a default that depends on the passes"
        return self.eta

    # -- ranking

    def _rank(self, X: Examples, k: int) -> NDArray[np.int32]:
        return self._rank_instances(self._arranged(self._as_instances(X)), k)

    def _known_instances(self, X: Matrix) -> Instances:
        return self._arranged(self._as_instances(self._known(X)))

    # -- files

    def _fitted(self) -> dict[str, Any]:
        self._finish()
        return super()._fitted()

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        self._check_restored()

    @abstractmethod
    def _check_restored(self) -> None:
        """Raise ValueError if restored arrays are inconsistent and would be read beyond their end."""


class BatchLearner(PassLearner):
    """A learner that can also learn batch by batch."""

    @abstractmethod
    def _grow(self, instances: Instances) -> None:
        """Make room for the new features and classes of these instances."""

    def partial_fit(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from a batch in one pass, in the given order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            Rows of the batch. Additional columns become new features.
        y : array of shape (n_rows,)
            Class of each row. New classes get the next positions.
        classes : array or None, default=None
            Further classes to add. Not required.

        Returns
        -------
        self : BatchLearner
            The learner.
        """
        rows, labels, first = self._begin_batch(X, y, classes)
        instances = self._as_instances(rows)
        if first:
            self._arrange(instances)
            self._set_up(self._generator())
        else:
            self._grow(instances)
        order = np.arange(rows.shape[0])
        self._learn(self._arranged(instances), labels.indices, order, self._step(1))
        return self
