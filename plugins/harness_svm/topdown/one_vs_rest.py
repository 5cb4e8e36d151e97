"""One-vs-rest machines at a node, for the top-down learners with support vector machines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness_svm.flat.kernels.dual import DualProblem
from harness_svm.flat.kernels.one_vs_rest import train_one_vs_rest
from harness_svm.topdown.classifier import Choice, NodeTraining


def learn_machines(node: NodeTraining, problems: Sequence[DualProblem], prune: float) -> list[Choice]:
    """Return a machine for each child of a node, for each problem in turn; weights up to `prune` are not stored."""
    width = max(1, node.n_features)
    path = train_one_vs_rest(node.instances, node.labels, width, node.n_children, problems, node.seed, prune)
    return [Choice(np.empty(0, np.int64), machines.edges, machines.bias) for machines in path]
