"""Back-off: answer with the deepest node of the taxonomy whose confidence is high enough.

The probabilities of a row's best classes add up to the mass of a node. At each level the node with the largest mass is
the candidate. The calibrator of the level, which is fitted on held-out rows, turns its mass into a confidence. The
answer is the candidate of the deepest level whose confidence reaches the limit, or the root, which is always right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from harness.host.contract import Labels, Taxonomy
from harness.sdk.outcomes import class_ancestors, nodes_by_level
from harness.stats.calibration import Calibrated, Calibrator, calibrate, sharpen
from harness.trials.predict import KEPT_SCORES, rank_with_scores

NODE_SCORES = 50
"""Number of best classes whose probabilities add up to the mass of a node."""
Numbers = NDArray[np.float64]
Nodes = NDArray[np.int64]


@dataclass(frozen=True)
class NodePredictions:
    """A node of the taxonomy for each row."""

    nodes: Nodes
    """Position of the node of each row in the taxonomy."""
    depth: NDArray[np.int64]
    """Number of edges between the root and the node."""
    confidence: Numbers
    """Calibrated probability that a true class is at the node or below it; 1 for the root."""
    names: NDArray[Any]
    """Name of the node of each row."""


@dataclass(frozen=True)
class BackOff:
    """The taxonomy of a model with a calibrator for each level, from below the root."""

    taxonomy: Taxonomy
    calibrators: tuple[Calibrator, ...]

    def answer(self, ranks: NDArray[np.int32], shares: Numbers, least: float, classes: NDArray[Any]) -> NodePredictions:
        """Return for each row the deepest candidate whose confidence is at least `least`.

        Parameters
        ----------
        ranks : ndarray of int32
            Positions of the best classes of each row; padded with -1.
        shares : Numbers
            The probability of each of these classes, by `class_shares`.
        least : float
            The limit.
        classes : ndarray
            Class names, by position; they name nodes if the taxonomy has no names.
        """
        rows = len(ranks)
        nodes, confidence = np.full(rows, self._root), np.ones(rows)
        levels = zip(self.calibrators, candidates(self._levels, ranks, shares), strict=True)
        for calibrator, (found, mass) in levels:
            sure = calibrator.confidence(as_scores(mass))
            is_answer = (sure >= least) & (ranks[:, 0] >= 0) & (found >= 0)
            nodes, confidence = np.where(is_answer, found, nodes), np.where(is_answer, sure, confidence)
        return NodePredictions(nodes, self._depths[nodes], confidence, self._names(classes)[nodes])

    @cached_property
    def _root(self) -> int:
        return int(np.flatnonzero(self.taxonomy.parent < 0)[0])

    @cached_property
    def _levels(self) -> list[Nodes]:
        return nodes_by_level(self.taxonomy)

    @cached_property
    def _depths(self) -> NDArray[np.int64]:
        """The depth of every node."""
        return self.taxonomy.levels()

    def _names(self, classes: NDArray[Any]) -> NDArray[Any]:
        """Return the name of every node: its own, else that of a class at the node, else its number."""
        names = np.empty(len(self.taxonomy.parent), dtype=object)
        if self.taxonomy.node_names:
            names[:] = self.taxonomy.node_names
            return names
        names[:] = [f"node {number}" for number in range(len(names))]
        names[self.taxonomy.class_node] = classes
        names[self._root] = "root"
        return names


def node_depth(taxonomy: Taxonomy) -> int:
    """Return the number of levels that have a calibrator: the depth of the deepest class."""
    return int(taxonomy.levels()[taxonomy.class_node].max(initial=0))


def path_to(taxonomy: Taxonomy | None, position: int) -> list[str]:
    """Return the names of the nodes between the root and a class, without both."""
    if taxonomy is None or not taxonomy.node_names:
        return []
    path = []
    node = int(taxonomy.parent[taxonomy.class_node[position]])
    while node >= 0 and taxonomy.parent[node] >= 0:
        path.append(taxonomy.node_names[node])
        node = int(taxonomy.parent[node])
    return path[::-1]


def class_shares(ranks: NDArray[np.int32], scores: Numbers, calibrator: Calibrator) -> Numbers:
    """Return a probability for each ranked class, such that the first one has its calibrated confidence; 0 for pads."""
    is_class = ranks >= 0
    if not ranks.shape[0]:
        return np.zeros(ranks.shape)
    listed = np.where(is_class, scores, -np.inf)
    listed[~is_class[:, 0]] = 0.0  # a row without classes
    return np.where(is_class, sharpen(listed, calibrator.confidence(scores[:, :KEPT_SCORES])), 0.0)


def candidates(levels: list[Nodes], ranks: NDArray[np.int32], shares: Numbers) -> Iterator[tuple[Nodes, Numbers]]:
    """Yield for each level the node with the largest mass in each row, and this mass.

    In a lattice, a class adds to the mass of each of its nodes at the level.
    """
    for of_class in levels:
        most = of_class.shape[1]
        nodes = of_class[np.maximum(ranks, 0)].reshape(len(ranks), ranks.shape[1] * most)
        own = np.where(nodes == -1, 0.0, np.repeat(shares, most, axis=1))
        order = np.argsort(nodes, axis=1, kind="stable")
        nodes = np.take_along_axis(nodes, order, axis=1)
        added = np.cumsum(np.take_along_axis(own, order, axis=1), axis=1)
        is_last = np.ones(nodes.shape, bool)
        is_last[:, :-1] = nodes[:, 1:] != nodes[:, :-1]
        up_to = np.maximum.accumulate(np.where(is_last, added, 0.0), axis=1)
        before = np.pad(up_to, ((0, 0), (1, 0)))[:, :-1]
        mass = np.where(is_last, added - before, -1.0)
        best = mass.argmax(axis=1)[:, np.newaxis]
        yield np.take_along_axis(nodes, best, axis=1)[:, 0], np.take_along_axis(mass, best, axis=1)[:, 0].clip(0, 1)


def as_scores(mass: Numbers) -> Numbers:
    """Return masses in the form that a calibrator reads: as the first score, with a second score of 0."""
    return np.column_stack([mass, np.zeros(len(mass))])


def node_scores(n_classes: int) -> int:
    """Return the number of best classes whose probabilities make the mass of a node."""
    return max(min(NODE_SCORES, n_classes), KEPT_SCORES)


def fit_back_off(
    learner: Any, rows: Any, truth: Labels, taxonomy: Taxonomy, n_classes: int, calibrator: Calibrator
) -> list[tuple[Calibrated, float]]:
    """Fit a calibrator for each level of the taxonomy, and return it with the share of right candidates.

    Parameters
    ----------
    learner : object
        The fitted learner, which has scores.
    rows, truth : object
        Held-out rows in the form that the learner takes, and their labels.
    taxonomy : Taxonomy
        The taxonomy of the classes.
    n_classes : int
        Number of classes of the dataset.
    calibrator : Calibrator
        The calibrator for the first class.
    """
    ranks, scores = rank_with_scores(learner, rows, node_scores(n_classes), n_classes)
    assert scores is not None  # the caller has checked it
    shares = class_shares(ranks, scores, calibrator)
    fitted = []
    for found, mass in candidates(nodes_by_level(taxonomy), ranks, shares):
        right = is_below(taxonomy, found, truth) & (ranks[:, 0] >= 0)
        fitted.append((calibrate(as_scores(mass), right), float(right.mean()) if right.size else 0.0))
    return fitted


def is_below(taxonomy: Taxonomy, nodes: Nodes, truth: Labels) -> NDArray[np.bool_]:
    """Return for each row whether a true class is at its node or below it."""
    if issparse(truth):
        pairs = csr_array(truth)
        row = np.repeat(np.arange(truth.shape[0]), np.diff(pairs.indptr))
        found = np.zeros(truth.shape[0], bool)
        np.logical_or.at(found, row, _is_under(taxonomy, nodes[row], pairs.indices))
        return found
    return _is_under(taxonomy, nodes, truth)


def _is_under(taxonomy: Taxonomy, nodes: Nodes, classes: NDArray[Any]) -> NDArray[np.bool_]:
    ancestors, n_nodes = class_ancestors(taxonomy), len(taxonomy.parent)
    known = np.repeat(np.arange(ancestors.shape[0]), np.diff(ancestors.indptr)) * n_nodes + ancestors.indices
    below = np.isin(np.asarray(classes, np.int64) * n_nodes + nodes, known) & (classes >= 0)
    return np.asarray(below | (nodes < 0))  # a candidate below 0 is the root, to which every class belongs
