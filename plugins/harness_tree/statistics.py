"""What a tree does to the instances that go through it: depth, balance and purity of splits, quality of leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from harness.sdk.kernels.arrays import Array
from harness_tree.kernels.nodes import levels

SHOWN_CLASSES = 3
"""Of a node in a picture: so many of its classes are named."""


@dataclass(frozen=True)
class TreeStatistics:
    """Measured on instances: all shares and means are over them. Arrays have one value for each inner node reached.

    With pi_i the share of class i at a node, p_i the share of it that goes right and beta the share of all that does,
    J = 2 sum_i pi_i |beta - p_i| and alpha = sum_i pi_i min(p_i, 1 - p_i).
    """

    n_leaves: int
    depth: int
    """Decisions on the longest way to a leaf."""
    mean_depth: float
    """Decisions that an instance takes."""
    quality: float
    """G: the mean entropy of the classes in a leaf, in nats; 0 where every leaf has one class only."""
    balance: float
    """The mean of min(beta, 1 - beta) over the nodes, by the instances that reach them; 1/2 is even."""
    nodes: NDArray[np.int64]
    reached: NDArray[np.float64]
    """The share of all instances that reach the node."""
    beta: NDArray[np.float64]
    J: NDArray[np.float64]
    """The node's objective, from 0 to 4 beta (1 - beta); 1 where a split is even and pure."""
    alpha: NDArray[np.float64]
    """The node's impurity: 0 where every class goes to one side."""


def measure(nodes: Array, root: int, counts: csr_array) -> TreeStatistics:
    """`counts[v, i]`: the instances of class i that end at leaf v."""
    leaves, steps = np.flatnonzero(nodes["left"] < 0), depths(nodes, root)
    above, below, side = ancestors(nodes, root, leaves)
    shape = (len(nodes), len(nodes))
    whole = csr_array((np.ones(above.size), (above, below)), shape=shape) @ counts
    right = csr_array((side, (above, below)), shape=shape) @ counts
    reached = np.asarray(whole.sum(axis=1)).ravel()
    inner = np.flatnonzero(reached > 0)
    whole, right, reached = whole[inner], right[inner], reached[inner]
    beta = np.asarray(right.sum(axis=1)).ravel() / reached
    J = 2 * row_sums(abs(right - whole.multiply(beta[:, np.newaxis]).tocsr())) / reached
    alpha = (1 - row_sums(abs(2 * right - whole)) / reached) / 2
    ended = row_sums(counts)
    total = ended.sum()
    shares = counts.tocoo()
    entropy = -(shares.data * np.log(shares.data / ended[shares.coords[0]])).sum() / total
    return TreeStatistics(
        n_leaves=leaves.size,
        depth=int(steps[leaves].max()),
        mean_depth=float((ended * steps).sum() / total),
        quality=float(entropy + 0.0),
        balance=float((np.minimum(beta, 1 - beta) * reached).sum() / reached.sum()) if inner.size else 0.0,
        nodes=inner,
        reached=reached / total,
        beta=beta,
        J=J,
        alpha=alpha,
    )


def row_sums(matrix: csr_array) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = np.asarray(matrix.sum(axis=1), np.float64).ravel()
    return sums


def depths(nodes: Array, root: int) -> NDArray[np.int64]:
    """The number of decisions before each node."""
    steps = np.zeros(len(nodes), np.int64)
    for depth, level in enumerate(levels(nodes, root)):
        steps[level] = depth
    return steps


def ancestors(
    nodes: Array, root: int, leaves: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Each pair of an inner node and a leaf below it: node, leaf, and 1.0 where the leaf is on the right."""
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
    """How many instances there are, and of which classes most: `reached` is one row of counts by class."""
    total = reached.data.sum()
    classes = reached.coords[1]
    most = np.lexsort((classes, -reached.data))[:SHOWN_CLASSES]
    shares = [f"{names[classes[e]]} {reached.data[e] / total:.0%}" for e in most]
    listed = ", ".join(shares) or "no class"
    if reached.nnz > SHOWN_CLASSES:
        listed += f" and {reached.nnz - SHOWN_CLASSES} more"
    return f"{total:,.0f} of {listed}"


def draw_tree(nodes: Array, root: int, counts: csr_array, names: Sequence[Any], depth: int) -> str:
    """The tree in text, down to a depth: what reaches each node, how it is split, which classes it has most of."""
    known = measure(nodes, root, counts)
    split = dict(zip(known.nodes.tolist(), zip(known.beta, known.J, strict=True), strict=True))
    above, below, _ = ancestors(nodes, root, np.flatnonzero(nodes["left"] < 0))
    spread = csr_array((np.ones(above.size), (above, below)), shape=(len(nodes), len(nodes))) @ counts + counts

    def tell(v: int, mark: str) -> str:
        parting = ""
        if v in split:
            beta, J = split[v]
            parting = f"; {beta:.0%} to the right, J {J:.2f}"
        return f"{mark}{_describe_classes(spread[[v]].tocoo(), names)}{parting}"

    lines, waiting = [], [(root, "", "", 0)]
    while waiting:
        v, mark, indent, level = waiting.pop()
        lines.append(tell(v, mark))
        if nodes["left"][v] >= 0 and level < depth:
            waiting.append((int(nodes["right"][v]), f"{indent}└ right: ", f"{indent}  ", level + 1))
            waiting.append((int(nodes["left"][v]), f"{indent}├ left: ", f"{indent}│ ", level + 1))
        elif nodes["left"][v] >= 0:
            lines.append(f"{indent}└ …")
    return "\n".join(lines)
