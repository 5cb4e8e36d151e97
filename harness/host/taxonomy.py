"""`Taxonomy`, the tree or lattice above the classes. Part of the contract, so numpy is imported only on use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OPTIONAL = ("more_parents", "weights", "costs")
"""Arrays that a taxonomy may lack; they are stored only if it has them."""


@dataclass(frozen=True)
class Taxonomy:
    """A tree whose nodes include the classes, or a lattice, whose nodes may have several parents.

    Examples
    --------
    >>> import numpy as np
    >>> Taxonomy(parent=np.array([-1, 0, 0, 2]), class_node=np.array([1, 3])).depth
    2
    >>> lattice = Taxonomy(np.array([-1, 0, 0, 2]), np.array([1, 3]), more_parents=np.array([[3, 1]]))
    >>> lattice.is_tree, lattice.levels().tolist()
    (False, [0, 1, 1, 2])
    """

    parent: NDArray[np.int64]
    """Position of the parent of each node; -1 for the root. Of several parents the first one."""
    class_node: NDArray[np.int64]
    """Position of the node of each class, which may be an inner node."""
    node_names: tuple[str, ...] = ()
    """Name of each node; empty if the nodes have no names."""
    more_parents: NDArray[np.int64] | None = None
    """Pairs of a node and a further parent of it, of shape (n, 2); None in a tree."""
    weights: NDArray[np.float64] | None = None
    """Weight of each node in the attributes of a class (v_z of Cai and Hofmann); None if all are 1."""
    costs: NDArray[np.float64] | None = None
    """By node, the cost of missing it and of entering it wrongly (f_z c_z of Cai and Hofmann), of shape (nodes, 2).

    None if all are 1/2.
    """

    @property
    def is_tree(self) -> bool:
        """True if no node has several parents."""
        return self.more_parents is None or not len(self.more_parents)

    @property
    def depth(self) -> int:
        """The number of edges from the root to the deepest node, on the longest path."""
        if not self.is_tree:
            return int(self.levels().max())
        deepest, above = 0, self.parent[self.parent >= 0]
        while above.size:
            deepest, above = deepest + 1, self.parent[above]
            above = above[above >= 0]
        return deepest

    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the nodes and the parents of all edges; those of first parents come first."""
        import numpy as np  # noqa: PLC0415 (not imported with the contract)

        parent = np.asarray(self.parent, np.int64)
        nodes = np.flatnonzero(parent >= 0)
        if self.is_tree:
            return nodes, parent[nodes]
        more = np.asarray(self.more_parents, np.int64)
        return np.concatenate([nodes, more[:, 0]]), np.concatenate([parent[nodes], more[:, 1]])

    def levels(self) -> NDArray[np.int64]:
        """Return the level of each node: the number of edges on its longest path from the root.

        Raises
        ------
        ValueError
            If there is a cycle.
        """
        import numpy as np  # noqa: PLC0415 (not imported with the contract)

        nodes, parents = self.edges()
        levels = np.where(np.asarray(self.parent) < 0, 0, -1)
        level = 0
        while nodes.size:
            level += 1
            is_open = levels[parents] < 0
            reached = np.setdiff1d(nodes, nodes[is_open])
            if not reached.size:
                raise ValueError(f"node {nodes.min()} is in a cycle or below one")
            levels[reached] = level
            waiting = levels[nodes] < 0
            nodes, parents = nodes[waiting], parents[waiting]
        return levels
