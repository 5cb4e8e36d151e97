"""Base of the machines that train all classes in one problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from harness.sdk import rules
from harness.sdk.costs import cost_rule
from harness.sdk.kernels.instances import Labels
from harness_svm.linear import LinearMachine, threshold
from harness_svm.structured.kernels.class_tree import ClassTree
from harness_svm.structured.kernels.lattice import Lattice
from harness_svm.structured.kernels.subproblem import Goal
from harness_svm.structured.solver import Kernels, share_of_duals, start_solver


class StructuredMachine(LinearMachine):
    """A machine that trains all classes in one problem, solved in the dual row by row.

    Parameters
    ----------
    C : float or "auto", default=3.0
        Weight of the loss. "auto" chooses from 0.3, 1, 3 and 10 on a held-out tenth of the training rows.
    tol : float, default=0.1
        Tolerance, above 0: training ends when no row's gradients differ by more.
    max_sweeps : int, default=1000
        Maximum number of sweeps over all rows, at least 1.
    prune : float or None, default=None
        Weights with an absolute value up to this, at least 0, are not stored. None means 0, or 0.01 if a matrix of all
        weights would take over 2 GB.
    trace : bool, default=False
        If True, `dual_` keeps the objective of the dual after each sweep, which takes extra time.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    C_ : float
        The cost that was used.
    prune_ : float
        The threshold that was used for pruning.
    sweeps_ : int
        Number of sweeps over all rows.
    dual_ : ndarray
        With trace=True, the objective of the dual after each sweep; otherwise empty.
    support_share_ : float
        Share of the pairs of a training row and a false class whose dual is above 0.
    """

    C_: float
    prune_: float
    sweeps_: int
    dual_: NDArray[np.float64]
    support_share_: float

    def __init__(
        self,
        *,
        C: float | Literal["auto"] = 3.0,
        tol: float = 0.1,
        max_sweeps: int = 1000,
        prune: float | None = None,
        trace: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.prune = prune
        self.trace = trace
        self.random_state = random_state

    def _solve_path(
        self,
        X: Any,
        labels: Labels,
        tree: ClassTree | Lattice,
        kernels: Kernels,
        costs: Sequence[float],
        *,
        slack: bool,
        seed: int,
    ) -> Iterator[Self]:
        """Train on rows whose classes are those of the tree or lattice, at each cost from the duals of the one before.

        Yield the learner each time, with the weights as an index. The duals stay valid if the costs rise.
        """
        self.prune_ = threshold(self.prune, X.shape[1], self.classes_.size)
        goal = Goal(costs[0], float(self.tol), slack)
        solver = start_solver(X, labels.indices, tree, goal, kernels, bool(self.trace))
        random = np.random.default_rng(seed)
        for number, C in enumerate(costs, 1):
            solver.raise_cost(C)
            self.sweeps_ = solver.run(random, int(self.max_sweeps))
            self.dual_ = np.array(solver.objectives)
            self.support_share_ = share_of_duals(solver.duals, self.classes_.size)
            self.rows_ = solver.index(self.prune_, goes_on=number < len(costs))
            yield self

    def _shared_rules(self) -> dict[str, rules.Rule]:
        return {
            "C": cost_rule(self.C),
            "tol": rules.positive(self.tol),
            "max_sweeps": rules.count(self.max_sweeps),
            "trace": rules.flag(self.trace),
            "prune": rules.optional(self.prune, rules.not_negative(self.prune)),
            **super()._shared_rules(),
        }
