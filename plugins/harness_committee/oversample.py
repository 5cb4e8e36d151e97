"""Oversample: before training, draw copies of rows of rare classes until each class has enough rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from harness import AfterPass
from harness.sdk import rules
from harness.sdk.classifier import Matrix
from harness.sdk.wrappers import seeds
from harness_committee.wrapper import OneInside, seeded


class Oversample(OneInside):
    """Train a learner with copies of the rows of rare classes, so every class has a minimum number of rows.

    When to use
    -----------
    Tasks where rare classes matter, as with R5 or macro averages, and the inner learner neglects them.

    References
    ----------
    Madani and Huang, Large-scale many-class prediction via flat techniques, 2010.

    Parameters
    ----------
    learner : estimator, default=None
        Any learner. None means scikit-learn's Perceptron.
    least : int, default=10
        Minimum number of rows of a class, at least 1. A class with fewer rows gets copies, drawn with replacement once
        before training.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws, and of the inner learner unless it already has a seed.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import Perceptron
    >>> from harness_committee import Oversample
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Oversample(Perceptron(), random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def __init__(
        self, learner: Any = None, *, least: int = 10, random_state: int | np.random.RandomState | None = None
    ) -> None:
        self.learner = learner
        self.least = least
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike, *, after_pass: AfterPass | None = None) -> Self:
        """Draw copies of rows, then train the inner learner.

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
        X, labels = self._start_over(X, y)
        seed, draws = seeds(self.random_state, 2)
        learner = seeded(self.learner, seed)
        rows = drawn_rows(labels, self.least, draws)
        self._fit_inside(learner, X[rows], labels[rows], after_pass or _ignore_pass)
        self._take_over(learner)
        return self

    def _rules(self) -> dict[str, rules.Rule]:
        return {"least": rules.count(self.least)}


def _ignore_pass(number: int) -> None:
    """Do nothing after a pass."""


def drawn_rows(y: NDArray[Any], least: int, seed: int) -> NDArray[np.intp]:
    """Return the numbers of all rows in order, followed by copies for each class with fewer than `least` rows.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Class of each row.
    least : int
        Minimum number of rows of a class.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> rows = drawn_rows(np.array(["a", "a", "b"]), 2, 0)
    >>> rows.tolist()
    [0, 1, 2, 2]
    """
    random = check_random_state(seed)
    _, positions, counts = np.unique(y, return_inverse=True, return_counts=True)
    by_class = np.argsort(positions, kind="stable")
    starts = np.cumsum(counts) - counts
    rows = [np.arange(len(y))]
    for position in np.flatnonzero(counts < least):
        own = by_class[starts[position] : starts[position] + counts[position]]
        rows.append(random.choice(own, size=least - counts[position], replace=True))
    return np.concatenate(rows)
