"""The problems of the support vector machines, dense and in float64: references for their kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.sdk import Instances, as_instances, frozen
from harness_svm.structured.kernels.class_tree import ClassTree, as_tree, in_order
from harness_svm.structured.kernels.lattice import Lattice, as_lattice
from internals import Rows, as_edges


@dataclass(frozen=True)
class Hierarchy:
    """A class tree: each node's parent, weight, and cost of missing or entering it."""

    parent: np.ndarray
    leaf: np.ndarray
    weight: np.ndarray
    missed: np.ndarray
    false: np.ndarray

    def kernel_tree(self) -> ClassTree:
        return as_tree(self.parent, self.leaf, self.weight, self.missed, self.false)

    def ordered(self) -> tuple[np.ndarray, Any]:
        """Return the class in each place of the kernels' order, and what the kernels read."""
        return in_order(self.kernel_tree())

    def on_path(self) -> np.ndarray:
        """Return classes x nodes: whether the node is on the path of the class, without the root."""
        on = np.zeros((self.leaf.size, self.parent.size), bool)
        for c in range(self.leaf.size):
            node = int(self.leaf[c])
            while node != 0:
                on[c, node] = True
                node = int(self.parent[node])
        return on

    def attributes(self) -> np.ndarray:
        """Return L, classes x nodes: sqrt(m_z) on the path, each row scaled to unit length."""
        L = self.on_path() * np.sqrt(self.weight)
        lengths = np.linalg.norm(L, axis=1, keepdims=True)
        return np.divide(L, lengths, out=np.zeros_like(L), where=lengths > 0)

    def costs(self) -> np.ndarray:
        """Return costs by true and other class: missed nodes of the first path plus wrong nodes of the second."""
        on = self.on_path()
        costs = np.zeros((self.leaf.size, self.leaf.size))
        for y in range(self.leaf.size):
            for c in range(self.leaf.size):
                costs[y, c] = self.missed[on[y] & ~on[c]].sum() + self.false[on[c] & ~on[y]].sum()
        return costs


def random_hierarchy(seed: int, n_classes: int = 7) -> Hierarchy:
    """Return a tree with inner nodes at any depth, and a leaf for each class below any of them."""
    rng = np.random.default_rng(seed)
    n_inner = int(rng.integers(1, 6))
    inner = [0, *(int(rng.integers(0, z)) for z in range(1, n_inner))]
    below = np.sort(rng.integers(0, n_inner, n_classes))
    nodes = n_inner + n_classes
    return Hierarchy(
        parent=np.array([*inner, *below]),
        leaf=n_inner + rng.permutation(n_classes),
        weight=rng.integers(1, 5, nodes).astype(np.float64),
        missed=rng.random(nodes) + 0.1,
        false=rng.random(nodes) + 0.1,
    )


@dataclass(frozen=True)
class LatticeHierarchy(Hierarchy):
    """Nodes with further parents: pairs of a node and its parent."""

    more: tuple[tuple[int, int], ...] = ()

    def on_path(self) -> np.ndarray:
        """Return classes x nodes: whether the node is that of the class or above it, without the root."""
        on = np.zeros((self.leaf.size, self.parent.size), bool)
        for c in range(self.leaf.size):
            waiting = [int(self.leaf[c])]
            while waiting:
                node = waiting.pop()
                if node != 0:
                    on[c, node] = True
                    waiting += [int(self.parent[node]), *(above for below, above in self.more if below == node)]
        return on

    def lattice(self) -> Lattice:
        return as_lattice(csr_array(self.on_path().astype(np.float64)), self.weight, self.missed, self.false)

    def ordered(self) -> tuple[np.ndarray, Any]:
        return np.arange(self.leaf.size), self.lattice()


def random_lattice(seed: int, n_classes: int = 7) -> LatticeHierarchy:
    """Return a random tree whose nodes may have up to two further parents, each numbered before its child."""
    tree, rng = random_hierarchy(seed, n_classes), np.random.default_rng(seed)
    inner = tree.parent.size - n_classes
    more = {(int(z), int(rng.integers(0, min(z, inner)))) for z in rng.integers(1, tree.parent.size, 8)}
    pairs = tuple(sorted((below, above) for below, above in more if tree.parent[below] != above))
    return LatticeHierarchy(tree.parent, tree.leaf, tree.weight, tree.missed, tree.false, pairs)


