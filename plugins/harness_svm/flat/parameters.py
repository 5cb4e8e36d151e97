"""Parameters that the learners with one-vs-rest machines share."""

from __future__ import annotations

from typing import Literal

import numpy as np

from harness.sdk import rules
from harness.sdk.costs import cost_rule
from harness_svm.flat.kernels.dual import HINGE_LOSSES, DualProblem, pose


class HingeParameters:
    """Parameters of linear machines with a hinge loss, one class against the rest.

    Parameters
    ----------
    C : float or "auto", default=3.0
        Weight of the loss, above 0, relative to ||w||^2 / 2. "auto" chooses from 0.3, 1, 3 and 10 on a held-out
        tenth of the training rows.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        Loss function.
    bias : float, default=1.0
        Value of an added constant feature, at least 0; 0 adds none. Its weight is regularised like any other.
    tol : float, default=0.1
        Tolerance, above 0: training ends when the projected gradients of a sweep differ by no more.
    max_sweeps : int, default=1000
        Maximum number of sweeps over all rows for a class, at least 1.
    prune : float or None, default=None
        Weights with an absolute value up to this, at least 0, are not stored. None means 0, or 0.01 if a matrix of all
        weights would take over 2 GB.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.
    """

    def __init__(
        self,
        *,
        C: float | Literal["auto"] = 3.0,
        loss: Literal["hinge", "squared_hinge"] = "squared_hinge",
        bias: float = 1.0,
        tol: float = 0.1,
        max_sweeps: int = 1000,
        prune: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.bias = bias
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.prune = prune
        self.random_state = random_state

    def _problem(self, C: float) -> DualProblem:
        """Return the problem that these parameters state for each class at this cost."""
        return pose(
            C,
            squared=self.loss == "squared_hinge",
            bias=float(self.bias),
            tolerance=float(self.tol),
            most_sweeps=int(self.max_sweeps),
        )

    def _hinge_rules(self) -> dict[str, rules.Rule]:
        return {
            "C": cost_rule(self.C),
            "loss": rules.one_of(self.loss, HINGE_LOSSES),
            "bias": rules.not_negative(self.bias),
            "tol": rules.positive(self.tol),
            "max_sweeps": rules.count(self.max_sweeps),
            "prune": rules.optional(self.prune, rules.not_negative(self.prune)),
        }
