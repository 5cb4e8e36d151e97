"""Winnow, one for each class: weights are multiplied on mistakes, so the few features that matter soon stand out."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier, rules
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.moves import no_moves
from harness_prototype.kernels.winnow import gains, rank_powers, update_winnow


class Winnow(OnlineClassifier):
    """One Winnow per class, on the features with x > 0; all weights are 1 at the start.

    A class takes x for its own when w.x >= theta. The weights of the features of x are multiplied by alpha where a true
    class does not (promotion), and divided by it where another class does (demotion). Classes are ranked by w.x.

    The defaults are chosen on validation parts (docs/defaults.md); Littlestone's alpha is 2.

    Parameters
    ----------
    alpha : the factor, above 1.
    theta : the threshold; None stands for the mean of w.x over the first training data while all weights are 1, which
        is the mean number of features where these are 0 or 1.
    passes : times that training goes through the data, in a fresh random order each time.
    random_state : seed of the orders; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    rows_ : the index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes. A weight is alpha^n,
        and the edge holds n; without an edge it is 1.
    index_size_, index_bytes_ : weights other than 1, and the bytes that the index takes.
    theta_ : the threshold where none was given.
    n_features_in_ : the number of features.
    """

    ignores_not_positive: ClassVar[bool] = True
    takes_several: ClassVar[bool] = True

    theta_: float

    def __init__(
        self,
        *,
        alpha: float = 1.1,
        theta: float | None = None,
        passes: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.alpha = alpha
        self.theta = theta
        self.passes = passes
        self.random_state = random_state

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        base, powers = self.base_, gains(self.rows_, self.alpha, order.size)
        scores, moves = np.empty_like(base), no_moves(base.size)
        return update_winnow(
            self.rows_, instances, labels, order, base, scores, powers, moves, self._threshold(instances)
        )

    def _threshold(self, instances: Instances) -> float:
        if self.theta is not None:
            return float(self.theta)
        if not hasattr(self, "theta_"):
            total = float(instances.data.sum(dtype=np.float64))
            self.theta_ = total / instances.n_instances or 1.0  # without a feature any threshold does
        return self.theta_

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        return rank_powers(self.rows_, instances, self.base_, self.alpha, k)

    def _rules(self) -> dict[str, rules.Rule]:
        holds, _ = rules.positive(self.alpha)
        return {
            "alpha": (holds and self.alpha > 1, "a finite number above 1"),
            "theta": rules.optional(self.theta, rules.positive(self.theta)),
        }
