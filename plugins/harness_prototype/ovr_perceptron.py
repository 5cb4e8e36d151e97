"""One-vs-rest perceptrons, alone or as a committee: one linear separator per class against all others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.metaestimators import available_if

from harness import AfterPass
from harness.sdk import OnlineClassifier, rules
from harness.sdk.classifier import Examples, Matrix
from harness.sdk.index import rank_by_biases
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.one_vs_rest import inverse, learn_one_vs_rest, norms, rank_scaled, total
from harness.sdk.kernels.rows import Rows, empty_rows
from harness.sdk.online import warn_without_bias
from harness_prototype.limits import check_finite


@dataclass
class Member:
    """A member of a committee during training."""

    rows: Rows
    intercept: NDArray[np.float64]
    """What the constant feature adds to the score of each class."""
    bias: float
    """Value of the constant feature; 0 for none."""
    done: bool = field(init=False, default=False)
    """True if a pass went without an error: further passes would change nothing."""

    def learn(self, instances: Instances, labels: Labels, order: NDArray[np.int64]) -> None:
        """Go through the instances in this order."""
        self.rows, errors = learn_one_vs_rest(self.rows, instances, labels, order, self.intercept, self.bias)
        self.done = errors == 0

    @property
    def lengths(self) -> NDArray[np.float64]:
        """||w_k|| of each class, with the weight of the constant feature."""
        return norms(self.rows, self.intercept.size, self.intercept, self.bias)


def _can_learn_in_batches(learner: OVRPerceptron) -> bool:
    if learner.members != 1:
        raise AttributeError(
            f"members={learner.members!r}: a committee keeps only the sum of its members, so it needs fit"
        )
    return True


class OVRPerceptron(OnlineClassifier):
    """One perceptron for each class against the rest, or a committee of such perceptrons.

    If a separator has an instance x on the wrong side or on its plane, w_k += x if x is of class k, else w_k -= x.
    Classes are ranked by <w_k, x> / ||w_k||, or 0 if w_k is 0. All classes of the first batch learn from its first
    instance on, classes of later batches from the first instance of their batch.

    When to use
    -----------
    Comparison with KDD 2008, where it is the baseline. Every class visits every row, so time grows with the classes.

    References
    ----------
    Madani and Huang, On updates that constrain the features' connections during learning, KDD 2008.

    Parameters
    ----------
    passes : int, default=20
        Maximum number of passes over the training rows, at least 1. Training ends after a pass without an error.
    members : int, default=1
        Number of perceptrons for each class, at least 1. Each uses other orders of the rows, and their scores are
        added.
    bias : float, default=0.0
        Value of an added constant feature, at least 0; 0 adds none, as in KDD 2008. Data with negative values needs
        one, such as 1.0: `fit` warns.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes. For a committee it holds
        the sum of the members, each w_k scaled to length 1, since only their sum is used.
    norms_ : ndarray of shape (n_classes,)
        Divisor of the scores: ||w_k||, or 1 for a committee.
    intercept_ : ndarray of shape (n_classes,)
        With a bias, what the constant feature adds to the score of each class before the division.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of the index.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_prototype import OVRPerceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = OVRPerceptron(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    takes_several: ClassVar[bool] = True

    norms_: NDArray[np.float64]

    def __init__(
        self,
        *,
        passes: int = 20,
        members: int = 1,
        bias: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.passes = passes
        self.members = members
        self.bias = bias
        self.random_state = random_state

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
        self._committee: list[Member] = []
        try:
            return super().fit(X, y, after_pass=after_pass)
        finally:
            del self._committee

    @available_if(_can_learn_in_batches)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def partial_fit(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from a batch in one pass, in the given order; not available for a committee.

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
        return super().partial_fit(X, y, classes)

    def keep_largest(self, share: float) -> Self:
        """Keep the floor(share * index_size_) largest weights of the index, ties by feature, then class."""
        super().keep_largest(share)
        self._measure()
        return self

    def _begin(self, X: Matrix, y: ArrayLike) -> tuple[Examples, Labels]:
        rows, labels = super()._begin(X, y)
        warn_without_bias(rows, self, self.bias)
        return rows, labels

    def _begin_batch(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> tuple[Examples, Labels, bool]:
        rows, labels, first = super()._begin_batch(X, y, classes)
        if first:  # later batches would repeat it
            warn_without_bias(rows, self, self.bias)
        return rows, labels, first

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        committee = getattr(self, "_committee", None)
        if committee is None:  # a batch
            committee = [self._member(self.rows_, self.intercept_ if self.bias else np.zeros(self.classes_.size))]
        while len(committee) < self.members:  # fit begins
            rows = empty_rows(self.n_features_in_, instances.data.size)
            committee.append(self._member(rows, np.zeros(self.classes_.size)))
        for m, member in enumerate(committee):
            if not member.done:
                own = np.random.default_rng((m, number)).permutation(order) if m else order
                member.learn(instances, labels, own)
                check_finite(member.rows, number)
        self._take_members(committee)
        return order.size

    def _member(self, rows: Rows, intercept: NDArray[np.float64]) -> Member:
        return Member(rows, intercept, float(self.bias))

    def _take_members(self, committee: list[Member]) -> None:
        """Set the model: the only member, or the sum of the members' scores."""
        if self.members == 1:
            self.rows_, intercept = committee[0].rows, committee[0].intercept
        else:
            lengths = [member.lengths for member in committee]
            self.rows_ = total([member.rows for member in committee], lengths)
            parts = [member.intercept * inverse(own) for member, own in zip(committee, lengths, strict=True)]
            intercept = np.sum(parts, axis=0)
        if self.bias:
            self.intercept_ = intercept
        self._measure()

    def _measure(self) -> None:
        intercept = self.intercept_ if self.bias else None
        n_classes = self.classes_.size
        self.norms_ = (
            norms(self.rows_, n_classes, intercept, float(self.bias)) if self.members == 1 else np.ones(n_classes)
        )

    def _arrays(self, n_features: int, n_classes: int) -> dict[str, NDArray[Any]]:
        names = ("norms_", "intercept_") if self.bias else ("norms_",)
        return {name: np.zeros(n_classes) for name in names}

    def _biases(self) -> NDArray[np.float64]:
        return self.base_ + self.intercept_ * inverse(self.norms_) if self.bias else self.base_

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        ranked = rank_scaled(self.rows_, instances, self._biases(), inverse(self.norms_), k)
        if self.bias:
            ranked[ranked[:, 0] < 0] = rank_by_biases(self._biases(), k)
        return ranked

    def _score_instances(self, instances: Instances, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        scale = inverse(self.norms_)
        found = super()._score_instances(instances, ranks) * scale[ranks]
        return np.where(ranks >= 0, found + (self.intercept_ * scale)[ranks], 0.0) if self.bias else found

    def _weights_of(self, features: NDArray[Any]) -> csr_array:
        return csr_array(super()._weights_of(features) * inverse(self.norms_))

    def _rules(self) -> dict[str, rules.Rule]:
        return {"members": rules.count(self.members), "bias": rules.not_negative(self.bias)}
