"""Where classes stand in their tree: for metrics, figures and the page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.contract import Taxonomy

Nodes = NDArray[np.int64]
AT_THE_ROOT = -2
"""The node of a class that sits at the root itself, which is below no level."""


def class_paths(taxonomy: Taxonomy) -> Nodes:
    """For each class the nodes from below the root down to its own, -1 pads: classes x depth."""
    parent, node = np.asarray(taxonomy.parent, np.int64), np.asarray(taxonomy.class_node, np.int64)
    upwards = []  # the path from the class up, column by column
    while (inside := (node >= 0) & (parent[node] >= 0)).any():
        upwards.append(np.where(inside, node, -1))
        node = np.where(inside, parent[node], -1)
    if not upwards:
        return np.empty((len(node), 0), np.int64)
    paths = np.stack(upwards, axis=1)[:, ::-1]
    order = np.argsort(paths < 0, axis=1, kind="stable")  # shallow classes have their pads first: move them last
    return np.take_along_axis(paths, order, axis=1)


def nodes_at_level(paths: Nodes, level: int) -> Nodes:
    """The node of each class at a level, 1 being just below the root; a class above the level stands for itself."""
    shown = paths[:, :level]
    deepest = np.where(shown >= 0, np.arange(level), -1).max(axis=1)
    return np.where(deepest >= 0, shown[np.arange(len(shown)), deepest], AT_THE_ROOT)
