"""Sparsify: keep the largest weights of a learner and leave the others out, once or after each pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from harness_committee.wrapped import OneInside, fresh, learns_in_batches, seeds

WHEN = ("end", "pass")


class Sparsify(OneInside):
    """A learner of which only the largest share of the weights by size is kept.

    Parameters
    ----------
    learner : any learner with `coef_`, whose smallest coefficients become 0, or with a method `sparsify(share)`, as the
        online learners have; scikit-learn's perceptron where none is given.
    share : how much of the weights is kept, counted over the whole index.
    when : "end" once, after training; "pass" after each pass, so that later passes make up for what was lost. After
        each batch either way.
    random_state : seed of the learner inside, where that one has none of its own.
    """

    def __init__(
        self, learner: Any = None, *, share: float = 0.3, when: Literal["end", "pass"] = "end", random_state: Any = None
    ) -> None:
        self.learner = learner
        self.share = share
        self.when = when
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, after_pass: Callable[[int], None] | None = None) -> Self:
        """Train the learner inside; `after_pass(n)` is called after each of its passes."""
        self._check_parameters()
        learner = fresh(self.learner, seeds(self.random_state, 1)[0])

        def each_pass(number: int) -> None:
            if self.when == "pass":
                keep_largest(learner, self.share)
            if after_pass is not None:
                after_pass(number)

        self._fit_inside(learner, X, y, each_pass)
        if self.when == "end":
            keep_largest(learner, self.share)
        self._take_over(learner)
        return self

    @available_if(learns_in_batches)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Let the learner inside go once through a batch, then keep the share of its weights: each batch is a pass, and
        any may be the last."""
        self._check_parameters()
        fitted = hasattr(self, "learner_")
        learner = self.learner_ if fitted else fresh(self.learner, seeds(self.random_state, 1)[0])
        learner.partial_fit(X, y, classes)
        keep_largest(learner, self.share)
        self._take_over(learner)
        return self

    def _check_parameters(self) -> None:
        if isinstance(self.share, bool) or not isinstance(self.share, int | float) or not 0 <= self.share <= 1:
            raise ValueError(f"share={self.share!r}: must be a number from 0 to 1")
        if self.when not in WHEN:
            raise ValueError(f"when={self.when!r}: must be one of {', '.join(WHEN)}")


def keep_largest(learner: Any, share: float) -> None:
    """Keep the floor(share * non-zeros) largest weights of a fitted learner, ties by feature, then class."""
    weights = getattr(learner, "coef_", None)
    if isinstance(weights, np.ndarray):
        by_feature = weights.T.ravel()
        order = np.argsort(-np.abs(by_feature), kind="stable")
        by_feature[order[int(share * np.count_nonzero(by_feature)) :]] = 0
        learner.coef_ = np.ascontiguousarray(by_feature.reshape(weights.T.shape).T)
    elif hasattr(learner, "sparsify"):
        learner.sparsify(share)
    else:
        raise ValueError(
            f"{type(learner).__name__} has neither coef_ nor sparsify(share): its weights are out of reach"
        )
