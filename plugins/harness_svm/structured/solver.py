"""Training of all classes at once: sweeps over all rows, then over the rows that still change, until none does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from harness.sdk.kernels.edges import Edges, as_edges, as_rows, sort_by_class
from harness.sdk.kernels.instances import (
    Instances,
    as_instances,
    by_frequency,
    frozen,
    places_of,
    renamed,
    square_lengths,
)
from harness.sdk.kernels.moves import no_moves
from harness.sdk.kernels.rows import Rows, empty_rows, enlarge
from harness_svm.linear import is_large
from harness_svm.structured.kernels.class_tree import ClassTree, OrderedTree, in_order
from harness_svm.structured.kernels.lattice import Lattice
from harness_svm.structured.kernels.subproblem import IDLE, Goal, Sweep, SweepState, empty_block

FOCUS = 0.2
"""Changing rows are visited again until their violations have fallen to this share."""

Graph = ClassTree | OrderedTree | Lattice
"""The nodes of the classes."""
BLOCK_NUMBERS = 2**22
"""Weights are read in blocks of this many numbers, to avoid a full copy."""


class Kernels(NamedTuple):
    """Kernels that sweep over rows, with the weights in a matrix or in an index."""

    dense: Callable[..., int]
    sparse: str
    """"module:function", compiled only if needed."""
    sum_up: Callable[..., int] | None = None
    """For trees: computes the weights of the classes from the duals, since the matrix holds other vectors."""
    most_repeats: int = 5
    """Maximum number of sweeps over changing rows between two sweeps over all rows."""
    worth_repeating: float = 0.0
    """Rows whose violation is below this share of the largest one wait for the next sweep over all rows."""

    def load_sparse(self) -> Callable[..., int]:
        module, _, name = self.sparse.partition(":")
        sweep: Callable[..., int] = getattr(import_module(module), name)
        return sweep


@dataclass
class DualSolver:
    """The state of a training: weights and duals."""

    instances: Instances
    labels: NDArray[np.int32]
    n_features: int
    tree: ClassTree | Lattice
    """The nodes of the classes. `duals` and `weights` have its order of classes."""
    goal: Goal
    sparse: bool
    """True if the weights are kept in an index instead of a matrix."""
    kernels: Kernels
    trace: bool = False
    """True if the dual is measured after each sweep over all rows."""
    objectives: list[float] = field(init=False, default_factory=list)
    """Objective of the dual after each sweep over all rows."""
    squares: NDArray[np.float64] = field(init=False)
    violations: NDArray[np.float64] = field(init=False)
    """By row: distance from its optimum at the last visit."""
    weights: Any = field(init=False)
    duals: Rows = field(init=False)
    ordered: OrderedTree | Lattice = field(init=False)
    order: NDArray[np.int64] = field(init=False)
    """The class in each place of the tree's order; a lattice has no other order than that of the classes."""
    features: NDArray[np.int64] = field(init=False)
    """The feature of each row of a matrix: frequent features are neighbours, which saves time."""

    def __post_init__(self) -> None:
        n, n_classes = self.instances.n_instances, self.tree.scale.size
        if isinstance(self.tree, Lattice):
            self.order, self.ordered = np.arange(n_classes), self.tree
        else:
            self.order, self.ordered = in_order(self.tree)
        self._places = frozen(np.argsort(self.order)[self.labels], np.int32)
        self.squares, self.violations = frozen(square_lengths(self.instances)), np.zeros(n)
        self.duals = empty_rows(n, 8 * n + 128, np.float64)
        if self.sparse:
            self.weights = empty_rows(self.n_features, 2 * self.instances.data.size)
        else:
            self.weights = np.zeros((self.n_features, n_classes))
            self.features = by_frequency(self.instances, self.n_features)
            self.instances = renamed(self.instances, places_of(self.features))
        self._space = empty_block(self.tree), no_moves(n_classes)
        self._zeros = np.zeros(n_classes)

    def sweep(self, order: NDArray[np.int64]) -> None:
        """Visit the rows in this order."""
        block, moves = self._space
        while order.size:
            sweep = Sweep(self.instances, self.squares, self._places, frozen(order), self.ordered, self.goal)
            state = SweepState(self.duals, block, moves, self.violations)
            if self.sparse:
                done = self.kernels.load_sparse()(sweep, self.weights, state, self._zeros)
            else:
                done = self.kernels.dense(sweep, self.weights, state)
            order = order[done:]
            if order.size:  # either may be what has no room: a little of both costs less than to find out
                self.duals = enlarge(self.duals)
                self.weights = enlarge(self.weights) if self.sparse else self.weights

    def run(self, random: np.random.Generator, most_sweeps: int) -> int:
        """Sweep until a sweep over all rows is within the tolerance; returns the number of such sweeps."""
        n, tolerance = self.instances.n_instances, self.goal.tolerance
        for number in range(1, most_sweeps + 1):
            self.sweep(random.permutation(n))
            if self.trace:
                self.objectives.append(self.objective())
            worst = self.violations.max(initial=0.0)
            if worst <= tolerance:
                return number
            bar = max(IDLE * tolerance, self.kernels.worth_repeating * worst)
            active = np.flatnonzero(self.violations > bar)
            for _ in range(self.kernels.most_repeats):
                self.sweep(random.permutation(active))
                if self.violations[active].max() <= max(FOCUS * worst, tolerance / 2):
                    break
                active = active[self.violations[active] > bar]
        warnings.warn(f"not within tol after {most_sweeps} sweeps", ConvergenceWarning, 5)
        return most_sweeps

    def raise_cost(self, C: float) -> None:
        """Go on at a higher cost. Rows without a feature begin again: a visit gives all of C only to a new one."""
        self.goal = self.goal._replace(C=C)
        self.duals.length[self.squares == 0] = 0

    def objective(self) -> float:
        """Return the current objective of the dual."""
        return dual_objective(self.duals, self.class_weights(), self._places, self.ordered)

    def class_weights(self) -> Any:
        """Return the vectors u_y of the classes, in an index or a matrix like `weights`."""
        if self.sparse or self.kernels.sum_up is None:
            return self.weights
        summed = np.zeros_like(self.weights)
        self._sum_up(summed)
        return summed

    def index(self, prune: float, *, goes_on: bool = False) -> Rows:
        """The weights as an index, without those of no larger size than `prune`.

        The training ends with it, unless it goes on at another cost.
        """
        if self.sparse:
            indptr, places, weights = as_edges(self.weights)
            kept = np.abs(weights) > prune
            before = np.concatenate([[0], np.cumsum(kept)])
            edges = Edges(before[indptr], places[kept], weights[kept])
        else:
            edges = self._matrix_edges(prune, goes_on)
        classes = self.order.astype(np.uint32)[edges.classes]
        return as_rows(sort_by_class(edges._replace(classes=classes)))

    def _matrix_edges(self, prune: float, goes_on: bool) -> Edges:
        if self.kernels.sum_up is not None and not goes_on:  # into the same matrix: two of them might be too large
            self.weights[:] = 0.0
            self._sum_up(self.weights)
        matrix = np.empty(self.weights.shape, np.float32)
        matrix[self.features] = self.class_weights() if goes_on else self.weights
        kept = np.abs(matrix) > prune
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return Edges(indptr, np.nonzero(kept)[1].astype(np.uint32), matrix[kept])

    def _sum_up(self, into: NDArray[np.float64]) -> None:
        assert self.kernels.sum_up is not None
        self.kernels.sum_up(self.instances, self._places, self.ordered, self.goal.slack, self.duals, *self._space, into)


