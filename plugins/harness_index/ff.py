"""FF: feature focus. Each feature counts its classes where the margin is missed, and votes by their shares."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.sdk import rules
from harness.sdk.kernels.edges import Edges
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.touched import empty_space
from harness_index.kernels.ff import FFStep, update_ff
from harness_index.learner import IndexLearner, Keep

COUNTS = ("value", "boolean")


class FF(IndexLearner):
    """Feature focus over a sparse index (Madani, Connor and Greiner, JMLR 2009; with a margin in KDD 2008).

    If the lead of the true class y over the best other class is at most the margin, each feature of the instance
    counts: n[f, y] += x_f, N[f] += x_f. It votes for each class with n[f, c] / N[f]. Features with x_f <= 0 are
    ignored. Only classes that a feature of the row has an edge to are ranked. With an indicator matrix for y, each true
    class counts whose lead over the best false class is at most the margin.

    The defaults are chosen on validation sets (results/defaults). KDD 2008 uses delta=0.5 and one pass for its small
    sets, delta=0.1 for RCV1 and 0 for Austen, and no warm-up.

    When to use
    -----------
    The fastest training of an index, with weights that read as frequencies; `ooz` is more accurate.

    References
    ----------
    Madani, Connor and Greiner, Learning when concepts abound, JMLR 2009. Madani and Huang, On updates that
    constrain the features' connections during learning, KDD 2008.

    Parameters
    ----------
    delta : float, default=0.05
        Margin, at least 0: a row with at most this lead causes an update. With inf, every row does.
    passes : int, default=2
        Number of passes over the training rows, at least 1, each in a new random order.
    d : int or None, default=25
        Degree limit, at least 1: only the d heaviest edges of a feature are scored, also in training. None means all.
    keep : {"all", "scored"}, default="all"
        Edges of a feature kept after an update: all, or only the d heaviest ones that are scored. The total keeps the
        counts of dropped edges.
    w_min : float, default=0.01
        Minimum share of a class, from 0 to 1: edges with smaller shares are dropped. The total keeps their counts.
    warm : int, default=10
        Number of occurrences, at least 0, from which a feature votes with its full weight. Before that, its weight is
        multiplied by occurrences / warm. Occurrences are counted in the first pass and in batches.
    counts : {"value", "boolean"}, default="value"
        "value" counts x_f, "boolean" counts 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes, with the counts n.
    totals_ : ndarray of shape (n_features,)
        N, the total count of each feature.
    met_ : ndarray of shape (n_features,)
        Number of instances in which each feature occurred.
    index_size_, index_bytes_ : int
        Number of counts above 0, and bytes of the index.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_index import FF
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = FF(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 8])
    """

    totals_: NDArray[np.float64]
    met_: NDArray[np.uint32]

    def __init__(
        self,
        *,
        delta: float = 0.05,
        passes: int = 2,
        d: int | None = 25,
        keep: Keep = "all",
        w_min: float = 0.01,
        warm: int = 10,
        counts: Literal["value", "boolean"] = "value",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.delta = delta
        self.passes = passes
        self.d = d
        self.keep = keep
        self.w_min = w_min
        self.warm = warm
        self.counts = counts
        self.random_state = random_state

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "delta": rules.not_negative_or_inf(self.delta),
            "w_min": rules.share(self.w_min),
            "warm": rules.count(self.warm, least=0),
            "counts": rules.one_of(self.counts, COUNTS),
        }

    def _arrays(self, n_features: int, n_classes: int) -> dict[str, NDArray[Any]]:
        return {"totals_": np.zeros(n_features), "met_": np.zeros(n_features, np.uint32)}

    def _factors(self) -> NDArray[np.float64]:
        """Return the factor of each feature that turns its counts into votes."""
        known = np.minimum(1.0, self.met_ / self.warm) if self.warm else 1.0
        return np.divide(known, self.totals_, out=np.zeros_like(self.totals_), where=self.totals_ > 0)

    def _sizes(self, edges: Edges) -> NDArray[Any]:
        sizes: NDArray[Any] = edges.weights / self.totals_[edges.features]
        return sizes

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        step = FFStep(
            margin=float(self.delta),
            least=float(self.w_min),
            warm=int(self.warm),
            by_value=self.counts == "value",
            degree=self._scored_edges(),
            stored=self._stored_edges(),
            meets=number == 1,
        )
        votes = np.empty(int(np.diff(instances.indptr).max(initial=0)))
        space = empty_space(self.classes_.size)
        return update_ff(self.rows_, self.totals_, self.met_, instances, labels, order, space, votes, step)
