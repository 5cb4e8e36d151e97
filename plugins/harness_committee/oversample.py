"""Oversample: rows of rare classes are drawn again, before training, until each class has enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from harness_committee.wrapped import OneInside, fresh, seeds


class Oversample(OneInside):
    """A learner that meets every class at least so many times.

    Parameters
    ----------
    learner : any learner; scikit-learn's perceptron where none is given.
    least : a class with fewer rows gets copies of its own, drawn with replacement, once before training.
    random_state : seed of the draws, and of the learner inside where that one has none of its own.
    """

    def __init__(self, learner: Any = None, *, least: int = 10, random_state: Any = None) -> None:
        self.learner = learner
        self.least = least
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, after_pass: Callable[[int], None] | None = None) -> Self:
        """Draw, then train the learner inside; `after_pass(n)` is called after each of its passes."""
        if isinstance(self.least, bool) or not isinstance(self.least, int | np.integer) or self.least < 1:
            raise ValueError(f"least={self.least!r}: must be an integer of at least 1")
        X, y = validate_data(self, X, y, accept_sparse="csr")
        check_classification_targets(y)
        seed, draws = seeds(self.random_state, 2)
        learner = fresh(self.learner, seed)
        rows = drawn_rows(y, self.least, draws)
        names = getattr(self, "feature_names_in_", None)
        self._fit_inside(learner, X[rows], y[rows], after_pass or (lambda number: None))
        self._take_over(learner)
        if names is not None:  # the learner inside was given none
            self.feature_names_in_ = names
        return self


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
