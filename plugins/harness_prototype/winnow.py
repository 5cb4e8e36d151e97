"""Winnow, one for each class: weights are multiplied on mistakes, so the few relevant features soon stand out."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk import Contributions, OnlineClassifier, rules
from harness.sdk.classifier import SearchScores
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.moves import no_moves
from harness_prototype.kernels.log_winnow import LARGEST_LOG, WinnowStep, rank_logs, update_real_winnow
from harness_prototype.kernels.winnow import gains, rank_powers, update_winnow

UPDATES = ("active", "value")

MOST_AT_ONCE = 4_000_000
"""Maximum number of scores in memory at a time."""


class Winnow(SearchScores, OnlineClassifier):
    """One Winnow per class, on the features with x > 0; all weights are 1 at the start.

    A class accepts x when w.x >= theta. If a true class does not accept x, the weights of its features are multiplied
    by alpha (promotion). If a false class accepts x, they are divided by alpha (demotion). Classes are ranked by w.x.

    The defaults are chosen on validation sets (results/defaults); Littlestone's alpha is 2.

    When to use
    -----------
    Sparse rows in which few of very many features matter.

    References
    ----------
    Littlestone, Learning quickly when irrelevant attributes abound: a new linear-threshold algorithm, Machine
    Learning 1988.

    Parameters
    ----------
    alpha : float, default=1.1
        Factor of promotions, above 1.
    demotion : float or None, default=None
        Divisor of demotions, above 1. None means alpha.
    updates : {"active", "value"}, default="active"
        "active" multiplies the weights of all features of x by the same factor, "value" by the factor to the power of
        x_f.
    balanced : bool, default=False
        If True, each feature has two weights for a class, and w = w+ - w-. A promotion promotes w+ and demotes w-, a
        demotion the reverse.
    theta : float or None, default=None
        Threshold of w.x, above 0. None means the mean of w.x over the first training data with all weights 1.
    passes : int, default=10
        Number of passes over the training rows, at least 1, each in a new random order.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes. By default a weight is
        alpha^n, and the edge holds n; a missing edge means the weight 1. With another demotion, updates by value or
        balanced weights, the edge holds ln w. Balanced weights of class c are in columns 2 c (w+) and 2 c + 1 (w-).
    index_size_, index_bytes_ : int
        Number of weights other than 1, and bytes of the index.
    theta_ : float
        The threshold used if `theta` is None.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_prototype import Winnow
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Winnow(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    ignores_not_positive: ClassVar[bool] = True
    takes_several: ClassVar[bool] = True
    scores_by_index: ClassVar[bool] = False  # weights are stored as powers or logarithms

    theta_: float

    def __init__(
        self,
        *,
        alpha: float = 1.1,
        demotion: float | None = None,
        updates: Literal["active", "value"] = "active",
        balanced: bool = False,
        theta: float | None = None,
        passes: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.alpha = alpha
        self.demotion = demotion
        self.updates = updates
        self.balanced = balanced
        self.theta = theta
        self.passes = passes
        self.random_state = random_state

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        base, threshold = self.base_, self._threshold(instances)
        scores, moves = np.empty_like(base), no_moves(self._n_columns())
        if self._has_whole_powers():
            powers = gains(self.rows_, self.alpha, order.size)
            return update_winnow(self.rows_, instances, labels, order, base, scores, powers, moves, threshold)
        step = WinnowStep(
            threshold=threshold,
            up=_as_stored(np.log(self.alpha)),
            down=_as_stored(np.log(self.demotion or self.alpha)),
            by_value=self.updates == "value",
            balanced=bool(self.balanced),
        )
        return update_real_winnow(self.rows_, instances, labels, order, base, scores, moves, step)

    def _has_whole_powers(self) -> bool:
        """Return whether each weight is an integer power of alpha, which is faster and exact."""
        one_rate = self.demotion is None or self.demotion == self.alpha
        return one_rate and self.updates == "active" and not self.balanced

    def _n_columns(self) -> int:
        return self.classes_.size * (2 if self.balanced else 1)

    def _threshold(self, instances: Instances) -> float:
        if self.theta is not None:
            return float(self.theta)
        if not hasattr(self, "theta_"):
            total = float(instances.data.sum(dtype=np.float64))
            self.theta_ = total / instances.n_instances or 1.0  # without features any threshold will do
        return self.theta_

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        if self._has_whole_powers():
            return rank_powers(self.rows_, instances, self.base_, self.alpha, k)
        return rank_logs(self.rows_, instances, self.base_, bool(self.balanced), k)

    def _score_pairs(self, rows: csr_array, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return w.x of each class; for balanced pairs, the difference."""
        gained = self._weights_of(np.arange(self.n_features_in_))
        positive = rows.maximum(0).astype(np.float64)
        alike = self._alike(rows)
        found = np.empty(ranks.shape)
        step = max(1, MOST_AT_ONCE // self.classes_.size)
        for start in range(0, rows.shape[0], step):
            part = slice(start, start + step)
            scores = (positive[part] @ gained).toarray() + self.base_ + alike[part, np.newaxis]
            found[part] = np.take_along_axis(scores, np.maximum(ranks[part], 0), axis=1)
        return found

    def _weights_of(self, features: NDArray[Any]) -> csr_array:
        """Return by how much the weights of these features differ from the initial ones."""
        stored = super()._weights_of(features)
        unit = np.log(self.alpha) if self._has_whole_powers() else 1.0
        values = np.expm1(np.minimum(stored.data * unit, LARGEST_LOG))
        columns = stored.indices
        if self.balanced:
            values = np.where(columns % 2 == 0, values, -values)
            columns = columns // 2
        gained = csr_array((values, columns, stored.indptr), shape=(features.size, self.classes_.size))
        gained.sum_duplicates()
        return gained

    def _alike(self, rows: csr_array) -> NDArray[np.float64]:
        """Return what each row scores for every class alike, with the initial weights."""
        if self.balanced:
            return np.zeros(rows.shape[0])
        return np.asarray(rows.maximum(0).astype(np.float64).sum(axis=1)).ravel()

    def _explain_pairs(self, rows: csr_array, ranks: NDArray[np.int32]) -> Contributions:
        found = super()._explain_pairs(rows, ranks)
        return found._replace(bias=np.where(ranks >= 0, found.bias + self._alike(rows)[:, np.newaxis], 0.0))

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "alpha": _factor(self.alpha),
            "demotion": rules.optional(self.demotion, _factor(self.demotion)),
            "updates": rules.one_of(self.updates, UPDATES),
            "balanced": rules.flag(self.balanced),
            "theta": rules.optional(self.theta, rules.positive(self.theta)),
        }


def _factor(value: float | None) -> rules.Rule:
    holds, _ = rules.positive(value)
    return holds and value is not None and value > 1, "a finite number above 1"


def _as_stored(logarithm: float) -> float:
    """Round like stored weights, so a promotion and a demotion at one rate cancel exactly."""
    return float(np.float32(logarithm))
