"""OOZ: online learning by shifting weight. Each feature has a budget that its classes compete for."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.sdk import rules
from harness.sdk.index import are_many
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.touched import empty_space
from harness_index.kernels.ooz import EXACT, LEVEL, SHARED, OOZStep, update_ooz
from harness_index.learner import IndexLearner, Keep

OOZ_VARIANTS = ("2010", "2008")
SOURCES = ("one", "labels")
DROPPED = ("lost", "given")
READINGS = {"shared": SHARED, "level": LEVEL, "exact": EXACT}


class OOZ(IndexLearner):
    """Online weight shifting over a sparse index (Madani and Huang, KDD 2008, and for LSHTC, 2010).

    An instance x of class y has a lead over the best other class. If the lead is below the margin by z > 0, each
    feature of x moves weight: up to x_f b to y, taken from the closest rivals and from the free source of the feature,
    where b = min(beta, z / 2). Features with x_f <= 0 are ignored. Weights never get below 0, and the weights of a
    feature never exceed its budget. Only classes that a feature of the row has an edge to are ranked. With an indicator
    matrix for y, the best scoring true class gains; if none has a score, all true classes gain alike.

    The defaults are chosen on validation sets (results/defaults). The 2010 reports have beta=0.1, delta=0.5, d=25,
    passes=20 in their table 1, and beta=0.001, delta=0.005 for the challenge; KDD 2008 has, with variant="2008" and
    d=25, beta=0.02, delta=0.4, passes=15 for 20 newsgroups, 0.01, 0.2, 8 for Reuters-21578 and 0.1, 0.1, 2 for Austen.

    When to use
    -----------
    Many classes, sparse rows of counts or weights, and a need for a small and fast index. Try it first, together with
    `pa`.

    References
    ----------
    Madani and Huang, On updates that constrain the features' connections during learning, KDD 2008. Madani and
    Huang, Large-scale many-class prediction via flat techniques, 2010.

    Parameters
    ----------
    beta : float, default=0.003
        Learning rate, above 0: the maximum change of a score in one update.
    delta : float, default=0.002
        Margin, above 0: a row with a smaller lead causes an update.
    passes : int, default=5
        Number of passes over the training rows, at least 1, each in a new random order.
    d : int or None, default=100
        Degree limit, at least 1: only the d heaviest edges of a feature are scored, also in training. None means all.
    keep : {"all", "scored"}, default="all"
        Edges of a feature kept after an update: all, or only the d heaviest ones that are scored. The weight of the
        others is lost.
    w_min : float, default=0.0
        Weights up to this value, at least 0, are dropped.
    k : int, default=15
        Maximum number of rivals that lose weight in one update, at least 1.
    variant : {"2010", "2008"}, default="2010"
        "2010" takes weight from rivals first, then from the free source; "2008" the other way round.
    deduct : {"shared", "level", "exact"}, default="shared"
        Distribution of the loss over rivals: "shared" as printed, "level" as in the example of KDD 2008, "exact" makes
        their scores equal.
    lower_rate : bool, default=True
        If True, an update is smaller when the margin is almost reached.
    remove_after : int or None, default=None
        Number of the pass, at least 1, after which free sources are emptied. None means never.
    budget : float, default=1.0
        Initial weight in the free source of a feature, above 0.
    shift : bool, default=True
        If False, rivals lose nothing, and only the free source gives weight.
    third_source : bool, default=False
        If True, the other false classes of a feature give the rest in proportion to their weights, when rivals and free
        source give too little.
    sources : {"one", "labels"}, default="one"
        Free sources of a feature: "one", or one for each label of a row with "labels".
    dropped : {"lost", "given"}, default="lost"
        Weight of edges dropped by w_min: "lost", or "given" to the true class.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes.
    free_ : ndarray of shape (n_features,)
        Remaining weight in the free source of each feature. A value below 0 is the weight taken from the sources of
        further labels.
    source_ : float
        Weight in the free sources of new features; 0 after `remove_after` has emptied the sources.
    index_size_, index_bytes_ : int
        Number of weights above 0, and bytes of the index.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_index import OOZ
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = OOZ(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    free_: NDArray[np.float64]

    def __init__(
        self,
        *,
        beta: float = 0.003,
        delta: float = 0.002,
        passes: int = 5,
        d: int | None = 100,
        keep: Keep = "all",
        w_min: float = 0.0,
        k: int = 15,
        variant: Literal["2010", "2008"] = "2010",
        deduct: Literal["shared", "level", "exact"] = "shared",
        lower_rate: bool = True,
        remove_after: int | None = None,
        budget: float = 1.0,
        shift: bool = True,
        third_source: bool = False,
        sources: Literal["one", "labels"] = "one",
        dropped: Literal["lost", "given"] = "lost",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.beta = beta
        self.delta = delta
        self.passes = passes
        self.d = d
        self.keep = keep
        self.w_min = w_min
        self.k = k
        self.variant = variant
        self.deduct = deduct
        self.lower_rate = lower_rate
        self.remove_after = remove_after
        self.budget = budget
        self.shift = shift
        self.third_source = third_source
        self.sources = sources
        self.dropped = dropped
        self.random_state = random_state

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "beta": rules.positive(self.beta),
            "delta": rules.positive(self.delta),
            "w_min": rules.not_negative(self.w_min),
            "k": rules.count(self.k),
            "variant": rules.one_of(self.variant, OOZ_VARIANTS),
            "deduct": rules.one_of(self.deduct, tuple(READINGS)),
            "lower_rate": rules.flag(self.lower_rate),
            "remove_after": rules.optional(self.remove_after, rules.count(self.remove_after)),
            "budget": rules.positive(self.budget),
            "shift": rules.flag(self.shift),
            "third_source": rules.flag(self.third_source),
            "sources": rules.one_of(self.sources, SOURCES),
            "dropped": rules.one_of(self.dropped, DROPPED),
        }

    def _arrays(self, n_features: int, n_classes: int) -> dict[str, NDArray[Any]]:
        return {"free_": np.full(n_features, getattr(self, "source_", float(self.budget)))}

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        if self.remove_after is not None and number > self.remove_after:
            self.free_[:] = self.source_ = 0.0
        n_classes = self.classes_.size
        if self._learn_many(instances, labels, order):
            return order.size
        space, losses = empty_space(n_classes), np.zeros(n_classes)
        chosen = np.empty(min(self.k, n_classes) if self.shift else 0, np.int32)
        return update_ooz(self.rows_, self.free_, instances, labels, order, space, losses, chosen, self._step())

    def _learn_many(self, instances: Instances, labels: Labels, order: NDArray[np.int64]) -> bool:
        """Learn by the kernel for many classes, if it has these rules and is faster. Return whether it did."""
        printed = self.variant == "2010" and self.deduct != "level" and not self.third_source and self.dropped == "lost"
        one_label_each = bool(np.all(np.diff(labels.indptr) == 1))
        if not (are_many(self.classes_) and printed and self.keep == "all" and self.d and one_label_each):
            return False
        from harness_index import many_classes  # noqa: PLC0415 (compiles kernels that few datasets need)

        k = self.k if self.shift else 0
        found = many_classes.learn_pass(
            self.rows_, self.free_, instances, labels, order, self.classes_.size, k, self._step()
        )
        if found is not None:
            self.rows_ = found
        return found is not None

    def _source_of_a_label(self) -> float:
        """Return the weight in the free source of each further label of a row."""
        if self.sources == "one":
            return 0.0
        return getattr(self, "source_", float(self.budget))  # which is 0 once they are emptied

    def _step(self) -> OOZStep:
        return OOZStep(
            margin=float(self.delta),
            rate=float(self.beta),
            lower_rate=bool(self.lower_rate),
            free_first=self.variant == "2008",
            reading=READINGS[self.deduct],
            least=float(np.nextafter(self.w_min, np.inf)),
            degree=self._scored_edges(),
            stored=self._stored_edges(),
            extra=self._source_of_a_label(),
            third_source=bool(self.third_source),
            transfers=self.dropped == "given",
        )
