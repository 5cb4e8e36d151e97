"""One row of a problem with a class tree, as the kernels of the support vector machines see it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness_svm.structured.kernels.class_tree import in_order
from harness_svm.structured.kernels.subproblem import Goal, empty_block, set_gradients
from internals import no_moves
from svm_definitions import Structured, random_hierarchy, random_rows

CLASSES = 7


class AtOneRow:
    """A problem, feasible duals for each row, and the kernel's block for one row.

    Its classes are in tree order, which kernels and definition share.
    """

    def __init__(self, seed: int, slack: bool, C: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        X, y = random_rows(seed, 5, 4, CLASSES)
        hierarchy = random_hierarchy(seed)
        order, self.tree = in_order(hierarchy.kernel_tree())
        self.problem = Structured(X, y, replace(hierarchy, leaf=hierarchy.leaf[order]), C, slack)
        self.b = rng.dirichlet(np.ones(CLASSES + 1), 5)[:, 1:] * C * (rng.random((5, CLASSES)) < 0.6)
        self.b[np.arange(5), y] = 0
        self.i, self.y = 0, np.uint32(y[0])
        self.goal = Goal(C, 1e-9, slack)
        self.block, self.moves = empty_block(self.tree), no_moves(CLASSES)
        for place, c in enumerate(np.flatnonzero(self.b[0])):
            self.block.members[place], self.block.member[c] = c, True
        for duals in (self.block.beta, self.block.before, self.block.carried):
            duals[:] = self.b[0]
        self.size = np.uint32(np.count_nonzero(self.b[0]))
        self.block.scores[:] = self.problem.scores(self.problem.w(self.b))[0]
        set_gradients(self.tree, self.y, self.square, slack, self.block)

    @property
    def square(self) -> float:
        return float(self.problem.X[0] @ self.problem.X[0])

    @property
    def members(self) -> list[int]:
        return self.block.members[: self.size].tolist()

    def with_first(self, duals: np.ndarray) -> np.ndarray:
        """Return the duals of all rows, with these for the first row."""
        b = self.b.copy()
        b[0] = duals
        return b