def start_solver(
    X: csr_array, labels: NDArray[Any], tree: ClassTree | Lattice, goal: Goal, kernels: Kernels, trace: bool
) -> DualSolver:
    """Return a training that has not begun, with the weights in a matrix unless it would be too large."""
    sparse = is_large(X.shape[1], tree.scale.size)
    return DualSolver(as_instances(X), frozen(labels, np.int32), X.shape[1], tree, goal, sparse, kernels, trace)


def dual_objective(duals: Rows, weights: Any, labels: NDArray[np.int32], tree: Graph) -> float:
    """Return sum_iy cost_iy b_iy - ||w||^2 / 2, from the duals and the stored weights."""
    edges = as_edges(duals)
    costs = pair_costs(tree, labels[edges.features], edges.classes)
    return float(costs @ edges.weights) - squared_length(weights, tree) / 2


def share_of_duals(duals: Rows, n_classes: int) -> float:
    """Return the share of pairs of a row and a false class whose dual is above 0."""
    pairs = duals.length.size * (n_classes - 1)
    return duals.n_edges / max(1, pairs)


def pair_costs(tree: Graph, true: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    """Return the cost of predicting each class of `other` for the class of `true` at the same place."""
    if isinstance(tree, Lattice):
        nodes_of = class_paths(tree)
        shared = nodes_of[true].multiply(nodes_of[other]) @ (tree.missed + tree.false)
        return np.asarray(tree.leaving[true] + tree.entering[other] - shared)
    one, two = tree.leaf[true], tree.leaf[other]
    missed, false = tree.missed[one], tree.false[two]
    apart = one != two
    while apart.any():  # parents come ahead of their children: the one behind goes up, until both meet
        behind = one > two
        one = np.where(apart & behind, tree.parent[one], one)
        two = np.where(apart & ~behind, tree.parent[two], two)
        apart = one != two
    costs: NDArray[np.float64] = missed - tree.missed[one] + false - tree.false[one]
    return costs


def squared_length(weights: Any, tree: Graph) -> float:
    """Return ||w||^2; w_z is sqrt(m_z) times the sum of the vectors of the classes below z."""
    below = class_paths(tree)
    total = 0.0
    for block in _blocks(weights, tree):
        sums = block @ below
        total += float(sums.power(2).sum(axis=0) @ tree.weight)
    return total


def class_paths(tree: Graph) -> csr_array:
    """Return classes x nodes: 1 for the nodes of each class, without the root."""
    shape = (tree.scale.size, tree.weight.size)
    if isinstance(tree, Lattice):
        pieces = (np.ones(tree.nodes.size), tree.nodes.astype(np.int64), tree.start.astype(np.int64))
        return csr_array(pieces, shape=shape)
    classes, nodes = [], []
    here, at = np.arange(tree.leaf.size), tree.leaf.astype(np.int64)
    while here.size:
        here, at = here[at > 0], at[at > 0]
        classes.append(here)
        nodes.append(at)
        at = tree.parent[at].astype(np.int64)
    places = np.concatenate(classes), np.concatenate(nodes)
    return csr_array((np.ones(places[0].size), places), shape=shape)


def _blocks(weights: Any, tree: Graph) -> Iterator[csr_array]:
    """Yield the weights, some features at a time, as sparse matrices."""
    if isinstance(weights, Rows):
        indptr, classes, values = as_edges(weights)
        shape = (indptr.size - 1, tree.scale.size)
        yield csr_array((values.astype(np.float64), classes.astype(np.int64), indptr), shape=shape)
        return
    height = max(1, BLOCK_NUMBERS // tree.weight.size)
    for start in range(0, len(weights), height):
        yield csr_array(weights[start : start + height])
