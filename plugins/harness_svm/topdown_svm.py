"""Top-down support vector machines: one-vs-rest at each node of the class tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Taxonomy
from harness.sdk import rules
from harness.sdk.costs import settle_cost
from harness.sdk.kernels.instances import Instances, Labels
from harness_svm.flat.parameters import HingeParameters
from harness_svm.hierarchy import SOURCES
from harness_svm.linear import threshold
from harness_svm.topdown.classifier import SAMPLE_OF_TREES, Choice, NodeTraining, TopDown
from harness_svm.topdown.kernels.descent import rank_by_descent
from harness_svm.topdown.one_vs_rest import learn_machines


class TopDownSVM(HingeParameters, TopDown):
    """One-vs-rest linear support vector machines at each node of a class tree, trained on the rows below the node.

    The best child is taken at each node. Further ranks are the leaves whose paths have the largest sum of log
    sigma(score). The default of C is chosen on validation sets (results/defaults).

    When to use
    -----------
    Classes in a tree, if prediction must be fast. Only one path is followed, so a mistake near the top is final.

    References
    ----------
    Dumais and Chen, Hierarchical classification of Web content, SIGIR 2000.

    Parameters
    ----------
    C : float, default=3.0
        Weight of the loss, above 0, relative to ||w||^2 / 2.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        Loss function.
    bias : float, default=1.0
        Value of an added constant feature, at least 0; 0 adds none. Its weight is regularised like any other.
    tol : float, default=0.1
        Tolerance, above 0: training of a node ends when the projected gradients of a sweep differ by no more.
    max_sweeps : int, default=1000
        Maximum number of sweeps over the rows below a node, at least 1.
    prune : float or None, default=None
        Weights with an absolute value up to this, at least 0, are not stored. None means 0, or 0.01 if a matrix of all
        weights would take over 2 GB.
    taxonomy : str or None, default=None
        None uses the taxonomy passed to `fit`. "cluster" learns a tree by balanced 2-means of the classes. None does
        the same with a warning if `fit` gets no taxonomy.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows at each node and of the clusters. Equal seeds give equal bits.

    Attributes
    ----------
    C_ : float
        The cost that was used.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_svm import TopDownSVM
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = TopDownSVM(taxonomy="cluster", random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    C_: float

    def __init__(
        self,
        *,
        C: float | Literal["auto"] = 3.0,
        loss: Literal["hinge", "squared_hinge"] = "squared_hinge",
        bias: float = 1.0,
        tol: float = 0.1,
        max_sweeps: int = 1000,
        prune: float | None = None,
        taxonomy: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            C=C, loss=loss, bias=bias, tol=tol, max_sweeps=max_sweeps, prune=prune, random_state=random_state
        )
        self.taxonomy = taxonomy

    def _settle_cost(self, rows: csr_array, labels: Labels, seed: int, taxonomy: Taxonomy | None) -> float:
        self.C_ = settle_cost(self, self.C, rows, labels, seed, share=SAMPLE_OF_TREES, taxonomy=taxonomy)
        return self.C_

    def _learn(self, node: NodeTraining, costs: Sequence[float]) -> list[Choice]:
        prune = threshold(self.prune, self.n_features_in_, self.classes_.size)
        return learn_machines(node, [self._problem(C) for C in costs], prune)

    def _search(self, instances: Instances, k: int) -> tuple[NDArray[np.int32], int]:
        return rank_by_descent(self.branches_, instances, k)

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            **self._hinge_rules(),
            "taxonomy": rules.optional(self.taxonomy, rules.one_of(self.taxonomy, SOURCES)),
        }
