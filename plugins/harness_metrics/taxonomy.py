"""Metrics along the class tree: tree loss (Cai and Hofmann), accuracy by parent and level, hierarchical F1.

A prediction is the first-ranked class. If a row has several true classes, the nearest one counts, and all of them for
hierarchical precision and recall. Without a taxonomy the result is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness import Outcome
from harness.sdk.outcomes import Nodes, class_paths, nodes_at_level
from harness_metrics.truth import first_ranked, true_pairs


def tree_loss(outcome: Outcome, *, costs: float | Sequence[float] = 0.5) -> float | None:
    """Return the mean cost of the nodes on only one of the paths from the root to the true and to the predicted class.

    Without a prediction, every node on the true path counts twice, as for an equally deep prediction elsewhere.

    Formula
    -------
    tree loss = sum of the costs of nodes on just one of the paths to the label and to the first class, mean over rows

    When to use
    -----------
    Where a wrong class nearby in the taxonomy is better than one far away.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    costs : float or sequence of float, default=0.5
        Cost of a node: a number, or a list by level from below the root. The last entry applies to deeper levels too.
    """
    return _mean_loss(outcome, costs)


def tree_error(outcome: Outcome) -> float | None:
    """Return the mean number of edges between the true and the predicted class.

    Formula
    -------
    tree error = edges between the label and the first class, mean over rows: twice the tree loss with costs of 1/2

    When to use
    -----------
    To compare with papers that report the tree-induced error.
    """
    return _mean_loss(outcome, 1.0)


def parent_accuracy(outcome: Outcome) -> float | None:
    """Return the share of rows whose predicted class has the same parent as a true one; None in a flat tree.

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
    above = np.asarray(taxonomy.parent)[np.asarray(taxonomy.class_node)]
    root = int(np.flatnonzero(np.asarray(taxonomy.parent) < 0)[0])
    if ((above == root) | (above < 0)).all():  # all classes have one parent, so the figure is meaningless
        return None
    return _share_alike(outcome, above)


def level_accuracy(outcome: Outcome, *, level: int = 1) -> float | None:
    """Return the share of rows whose predicted class is below the same node of a level as a true one.

    Level 1 is just below the root. A class above the level is its own node.

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
    paths = class_paths(outcome.taxonomy)
    if not 1 <= level <= paths.shape[1]:
        return None
    return _share_alike(outcome, nodes_at_level(paths, level))


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
    paths = class_paths(outcome.taxonomy)
    labelled = np.unique(rows)
    predicted = first_ranked(outcome)[labelled]
    known = predicted >= 0
    n_nodes = len(outcome.taxonomy.parent)
    true = _row_nodes(rows, paths[classes], n_nodes)
    if not true.size:
        return None
    said = _row_nodes(labelled[known], paths[predicted[known]], n_nodes)
    return _NodeCounts(len(said), len(true), int(np.isin(said, true).sum()))


def _row_nodes(rows: Nodes, paths: Nodes, n_nodes: int) -> Nodes:
    """Return each pair of a row and a node of its paths once, as a number."""
    pairs = rows[:, np.newaxis] * n_nodes + paths
    return np.unique(pairs[paths >= 0])


def _mean_loss(outcome: Outcome, costs: float | Sequence[float]) -> float | None:
    rows, classes = true_pairs(outcome)
    if outcome.taxonomy is None or not rows.size:
        return None
    paths = class_paths(outcome.taxonomy)
    by_level = _level_costs(costs, paths.shape[1])
    whole = (paths >= 0) @ by_level  # the cost of the complete path of each class
    predicted = first_ranked(outcome)[rows]
    known = predicted >= 0
    shared = (paths[classes] == paths[predicted]) & (paths[classes] >= 0)
    loss = np.where(known, whole[classes] + whole[predicted] - 2 * (shared @ by_level), 2 * whole[classes])
    nearest = np.minimum.reduceat(loss, np.flatnonzero(np.diff(rows, prepend=-1)))
    return float(nearest.mean())


def _level_costs(costs: float | Sequence[float], depth: int) -> NDArray[np.float64]:
    given = np.atleast_1d(np.asarray(costs, np.float64))
    if given.ndim != 1 or not given.size or not np.isfinite(given).all() or (given < 0).any():
        raise ValueError(f"costs must be a number or a list of numbers from 0, got {costs!r}")
    return given[np.minimum(np.arange(depth), len(given) - 1)]


def _share_alike(outcome: Outcome, group: Nodes) -> float | None:
    """Return the share of rows whose predicted class is in the group of a true one.

    `group` has the group of each class.
    """
    rows, classes = true_pairs(outcome)
    if not rows.size:
        return None
    predicted = first_ranked(outcome)[rows]
    alike = (predicted >= 0) & (group[predicted] == group[classes])
    return float(np.logical_or.reduceat(alike, np.flatnonzero(np.diff(rows, prepend=-1))).mean())
