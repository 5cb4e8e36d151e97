"""Batches: train a learner on a limited number of rows at a time, for data that does not fit into memory."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from harness import AfterPass
from harness.sdk import rules
from harness.sdk.classifier import Matrix
from harness.sdk.wrappers import seeds
from harness_committee.wrapper import OneInside, learns_in_batches, seeded


class Batches(OneInside):
    """Train a learner by its `partial_fit`, on a fixed number of rows at a time.

    Batches are taken in the order of the rows, and only one batch is copied at a time. If the rows are memory-mapped,
    as in `harness run`, only one batch has to be in memory.

    When to use
    -----------
    Training sets that are larger than memory.

    Parameters
    ----------
    learner : estimator, default=None
        Any learner with `partial_fit`. None means scikit-learn's Perceptron.
    rows : int, default=100000
        Number of rows of a batch, at least 1. The last batch may have fewer.
    passes : int, default=1
        Number of passes over all batches, in the same order, at least 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the inner learner, unless it already has a seed.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import Perceptron
    >>> from harness_committee import Batches
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Batches(Perceptron(), random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        rows: int = 100_000,
        passes: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.learner = learner
        self.rows = rows
        self.passes = passes
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike, *, after_pass: AfterPass | None = None) -> Self:
        """Train the inner learner batch by batch.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            Training rows.
        y : array of shape (n_rows,)
            Class of each row.
        after_pass : callable or None, default=None
            Called with the number of each finished pass.

        Returns
        -------
        self : Batches
            The fitted learner.

        Raises
        ------
        ValueError
            If the inner learner has no `partial_fit`.
        """
        X, labels = self._start_over(X, y)
        if not learns_in_batches(self):
            raise ValueError(f"{type(self.learner).__name__} has no partial_fit: it cannot be trained in batches")
        (seed,) = seeds(self.random_state, 1)
        learner, classes = seeded(self.learner, seed), np.unique(labels)
        for number in range(1, self.passes + 1):
            for start in range(0, len(labels), self.rows):
                batch = slice(start, start + self.rows)
                learner.partial_fit(X[batch], labels[batch], classes=classes)
            self._take_over(learner)
            if after_pass is not None:
                after_pass(number)
        return self

    def _rules(self) -> dict[str, rules.Rule]:
        return {"rows": rules.count(self.rows), "passes": rules.count(self.passes)}
