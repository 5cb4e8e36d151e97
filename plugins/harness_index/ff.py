"""FF: feature focus. Each feature counts the classes it is seen with, where they need it, and votes by their shares."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier, rules
from harness.sdk.kernels.edges import Edges
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.touched import empty_space
from harness_index.degree import KEPT, Keep, scored_edges, stored_edges
from harness_index.kernels.ff import FFStep, update_ff

COUNTS = ("value", "boolean")


class FF(OnlineClassifier):
    """Feature focus over a sparse index (Madani, Connor and Greiner, JMLR 2009; with a margin in KDD 2008).

    Where the lead of the true class y over the best other class is at most the margin, each feature of the instance
    counts: n[f, y] += x_f, N[f] += x_f. It votes for each class with n[f, c] / N[f]. Features with x_f <= 0 are
    ignored. Only classes that a feature of the row knows are ranked. With an indicator matrix for y, each true class
    counts that leads the best false one by at most the margin.

    The defaults are chosen on validation parts (docs/defaults.md). KDD 2008 has delta=0.5 and one pass for its small
    sets, delta=0.1 for RCV1 and 0 for Austen, and no warm-up.

    When to use
    -----------
    The quickest index, one pass and weights that read as frequencies; scores are lower than those of `ooz`.

    References
    ----------
    Madani, Connor and Greiner, Learning when concepts abound, JMLR 2009. Madani and Huang, On updates that
    constrain the features' connections during learning, KDD 2008.

    Parameters
    ----------
    delta : margin, the lead up to which an instance teaches something; inf for always.
    passes : times that training goes through the data, in a fresh random order each time.
    d : degree limit: only the d heaviest edges of a feature are scored, in training too; None for all.
    keep : what of a row is stored after an update: "all", or what is "scored", the d heaviest edges; what the others
        counted stays in the total.
    w_min : shares that fall below this are dropped; what they counted stays in the total.
    warm : a feature met fewer times than this, in the first pass and in batches, votes with met / warm of its weight.
    counts : "value" counts x_f, "boolean" 1.
    random_state : seed of the orders; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    rows_ : the index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes, with the counts n.
    totals_ : N, by feature.
    met_ : how many instances each feature was met in.
    index_size_, index_bytes_ : counts above 0, and the bytes that the index takes.
    n_features_in_ : the number of features.
    """

    ignores_not_positive: ClassVar[bool] = True
    ranks_untouched: ClassVar[bool] = False
    takes_several: ClassVar[bool] = True
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
            "d": rules.optional(self.d, rules.count(self.d)),
            "keep": rules.one_of(self.keep, KEPT),
            "w_min": rules.share(self.w_min),
            "warm": rules.count(self.warm, least=0),
            "counts": rules.one_of(self.counts, COUNTS),
        }

    def _arrays(self, n_features: int, n_classes: int) -> dict[str, NDArray[Any]]:
        return {"totals_": np.zeros(n_features), "met_": np.zeros(n_features, np.uint32)}

    def _degree(self) -> int:
        return self.d or 0

    def _factors(self) -> NDArray[np.float64]:
        """What turns counts into votes, feature by feature."""
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
            degree=scored_edges(self.d),
            stored=stored_edges(self.d, self.keep),
            meets=number == 1,
        )
        votes = np.empty(int(np.diff(instances.indptr).max(initial=0)))
        space = empty_space(self.classes_.size)
        return update_ff(self.rows_, self.totals_, self.met_, instances, labels, order, space, votes, step)
