"""Statistics of a tree on instances: depth, balance and purity of splits, quality of leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from harness.sdk import rules
from harness.sdk.kernels.instances import Array
from harness_tree.kernels.nodes import levels

MOST_EDGE = 0.5
"""J / 2 of an even and pure split."""
SHOWN_CLASSES = 3
"""Number of classes that a picture names for each node."""


@dataclass(frozen=True)
class TreeStatistics:
    """Statistics of a tree, as shares and means over instances. Arrays have one value per inner node that is reached.

    Let pi_i be the share of class i at a node, p_i the share of this class that goes right, and beta the share of all
    classes that goes right. Then J = 2 sum_i pi_i |beta - p_i| and alpha = sum_i pi_i min(p_i, 1 - p_i).
    """

    n_leaves: int
    depth: int
    """Maximum number of decisions to a leaf."""
    mean_depth: float
    """Mean number of decisions for an instance."""
    quality: float
    """G: the mean entropy of the classes in a leaf, in nats; 0 if every leaf has a single class."""
    balance: float
    """The mean of min(beta, 1 - beta) over the nodes, weighted by the instances that reach them; 1/2 is even."""
    nodes: NDArray[np.int64]
    reached: NDArray[np.float64]
    """The share of all instances that reach the node."""
    beta: NDArray[np.float64]
    J: NDArray[np.float64]
    """The node's objective, from 0 to 4 beta (1 - beta); 1 for an even and pure split."""
    alpha: NDArray[np.float64]
    """The node's impurity: 0 if every class goes to one side."""
    gain: NDArray[np.float64]
    """Reduction of the entropy of the classes by the node's split, in nats."""

    @property
    def objective(self) -> float:
        """The mean of J over the nodes, weighted by the instances that reach them; 0 for a tree without a split."""
        return _mean(self.J, self.reached)

    @property
    def impurity(self) -> float:
        """The mean of alpha over the nodes, weighted by the instances that reach them."""
        return _mean(self.alpha, self.reached)

    @property
    def edge(self) -> float:
        """gamma: the minimum of J / 2 over the nodes reached, for the entropy bound."""
        return float(self.J.min(initial=2 * MOST_EDGE)) / 2

    def quality_by_nodes(self) -> NDArray[np.float64]:
        """Return G of the tree with only its t heaviest splits, for t = 0, 1, ... up to all splits that are reached.

        No node is heavier than its parent, so these are trees too; the last one is the complete tree. On ties, parents
        come first in `nodes`.
        """
        heaviest = np.argsort(-self.reached, kind="stable")
        lowered = np.cumsum(self.reached[heaviest] * self.gain[heaviest])
        start = self.quality + lowered[-1:].sum()
        curve: NDArray[np.float64] = start - np.concatenate([[0.0], lowered])
        return curve


def entropy_bound(
    n_nodes: NDArray[np.int64] | int, edge: float, n_classes: int, start: float | None = None
) -> NDArray[np.float64]:
    """Return the bound on G after some splits, each of the heaviest impure leaf and with J / 2 of at least `edge`.

    The bound is start n_nodes^(-edge^2 / (4 (1 - edge)^2 ln k)). It is the theorem of Choromanska and Langford (NIPS
    2015) as recalled, which has 1 instead of `start`. That cannot be, since one split does not reduce G from ln k to 1.

    Parameters
    ----------
    n_nodes : int or ndarray of int
        Number of splits.
    edge : float
        Minimum of J / 2.
    n_classes : int
        Number of classes, k.
    start : float or None, default=None
        G without a split. None means ln k.
    """
    given = {"edge": edge, "n_classes": n_classes}
    rules.enforce({"edge": (0 < edge <= MOST_EDGE, "a number above 0, at most 1/2")}, given)
    rules.enforce({"n_classes": rules.count(n_classes, least=2)}, given)
    power = edge**2 / (4 * (1 - edge) ** 2 * np.log(n_classes))
    whole = np.log(n_classes) if start is None else start
    bound: NDArray[np.float64] = whole * np.maximum(1.0, n_nodes) ** -power
    return bound


