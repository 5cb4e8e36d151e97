"""Sparsify: keep the largest weights of a learner and drop the others, once or after each pass."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from harness import AfterPass
from harness.sdk import rules
from harness.sdk.classifier import Matrix
from harness.sdk.wrappers import seeds
from harness_committee.wrapper import OneInside, learns_in_batches, seeded

WHEN = ("end", "pass")


class Sparsify(OneInside):
    """Keep only the largest weights of a learner, by absolute value.

    When to use
    -----------
    Finding out how small the index of a learner can get before it loses accuracy.

    References
    ----------
    Madani and Huang, Large-scale many-class prediction via flat techniques, 2010.

    Parameters
    ----------
    learner : estimator, default=None
        Any learner with `coef_`, whose smallest coefficients become 0, or with a method `keep_largest(share)`, like the
        online learners. None means scikit-learn's Perceptron.
    share : float, default=0.3
        Share of the weights to keep, over the whole index, from 0 to 1.
    when : {"end", "pass"}, default="end"
        "end" drops weights once after training; "pass" does so after each pass, so later passes can make up for the
        loss. With batches, weights are dropped after each batch in both cases.
    random_state : int, RandomState instance or None, default=None
        Seed of the inner learner, unless it already has a seed.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import Perceptron
    >>> from harness_committee import Sparsify
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Sparsify(Perceptron(), random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        share: float = 0.3,
        when: Literal["end", "pass"] = "end",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.learner = learner
        self.share = share
        self.when = when
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike, *, after_pass: AfterPass | None = None) -> Self:
        """Train the inner learner.

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
        self._check_parameters()
        self._forget()
        learner = self._seeded()

        def each_pass(number: int) -> None:
            if self.when == "pass":
                keep_largest_weights(learner, self.share)
            if after_pass is not None:
                after_pass(number)

        self._fit_inside(learner, X, y, each_pass)
        if self.when == "end":
            keep_largest_weights(learner, self.share)
        self._take_over(learner)
        return self

    @available_if(learns_in_batches)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def partial_fit(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Train the inner learner on a batch, in one pass, then drop its smallest weights.

        Each batch counts as a pass, and any batch may be the last.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.
        classes : array-like, optional
            All classes, if the first batch lacks some.

        Returns
        -------
        self
            The estimator.
        """
        self._check_parameters()
        learner = self.learner_ if self.__sklearn_is_fitted__() else self._seeded()
        learner.partial_fit(X, y, classes)
        keep_largest_weights(learner, self.share)
        self._take_over(learner)
        return self

    def _seeded(self) -> Any:
        (seed,) = seeds(self.random_state, 1)
        return seeded(self.learner, seed)

    def _rules(self) -> dict[str, rules.Rule]:
        return {"share": rules.share(self.share), "when": rules.one_of(self.when, WHEN)}


def keep_largest_weights(learner: Any, share: float) -> None:
    """Keep the floor(share * non-zeros) largest weights of a fitted learner.

    Parameters
    ----------
    learner : estimator
        A fitted learner with `coef_` or `keep_largest`.
    share : float
        Share of the weights to keep. Ties are resolved by feature, then by class.

    Raises
    ------
    ValueError
        If the learner has neither of the two.
    """
    weights = getattr(learner, "coef_", None)
    if isinstance(weights, np.ndarray):
        by_feature = weights.T.ravel()
        order = np.argsort(-np.abs(by_feature), kind="stable")
        by_feature[order[int(share * np.count_nonzero(by_feature)) :]] = 0
        learner.coef_ = np.ascontiguousarray(by_feature.reshape(weights.T.shape).T)
    elif hasattr(learner, "keep_largest"):
        learner.keep_largest(share)
    else:
        raise ValueError(
            f"{type(learner).__name__} has neither coef_ nor keep_largest(share): its weights are out of reach"
        )
