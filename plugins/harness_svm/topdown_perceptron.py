"""Top-down perceptrons, the baseline of KDD 2008: one-vs-rest, alone or in committees, at each node of a class tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.sdk import rules
from harness.sdk.kernels.edges import as_edges
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.ovr_perceptron import learn_one_vs_rest, total
from harness.sdk.kernels.rows import Rows, empty_rows
from harness_svm.hierarchy import SOURCES
from harness_svm.kernels.descent import rank_by_descent
from harness_svm.topdown import Choice, TopDown


class TopDownPerceptron(TopDown):
    """At each node one-vs-rest perceptrons, or a committee of such; KDD 2008 has ten members.

    When to use
    -----------
    As `topdown-svm`, in less training time; the tree baseline of KDD 2008.

    References
    ----------
    Madani and Huang, On updates that constrain the features' connections during learning, KDD 2008.

    Parameters
    ----------
    passes : the most times that training goes through the rows below a node; a pass without an error is the last.
    members : perceptrons per child, each with orders of its own; each is scaled to length 1, and they are added up.
    taxonomy : None for the one that fit is given, "cluster" for one that is learned by balanced 2-means of the classes.
    random_state : seed of the orders and of the clusters; equal seeds give equal bits.
    """

    def __init__(
        self,
        *,
        passes: int = 10,
        members: int = 10,
        taxonomy: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.passes = passes
        self.members = members
        self.taxonomy = taxonomy
        self.random_state = random_state

    def _learn(self, instances: Instances, labels: Labels, n_features: int, n_children: int, seed: int) -> Choice:
        random = np.random.default_rng(seed)
        trained = [self._train_member(instances, labels, n_features, n_children, random) for _ in range(self.members)]
        return Choice(np.empty(0, np.int64), as_edges(total(trained, n_children)), np.zeros(n_children))

    def _train_member(
        self, instances: Instances, labels: Labels, n_features: int, n_children: int, random: np.random.Generator
    ) -> Rows:
        rows = empty_rows(max(1, n_features), instances.data.size)
        for _ in range(self.passes):
            order = random.permutation(instances.n_instances)
            rows, errors = learn_one_vs_rest(rows, instances, labels, order, n_children)
            if errors == 0:
                break
        return rows

    def _search(self, instances: Instances, k: int) -> tuple[NDArray[np.int32], int]:
        return rank_by_descent(self.branches_, instances, k)

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "passes": rules.count(self.passes),
            "members": rules.count(self.members),
            "taxonomy": rules.optional(self.taxonomy, rules.one_of(self.taxonomy, SOURCES)),
        }
