"""Winnow, one for each class: weights are multiplied on mistakes, so the few features that matter soon stand out."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier, rules
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.moves import no_moves
from harness_prototype.kernels.real_winnow import WinnowStep, rank_logs, update_real_winnow
from harness_prototype.kernels.winnow import gains, rank_powers, update_winnow

UPDATES = ("active", "value")


class Winnow(OnlineClassifier):
    """One Winnow per class, on the features with x > 0; all weights are 1 at the start.

    A class takes x for its own when w.x >= theta. The weights of the features of x are multiplied by alpha where a true
    class does not (promotion), and divided by it where another class does (demotion). Classes are ranked by w.x.

    The defaults are chosen on validation parts (docs/defaults.md); Littlestone's alpha is 2.

    When to use
    -----------
    Few features of very many matter, and rows are sparse.

    References
    ----------
    Littlestone, Learning quickly when irrelevant attributes abound: a new linear-threshold algorithm, Machine
    Learning 1988.

    Parameters
    ----------
    alpha : the factor of promotions, above 1.
    demotion : what demotions divide by, above 1; None for alpha.
    updates : "active" multiplies the weights of all features of x alike; "value" by the factor to the power of x_f, as
        in w exp(r x y).
    balanced : whether each feature has two weights for a class, w+ and w-, and w is w+ - w-: a promotion promotes w+
        and demotes w-, a demotion the reverse.
    theta : the threshold; None stands for the mean of w.x over the first training data while all weights are 1, which
        is the mean number of features where these are 0 or 1.
    passes : times that training goes through the data, in a fresh random order each time.
    random_state : seed of the orders; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    rows_ : the index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes. A weight is alpha^n,
        and the edge holds n; without an edge it is 1. With any other demotion, updates by value or balanced weights the
        edge holds ln w; balanced weights of class c are in the columns 2 c, w+, and 2 c + 1, w-.
    index_size_, index_bytes_ : weights other than 1, and the bytes that the index takes.
    theta_ : the threshold where none was given.
    n_features_in_ : the number of features.
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
        """Whether each weight is a whole power of alpha, which takes less time and no rounding."""
        one_rate = self.demotion is None or self.demotion == self.alpha
        return one_rate and self.updates == "active" and not self.balanced

    def _n_columns(self) -> int:
        return self.classes_.size * (2 if self.balanced else 1)

    def _threshold(self, instances: Instances) -> float:
        if self.theta is not None:
            return float(self.theta)
        if not hasattr(self, "theta_"):
            total = float(instances.data.sum(dtype=np.float64))
            self.theta_ = total / instances.n_instances or 1.0  # without a feature any threshold does
        return self.theta_

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        if self._has_whole_powers():
            return rank_powers(self.rows_, instances, self.base_, self.alpha, k)
        return rank_logs(self.rows_, instances, self.base_, bool(self.balanced), k)

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
    """Rounded as weights are, so that a promotion and a demotion at one rate leave nothing behind."""
    return float(np.float32(logarithm))
