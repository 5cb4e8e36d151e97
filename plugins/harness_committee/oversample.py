"""Oversample: rows of rare classes are drawn again, before training, until each class has enough."""

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
    """A learner that meets every class at least so many times.

    When to use
    -----------
    Rare classes matter, as for R5 or macro averages, and the learner inside forgets them.

    References
    ----------
    Madani and Huang, Large-scale many-class prediction via flat techniques, 2010.

    Parameters
    ----------
    least : int, default=10
        A class with fewer rows gets copies of them, drawn with replacement once before training.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws, and of the learner inside unless it has a seed already.

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
        """Draw, then train the learner inside; `after_pass(n)` is called after each of its passes."""
        X, labels = self._start_over(X, y)
        seed, draws = seeds(self.random_state, 2)
        learner = seeded(self.learner, seed)
        rows = drawn_rows(labels, self.least, draws)
        self._fit_inside(learner, X[rows], labels[rows], after_pass or _say_nothing)
        self._take_over(learner)
        return self

    def _rules(self) -> dict[str, rules.Rule]:
        return {"least": rules.count(self.least)}


def _say_nothing(number: int) -> None:
    """Do nothing after a pass."""


def drawn_rows(y: NDArray[Any], least: int, seed: int) -> NDArray[np.intp]:
    """Every row once, in order, and behind them for each class that has fewer than `least` rows the missing ones."""
    random = check_random_state(seed)
    _, positions, counts = np.unique(y, return_inverse=True, return_counts=True)
    by_class = np.argsort(positions, kind="stable")
    starts = np.cumsum(counts) - counts
    rows = [np.arange(len(y))]
    for position in np.flatnonzero(counts < least):
        own = by_class[starts[position] : starts[position] + counts[position]]
        rows.append(random.choice(own, size=least - counts[position], replace=True))
    return np.concatenate(rows)
