"""Top-down perceptrons, the baseline of KDD 2008: one-vs-rest at each node of a class tree, alone or in committees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.sdk import rules
from harness.sdk.classifier import Examples, Matrix
from harness.sdk.kernels.edges import as_edges
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.one_vs_rest import inverse, learn_one_vs_rest, norms, total
from harness.sdk.kernels.rows import Rows, empty_rows
from harness.sdk.online import warn_without_bias
from harness_svm.hierarchy import SOURCES
from harness_svm.topdown.classifier import Choice, NodeTraining, TopDown
from harness_svm.topdown.kernels.descent import rank_by_descent


class TopDownPerceptron(TopDown):
    """One-vs-rest perceptrons, or committees of them, at each node of a class tree. KDD 2008 uses ten members.

    When to use
    -----------
    The same tasks as `topdown-svm`, in less training time. It is the tree baseline of KDD 2008.

    References
    ----------
    Madani and Huang, On updates that constrain the features' connections during learning, KDD 2008.

    Parameters
    ----------
    passes : int, default=10
        Maximum number of passes over the rows below a node, at least 1. Training ends after a pass without an error.
    members : int, default=10
        Number of perceptrons for each child, at least 1. Each uses other orders of the rows and is scaled to length 1;
        their scores are added.
    bias : float, default=0.0
        Value of an added constant feature, at least 0; 0 adds none, as in KDD 2008. Data with negative values needs
        one, such as 1.0: `fit` warns.
    taxonomy : str or None, default=None
        None uses the taxonomy passed to `fit`. "cluster" learns a tree by balanced 2-means of the classes. None does
        the same with a warning if `fit` gets no taxonomy.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows and of the clusters. Equal seeds give equal bits.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_svm import TopDownPerceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = TopDownPerceptron(taxonomy="cluster", random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def __init__(
        self,
        *,
        passes: int = 10,
        members: int = 10,
        bias: float = 0.0,
        taxonomy: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.passes = passes
        self.members = members
        self.bias = bias
        self.taxonomy = taxonomy
        self.random_state = random_state

    def _begin(self, X: Matrix, y: ArrayLike) -> tuple[Examples, Labels]:
        rows, labels = super()._begin(X, y)
        warn_without_bias(rows, self, self.bias, stacklevel=4)
        return rows, labels

    def _learn(self, node: NodeTraining, costs: Sequence[float]) -> list[Choice]:
        random = np.random.default_rng(node.seed)
        members, lengths, intercept = [], [], np.zeros(node.n_children)
        for _ in range(self.members):
            rows, own = self._train_member(node, random)
            members.append(rows)
            lengths.append(norms(rows, node.n_children, own, float(self.bias)))
            intercept += own * inverse(lengths[-1])
        return [Choice(np.empty(0, np.int64), as_edges(total(members, lengths)), intercept)]

    def _train_member(self, node: NodeTraining, random: np.random.Generator) -> tuple[Rows, NDArray[np.float64]]:
        """Return the weights of one member, and what its constant feature adds to the score of each child."""
        rows = empty_rows(max(1, node.n_features), node.instances.data.size)
        intercept = np.zeros(node.n_children)
        for _ in range(self.passes):
            order = random.permutation(node.instances.n_instances)
            rows, errors = learn_one_vs_rest(rows, node.instances, node.labels, order, intercept, float(self.bias))
            if errors == 0:
                break
        return rows, intercept

    def _search(self, instances: Instances, k: int) -> tuple[NDArray[np.int32], int]:
        return rank_by_descent(self.branches_, instances, k)

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "passes": rules.count(self.passes),
            "members": rules.count(self.members),
            "bias": rules.not_negative(self.bias),
            "taxonomy": rules.optional(self.taxonomy, rules.one_of(self.taxonomy, SOURCES)),
        }
