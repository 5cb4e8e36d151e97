"""EMA: exponential moving averages. Each feature predicts its classes and is corrected where the margin is missed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.sdk import rules
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.touched import empty_space
from harness_index.kernels.edge_updates import SMALLEST
from harness_index.kernels.ema import EMAStep, update_ema
from harness_index.learner import IndexLearner, Keep


class EMA(IndexLearner):
    """Exponential moving averages over a sparse index (Madani and Huang, KDD 2008).

    If the lead of the true class y over the best other class is below the margin, each feature of the instance
    weakens all its edges, W[f, c] *= 1 - beta x_f^2, and strengthens its edge to y, W[f, y] += beta x_f. This is a
    gradient step of (T_c - x_f W[f, c])^2. Features with x_f <= 0 are ignored. Only classes that a feature of the row
    has an edge to are ranked. With an indicator matrix for y, the edges are weakened once, and each true class that
    misses the margin gains.

    The defaults are chosen on validation sets (results/defaults). KDD 2008 has beta=0.6, delta=7, passes=30 for 20
    newsgroups, 0.1, 1, 5 for Reuters-21578 and 0.1, 0.1, 20 for Austen.

    When to use
    -----------
    The same tasks as `ooz`, if the data is a stream that drifts: classes that no longer occur fade.

    References
    ----------
    Madani and Huang, On updates that constrain the features' connections during learning, KDD 2008.

    Parameters
    ----------
    beta : float, default=0.05
        Learning rate, above 0 and at most 1.
    delta : float, default=0.1
        Margin, above 0: a row with a smaller lead causes an update. With inf, every row does.
    passes : int, default=5
        Number of passes over the training rows, at least 1, each in a new random order.
    d : int or None, default=25
        Degree limit, at least 1: only the d heaviest edges of a feature are scored, also in training. None means all.
    keep : {"all", "scored"}, default="all"
        Edges of a feature kept after an update: all, or only the d heaviest ones that are scored. The weight of the
        others is lost.
    w_min : float or None, default=None
        Minimum weight, at least 0: lighter edges are dropped. None means min(0.005, beta / 5).
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes.
    index_size_, index_bytes_ : int
        Number of weights above 0, and bytes of the index.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> from harness_index import EMA
    >>> X, y = load_digits(return_X_y=True)
    >>> X = normalize(X)
    >>> learner = EMA(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 1])
    """

    def __init__(
        self,
        *,
        beta: float = 0.05,
        delta: float = 0.1,
        passes: int = 5,
        d: int | None = 25,
        keep: Keep = "all",
        w_min: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.beta = beta
        self.delta = delta
        self.passes = passes
        self.d = d
        self.keep = keep
        self.w_min = w_min
        self.random_state = random_state

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "beta": (rules.positive(self.beta)[0] and self.beta <= 1, "a number above 0 and at most 1"),
            "delta": rules.positive_or_inf(self.delta),
            "w_min": rules.optional(self.w_min, rules.not_negative(self.w_min)),
        }

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        w_min = min(0.005, self.beta / 5) if self.w_min is None else self.w_min
        step = EMAStep(
            margin=float(self.delta),
            rate=float(self.beta),
            least=max(SMALLEST, float(w_min)),
            degree=self._scored_edges(),
            stored=self._stored_edges(),
        )
        return update_ema(self.rows_, instances, labels, order, empty_space(self.classes_.size), step)
