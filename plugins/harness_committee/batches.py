"""Batches: rows go to a learner some at a time, so that more of them than memory holds can train it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from harness import AfterPass
from harness.sdk import rules
from harness.sdk.estimator import Matrix
from harness.sdk.wrapping import seeds
from harness_committee.wrapped import OneInside, learns_in_batches, seeded


class Batches(OneInside):
    """A learner that trains by its `partial_fit`, so many rows at a time, in the order that they come in.

    Only a batch is ever copied. Where rows lie in a file that is mapped, as the host's do, no more than a batch of them
    has to be in memory.

    When to use
    -----------
    More rows than memory holds.

    Parameters
    ----------
    learner : any learner with `partial_fit`; scikit-learn's perceptron where none is given.
    rows : how many rows a batch has; the last one may have fewer.
    passes : times that training goes through all batches, in the same order.
    random_state : seed of the learner inside where that one has none of its own.
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
        """Train the learner inside batch by batch; `after_pass(n)` is called after each pass."""
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
