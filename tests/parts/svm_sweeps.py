"""Sweeps of the support vector machines visit by visit, and the assertions for each visit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from harness.sdk import frozen
from harness_svm.structured.kernels.subproblem import Goal, Sweep, SweepState, empty_block
from internals import Rows, as_edges, empty_rows, no_moves, square_lengths
from svm_definitions import Structured, duals_of, instances_of, labels_of


class Sweeps:
    """A problem and its kernel, with weights in a matrix or in an index."""

    def __init__(
        self,
        problem: Structured,
        kernel: Callable[..., int],
        *,
        sparse: bool,
        tolerance: float = 1e-6,
        room: int = 4000,
    ) -> None:
        self.problem, self.kernel, self.sparse = problem, kernel, sparse
        n, n_features = problem.X.shape
        self.n_classes = problem.hierarchy.leaf.size
        self.order, tree = problem.hierarchy.ordered()
        instances = instances_of(problem.X)
        goal = Goal(problem.C, tolerance, problem.slack)
        self.given = (instances, frozen(square_lengths(instances)), labels_of(np.argsort(self.order)[problem.y]))
        self.meant = (tree, goal)
        self.weights: Any = empty_rows(n_features, room) if sparse else np.zeros((n_features, self.n_classes))
        self.duals = empty_rows(n, room, np.float64)
        self.violations = np.zeros(n)
        self.space = (empty_block(tree), no_moves(self.n_classes))

    def visit(self, *rows: int) -> int:
        """Visit these rows, and return the number of processed rows."""
        sweep = Sweep(*self.given, frozen(np.array(rows, np.int64)), *self.meant)
        state = SweepState(self.duals, *self.space, self.violations)
        zeros = (np.zeros(self.n_classes),) if self.sparse else ()
        return self.kernel(sweep, self.weights, state, *zeros)

    def b(self) -> np.ndarray:
        return self.by_class(duals_of(self.duals, self.n_classes))

    def by_class(self, values: np.ndarray) -> np.ndarray:
        """Return columns in class order instead of the kernels' tree order."""
        found = np.empty_like(values)
        found[:, self.order] = values
        return found

    def kept(self) -> np.ndarray:
        """Return the vectors stored by the kernel, features x classes: u in an index, v in a matrix."""
        if not self.sparse:
            return self.by_class(self.weights)
        edges = as_edges(self.weights)
        u = np.zeros((self.weights.start.size, self.n_classes))
        u[edges.features, edges.classes] = edges.weights
        return self.by_class(u)

    def assert_a_visit_is_by_the_definition(self, i: int, atol: float = 1e-9) -> None:
        """Check that a visit records the violation, improves the row's duals only, and updates the weights."""
        before = self.b()
        expected = self.problem.violation(before, i)
        assert self.visit(i) == 1
        after = self.b()
        assert_allclose(self.violations[i], expected, atol=max(atol, 1e-9) * 100)
        others = np.arange(len(after)) != i
        assert np.array_equal(after[others], before[others])
        assert np.all(after >= 0)
        assert after[i].sum() <= self.problem.C * (1 + 1e-9)
        assert after[i, self.problem.y[i]] == 0
        slip = atol * self.problem.C  # of float32 weights
        assert self.problem.objective(after) >= self.problem.objective(before) - 1e-9 - slip
        expected_vectors = self.problem.u(after) if self.sparse else self.problem.v(after)
        assert_allclose(self.kept(), expected_vectors, atol=atol)
        self.assert_at_rest()

    def assert_at_rest(self) -> None:
        """Check that the work space is empty between instances."""
        block, moves = self.space
        assert not block.beta.any()
        assert not block.member.any()
        assert not block.before.any()
        assert not block.carried.any()
        assert not block.shift.any()
        assert not moves.changes.any()
        assert not moves.marked.any()

    def assert_a_row_without_room_is_left_as_it_was(self, shrunk: Rows, *, duals: bool) -> None:
        """Check that with this arena the first row is neither processed nor changed."""
        if duals:
            self.duals = shrunk
        else:
            self.weights = shrunk
        before, weights = self.b(), self.kept()
        assert self.visit(0, 1) == 0
        assert np.array_equal(self.b(), before)
        assert np.array_equal(self.kept(), weights)
        self.assert_at_rest()