def flat_hierarchy(n_classes: int) -> Hierarchy:
    """Return a tree with every class below the root and unit costs: Crammer and Singer's machine."""
    nodes = n_classes + 1
    half = np.full(nodes, 0.5)
    return Hierarchy(np.zeros(nodes, np.int64), np.arange(1, nodes), np.ones(nodes), half, half)


@dataclass(frozen=True)
class Structured:
    """max_b sum_iy cost_iy b_iy - 1/2 ||w||^2 with b_iy >= 0, sum_y b_iy <= C and w = sum_iy b_iy rate_iy dL_i(y) x_i.

    `b` is rows x classes in all that follows, `w` nodes x features.
    """

    X: np.ndarray
    y: np.ndarray
    hierarchy: Hierarchy
    C: float
    slack: bool

    @property
    def cost(self) -> np.ndarray:
        return self.hierarchy.costs()[self.y]

    @property
    def rate(self) -> np.ndarray:
        """Return the cost if the loss is rescaled by it, else 1; 0 for the true class."""
        return self.cost if self.slack else (np.arange(self.hierarchy.leaf.size) != self.y[:, None]).astype(float)

    def coefficients(self, b: np.ndarray) -> np.ndarray:
        """Return by row and class the coefficient of L(class) x_i in w: dL_i(y) = L(y_i) - L(y)."""
        a = b * self.rate
        coefficients = -a
        coefficients[np.arange(len(self.y)), self.y] += a.sum(axis=1)
        return coefficients

    def w(self, b: np.ndarray) -> np.ndarray:
        return self.hierarchy.attributes().T @ self.coefficients(b).T @ self.X

    def u(self, b: np.ndarray) -> np.ndarray:
        """Return features x classes: the vectors stored by the kernels, r_y sum_i coefficient_iy x_i."""
        on = self.hierarchy.on_path()
        lengths = np.sqrt((on * self.hierarchy.weight).sum(axis=1))
        return (self.coefficients(b).T @ self.X / lengths[:, None]).T

    def v(self, b: np.ndarray) -> np.ndarray:
        """Return features x classes: the vectors that score the classes, F(x, y) = <v_y, x>."""
        return (self.hierarchy.attributes() @ self.w(b)).T

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return F(x_i, y) = sum_z L_z(y) <w_z, x_i>."""
        return self.X @ (self.hierarchy.attributes() @ w).T

    def gradients(self, b: np.ndarray) -> np.ndarray:
        """Return the derivatives of the objective in b_iy; -inf for the true class, which has no dual."""
        F = self.scores(self.w(b))
        lead = F[np.arange(len(self.y)), self.y][:, None] - F
        gradients = self.cost - self.rate * lead
        gradients[np.arange(len(self.y)), self.y] = -np.inf
        return gradients

    def objective(self, b: np.ndarray) -> float:
        return float((self.cost * b).sum() - (self.w(b) ** 2).sum() / 2)

    def violation(self, b: np.ndarray, i: int) -> float:
        """Return the distance of row i from its optimum.

        This is the best gradient minus the worst gradient of classes with a positive dual. The unused part of C counts
        as a class with gradient 0.
        """
        g = self.gradients(b)[i]
        spare = self.C - b[i].sum() > 1e-12 * self.C
        having = [*g[b[i] > 0], *([0.0] if spare else [])]
        return float(max(0.0, g.max()) - min(having))


def instances_of(X: np.ndarray) -> Instances:
    """Return dense rows as the kernels' instances, without zeros."""
    return as_instances(csr_array(X.astype(np.float32)))


def labels_of(y: np.ndarray) -> np.ndarray:
    return frozen(y, np.int32)


def duals_of(rows: Rows, n_classes: int) -> np.ndarray:
    """Return the duals in an index, rows x classes."""
    edges = as_edges(rows)
    b = np.zeros((rows.start.size, n_classes))
    b[edges.features, edges.classes] = edges.weights
    return b


def random_rows(seed: int, n: int, n_features: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sparse rows of any sign, exact in float32, one of them empty, and their classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.6)
    X[n // 2] = 0
    return X.astype(np.float32).astype(np.float64), rng.integers(0, n_classes, n)
