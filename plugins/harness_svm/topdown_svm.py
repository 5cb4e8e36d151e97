"""Top-down support vector machines: one-vs-rest at each node of the class tree."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.sdk import rules
from harness.sdk.kernels.instances import Instances, Labels
from harness_svm.choices import threshold
from harness_svm.hierarchy import SOURCES
from harness_svm.kernels.descent import rank_by_descent
from harness_svm.kernels.dual import HINGE_LOSSES, pose
from harness_svm.kernels.one_vs_rest import train_one_vs_rest
from harness_svm.topdown import Choice, TopDown


class TopDownSVM(TopDown):
    """At each node one-vs-rest linear support vector machines, trained on the rows below it.

    The best child is taken at each node. What follows in a ranking are the leaves whose paths have the largest sum of
    log sigma(score). The default of C is chosen on validation parts (docs/defaults.md).

    When to use
    -----------
    Classes have a tree, and prediction must be fast: one path is followed, and a mistake near the top stays.

    References
    ----------
    Dumais and Chen, Hierarchical classification of Web content, SIGIR 2000.

    Parameters
    ----------
    C, loss, bias, tol, max_sweeps, prune : as `svm` has them, at each node.
    taxonomy : None for the one that fit is given, "cluster" for one that is learned by balanced 2-means of the classes.
    random_state : seed of the orders and of the clusters; equal seeds give equal bits.
    """

    def __init__(
        self,
        *,
        C: float = 3.0,
        loss: Literal["hinge", "squared_hinge"] = "squared_hinge",
        bias: float = 1.0,
        tol: float = 0.1,
        max_sweeps: int = 1000,
        prune: float | None = None,
        taxonomy: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.bias = bias
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.prune = prune
        self.taxonomy = taxonomy
        self.random_state = random_state

    def _learn(self, instances: Instances, labels: Labels, n_features: int, n_children: int, seed: int) -> Choice:
        problem = pose(
            float(self.C),
            squared=self.loss == "squared_hinge",
            bias=float(self.bias),
            tolerance=float(self.tol),
            most_sweeps=int(self.max_sweeps),
        )
        prune = threshold(self.prune, self.n_features_in_, self.classes_.size)
        machines = train_one_vs_rest(instances, labels, max(1, n_features), n_children, problem, seed, prune)
        return Choice(np.empty(0, np.int64), machines.edges, machines.bias)

    def _search(self, instances: Instances, k: int) -> tuple[NDArray[np.int32], int]:
        return rank_by_descent(self.branches_, instances, k)

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "C": rules.positive(self.C),
            "loss": rules.one_of(self.loss, HINGE_LOSSES),
            "bias": rules.not_negative(self.bias),
            "tol": rules.positive(self.tol),
            "max_sweeps": rules.count(self.max_sweeps),
            "prune": rules.optional(self.prune, rules.not_negative(self.prune)),
            "taxonomy": rules.optional(self.taxonomy, rules.one_of(self.taxonomy, SOURCES)),
        }
