"""Metrics along the taxonomy: tree loss (Cai and Hofmann), accuracy by parent and level, hierarchical F1.

The nodes of a class are its own and all its ancestors below the root, each once, in a tree as in a lattice. A
prediction is the first-ranked class. If a row has several true classes, the nearest one counts, and all of them for
hierarchical precision and recall. Without a taxonomy the result is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Outcome
from harness.sdk.outcomes import Nodes, class_ancestors, nodes_by_level, pad_groups, share_group
from harness_metrics.truth import first_ranked, true_pairs

Costs = NDArray[np.float64]


def tree_loss(outcome: Outcome, *, costs: float | Sequence[float] | None = None) -> float | None:
    """Return the mean cost of the nodes that only the true or only the predicted class has.

    The nodes of a class are its own and all its ancestors. Without a prediction, every node of the true class counts
    twice, as for an equally deep prediction elsewhere.

    Formula
    -------
    tree loss = sum of the costs of nodes that just one of the label and the first class has, mean over rows

    When to use
    -----------
    Where a wrong class nearby in the taxonomy is better than one far away.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    costs : float, sequence of float, or None, default=None
        Cost of a node: a number, or a list by level from below the root, whose last entry applies to deeper levels too.
        None means the costs of the taxonomy, for missing and for entering a node; 1/2 if it has none.
    """
    if outcome.taxonomy is None:
        return None
    if costs is None and outcome.taxonomy.costs is not None:
        missed, entered = np.asarray(outcome.taxonomy.costs, np.float64).T
        return _mean_loss(outcome, missed, entered)
    by_level = _level_costs(0.5 if costs is None else costs)
    by_node = by_level[np.clip(outcome.taxonomy.levels() - 1, 0, by_level.size - 1)]
    return _mean_loss(outcome, by_node, by_node)


def tree_error(outcome: Outcome) -> float | None:
    """Return the mean number of edges between the true and the predicted class.

    In a lattice it is the number of nodes that only one of the two classes has.

    Formula
    -------
    tree error = edges between the label and the first class, mean over rows: twice the tree loss with costs of 1/2

    When to use
    -----------
    To compare with papers that report the tree-induced error.
    """
    return tree_loss(outcome, costs=1.0)


def parent_accuracy(outcome: Outcome) -> float | None:
    """Return the share of rows whose predicted class shares a parent with a true one; None in a flat tree.

    Formula
    -------
    parent accuracy = rows whose first class has the parent of a label / rows

    When to use
    -----------
    Where the right group of classes is enough.
    """
    taxonomy = outcome.taxonomy
    if taxonomy is None:
        return None
    root = int(np.flatnonzero(np.asarray(taxonomy.parent) < 0)[0])
    class_node, (nodes, parents) = np.asarray(taxonomy.class_node), taxonomy.edges()
    number, n_nodes = np.arange(class_node.size), len(taxonomy.parent)
    places = csr_array((np.ones(number.size), (number, class_node)), shape=(number.size, n_nodes))
    above = (places @ csr_array((np.ones(nodes.size), (nodes, parents)), shape=(n_nodes, n_nodes))).tocoo()
    if (above.col == root).all():  # all classes have one parent, so the figure is meaningless
        return None
    return _share_alike(outcome, pad_groups(above.row, above.col, number.size))


def level_accuracy(outcome: Outcome, *, level: int = 1) -> float | None:
    """Return the share of rows whose predicted class is below the same node of a level as a true one.

    Level 1 is just below the root. A class above the level is its own node. In a lattice, the level of a node is the
    length of its longest path from the root, and classes need one node of the level in common.

    Formula
    -------
    level accuracy = rows whose first class is below the node of a label at this level / rows

    When to use
    -----------
    To see at which level of the taxonomy learners differ.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    level : int, default=1
        Level of the tree.

    Returns
    -------
    float or None
        None if the tree is less deep.
    """
    if outcome.taxonomy is None:
        return None
    levels = nodes_by_level(outcome.taxonomy)
    return _share_alike(outcome, levels[level - 1]) if 1 <= level <= len(levels) else None


def hp(outcome: Outcome) -> float | None:
    """Return hierarchical precision: the share of the predicted nodes that are true.

    The nodes of a class are itself and its ancestors below the root (Kiritchenko, Matwin and Famili, 2005).

    Formula
    -------
    hP = |predicted nodes ∩ true nodes| / |predicted nodes|, both summed over rows

    When to use
    -----------
    With hR, to compare with papers on hierarchical classification.
    """
    found = _nodes(outcome)
    if found is None:
        return None
    return found.shared / found.predicted if found.predicted else 0.0


def hr(outcome: Outcome) -> float | None:
    """Return hierarchical recall: the share of the true nodes that are predicted.

    Formula
    -------
    hR = |predicted nodes ∩ true nodes| / |true nodes|, both summed over rows

    When to use
    -----------
    With hP, to compare with papers on hierarchical classification.
    """
    found = _nodes(outcome)
    return None if found is None else found.shared / found.true


def hf(outcome: Outcome) -> float | None:
    """Return hierarchical F1, the harmonic mean of hierarchical precision and recall.

    Formula
    -------
    hF = 2 hP hR / (hP + hR)

    When to use
    -----------
    As one number for papers on hierarchical classification.
    """
    found = _nodes(outcome)
    return None if found is None else 2 * found.shared / (found.predicted + found.true)


@dataclass(frozen=True)
class _NodeCounts:
    """Numbers of (row, node) pairs: of predicted classes, of true classes, and of both."""

    predicted: int
    true: int
    shared: int


def _nodes(outcome: Outcome) -> _NodeCounts | None:
    """Count the nodes on the paths to the predicted and the true classes; None without a true node."""
    if outcome.taxonomy is None:
        return None
    rows, classes = true_pairs(outcome)
    ancestors = class_ancestors(outcome.taxonomy)
    labelled = np.unique(rows)
    predicted = first_ranked(outcome)[labelled]
    known = predicted >= 0
    true = _row_nodes(rows, ancestors[classes])
    if not true.size:
        return None
    said = _row_nodes(labelled[known], ancestors[predicted[known]])
    return _NodeCounts(len(said), len(true), int(np.isin(said, true).sum()))


def _row_nodes(rows: Nodes, ancestors: csr_array) -> Nodes:
    """Return each pair of a row and a node of its classes once, as a number."""
    row_of = np.repeat(rows, np.diff(ancestors.indptr))
    return np.unique(row_of * ancestors.shape[1] + ancestors.indices)


def _mean_loss(outcome: Outcome, missed: Costs, entered: Costs) -> float | None:
    """Return the mean cost of the missed nodes of the nearest true class and the wrong ones of the predicted class."""
    rows, classes = true_pairs(outcome)
    if outcome.taxonomy is None or not rows.size:
        return None
    ancestors = class_ancestors(outcome.taxonomy)
    predicted = first_ranked(outcome)[rows]
    known = predicted >= 0
    shared = ancestors[classes].multiply(ancestors[predicted]) @ (missed + entered)
    missing, entering = ancestors @ missed, ancestors @ entered
    loss = np.where(known, missing[classes] + entering[predicted] - shared, missing[classes] + entering[classes])
    nearest = np.minimum.reduceat(loss, np.flatnonzero(np.diff(rows, prepend=-1)))
    return float(nearest.mean())


def _level_costs(costs: float | Sequence[float]) -> Costs:
    given = np.atleast_1d(np.asarray(costs, np.float64))
    if given.ndim != 1 or not given.size or not np.isfinite(given).all() or (given < 0).any():
        raise ValueError(f"costs must be a number or a list of numbers from 0, got {costs!r}")
    return given


def _share_alike(outcome: Outcome, groups: Nodes) -> float | None:
    """Return the share of rows whose predicted class is in a group of a true one.

    `groups` has the groups of each class, padded by -1.
    """
    rows, classes = true_pairs(outcome)
    if not rows.size:
        return None
    predicted = first_ranked(outcome)[rows]
    alike = (predicted >= 0) & share_group(groups, predicted, classes)
    return float(np.logical_or.reduceat(alike, np.flatnonzero(np.diff(rows, prepend=-1))).mean())
