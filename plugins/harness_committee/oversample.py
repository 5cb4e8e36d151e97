"""Oversample: rows of rare classes are drawn again, before training, until each class has enough."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from harness import AfterPass
from harness.sdk import rules
from harness.sdk.estimator import Matrix
from harness.sdk.wrapping import seeds
from harness_committee.wrapped import OneInside, seeded


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
    learner : any learner; scikit-learn's perceptron where none is given.
    least : a class with fewer rows gets copies of its own, drawn with replacement, once before training.
    random_state : seed of the draws, and of the learner inside where that one has none of its own.
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
    """What is called after a pass where nobody asked."""


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