def measure(nodes: Array, root: int, counts: csr_array) -> TreeStatistics:
    """Return the statistics of a tree from counts.

    Parameters
    ----------
    nodes : ndarray
        The nodes of the tree.
    root : int
        Number of the root node.
    counts : csr_array of shape (n_nodes, n_classes)
        Number of instances of each class that end at each leaf.
    """
    leaves, steps = np.flatnonzero(nodes["left"] < 0), depths(nodes, root)
    above, below, side = ancestors(nodes, root, leaves)
    shape = (len(nodes), len(nodes))
    whole = csr_array((np.ones(above.size), (above, below)), shape=shape) @ counts
    right = csr_array((side, (above, below)), shape=shape) @ counts
    reached = np.asarray(whole.sum(axis=1)).ravel()
    inner = np.flatnonzero(reached > 0)
    inner = inner[np.argsort(steps[inner], kind="stable")]
    whole, right, reached = whole[inner], right[inner], reached[inner]
    beta = np.asarray(right.sum(axis=1)).ravel() / reached
    apart = (1 - beta) * row_entropies(whole - right) + beta * row_entropies(right)
    J = 2 * row_sums(abs(right - whole.multiply(beta[:, np.newaxis]).tocsr())) / reached
    alpha = (1 - row_sums(abs(2 * right - whole)) / reached) / 2
    ended = row_sums(counts)
    total = ended.sum()
    return TreeStatistics(
        n_leaves=leaves.size,
        depth=int(steps[leaves].max()),
        mean_depth=float((ended * steps).sum() / total),
        quality=float((row_entropies(counts) * ended).sum() / total + 0.0),
        balance=float((np.minimum(beta, 1 - beta) * reached).sum() / reached.sum()) if inner.size else 0.0,
        nodes=inner,
        reached=reached / total,
        beta=beta,
        J=J,
        alpha=alpha,
        gain=row_entropies(whole) - apart,
    )


def row_sums(matrix: csr_array) -> NDArray[np.float64]:
    """Return the sum of each row."""
    sums: NDArray[np.float64] = np.asarray(matrix.sum(axis=1), np.float64).ravel()
    return sums


def row_entropies(counts: csr_array) -> NDArray[np.float64]:
    """Return the entropy of each row of counts, in nats; 0 for an empty row."""
    found = counts.tocoo()
    some = found.data > 0
    rows, values = found.coords[0][some], found.data[some]
    totals = np.bincount(rows, values, minlength=counts.shape[0])
    shares = values / totals[rows]
    entropies: NDArray[np.float64] = np.bincount(rows, -shares * np.log(shares), minlength=counts.shape[0]).astype(
        float
    )
    return entropies


def _mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    return float(values @ weights / weights.sum()) if weights.size else 0.0


def depths(nodes: Array, root: int) -> NDArray[np.int64]:
    """Return the number of decisions before each node."""
    steps = np.zeros(len(nodes), np.int64)
    for depth, level in enumerate(levels(nodes, root)):
        steps[level] = depth
    return steps


def ancestors(
    nodes: Array, root: int, leaves: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return each pair of an inner node and a leaf below it: node, leaf, and 1.0 if the leaf is on the right."""
    above, below, side = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    child, leaf = leaves[leaves != root], leaves[leaves != root]
    while child.size:
        parent = nodes["parent"][child].astype(np.int64)
        above.append(parent)
        below.append(leaf)
        side.append((nodes["right"][parent] == child).astype(np.float64))
        child, leaf = parent[parent != root], leaf[parent != root]
    return np.concatenate(above), np.concatenate(below), np.concatenate(side)


def _describe_classes(reached: coo_array, names: Sequence[Any]) -> str:
    """Return the number of instances and the most frequent classes; `reached` is one row of counts by class."""
    total = reached.data.sum()
    classes = reached.coords[1]
    most = np.lexsort((classes, -reached.data))[:SHOWN_CLASSES]
    shares = [f"{names[classes[e]]} {reached.data[e] / total:.0%}" for e in most]
    listed = ", ".join(shares) or "no class"
    if reached.nnz > SHOWN_CLASSES:
        listed += f" and {reached.nnz - SHOWN_CLASSES} more"
    return f"{total:,.0f} of {listed}"


def draw_tree(nodes: Array, root: int, counts: csr_array, names: Sequence[Any], depth: int) -> str:
    """Return a drawing of the tree as text, down to a depth.

    Each line has the instances that reach a node, the split of the node, and its most frequent classes.
    """
    known = measure(nodes, root, counts)
    split = dict(zip(known.nodes.tolist(), zip(known.beta, known.J, strict=True), strict=True))
    above, below, _ = ancestors(nodes, root, np.flatnonzero(nodes["left"] < 0))
    spread = csr_array((np.ones(above.size), (above, below)), shape=(len(nodes), len(nodes))) @ counts + counts

    def describe(v: int, mark: str) -> str:
        parting = ""
        if v in split:
            beta, J = split[v]
            parting = f"; {beta:.0%} to the right, J {J:.2f}"
        return f"{mark}{_describe_classes(spread[[v]].tocoo(), names)}{parting}"

    lines, waiting = [], [(root, "", "", 0)]
    while waiting:
        v, mark, indent, level = waiting.pop()
        lines.append(describe(v, mark))
        if nodes["left"][v] >= 0 and level < depth:
            waiting.append((int(nodes["right"][v]), f"{indent}└ right: ", f"{indent}  ", level + 1))
            waiting.append((int(nodes["left"][v]), f"{indent}├ left: ", f"{indent}│ ", level + 1))
        elif nodes["left"][v] >= 0:
            lines.append(f"{indent}└ …")
    return "\n".join(lines)
