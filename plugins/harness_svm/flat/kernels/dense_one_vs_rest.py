"""One support vector machine for each class against the rest, on dense rows, several machines at a time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.sdk.kernels.instances import Labels, Vectors, frozen
from harness.sdk.threads import in_threads, stretches
from harness_svm.flat.kernels.dense_dual import MACHINES, SideBySide, side_by_side, solve_together
from harness_svm.flat.kernels.dual import DualProblem
from harness_svm.flat.kernels.one_vs_rest import (
    STRETCHES_PER_THREAD,
    Machine,
    Machines,
    by_class,
    collect,
    machine_of,
    state_of,
)


def train_dense_one_vs_rest(
    X: Vectors,
    labels: Labels,
    n_features: int,
    n_classes: int,
    problems: Sequence[DualProblem],
    seed: int,
    prune: float,
) -> list[Machines]:
    """Do what `train_one_vs_rest` does, on dense rows."""
    job = _Job(frozen(X), by_class(labels, n_classes), problems, seed, prune)
    shares = stretches(n_classes, least=MACHINES, per_thread=STRETCHES_PER_THREAD)
    paths = itertools.chain(*in_threads(job.train, shares))
    return [collect(list(machines), np.arange(n_features)) for machines in zip(*paths, strict=True)]


class _Job:
    """Data that all machines of one training share."""

    def __init__(
        self, X: Vectors, members: list[NDArray[np.int64]], problems: Sequence[DualProblem], seed: int, prune: float
    ) -> None:
        self.X, self.members, self.problems = X, members, problems
        self.seed, self.prune = seed, prune
        self.squares = frozen(np.einsum("ij,ij->i", X, X, dtype=np.float64))
        self.begun = side_by_side(1, *X.shape)
        self.begun.random[0] = state_of(seed, 0)
        solve_together(X, self.squares, problems[0], self.begun)

    def train(self, share: slice) -> list[list[Machine]]:
        """Return the machines of some classes for each problem; the number of threads does not change them."""
        found = []
        for first in range(share.start, share.stop, MACHINES):
            found += self._train_some(range(first, min(first + MACHINES, share.stop)))
        return found

    def _train_some(self, classes: range) -> list[list[Machine]]:
        space = side_by_side(len(classes), *self.X.shape)
        space.w[:], space.alpha[:] = self.begun.w, self.begun.alpha
        space.random[0] = state_of(self.seed, classes.start + 1)
        for m, c in enumerate(classes):
            self._move_over(self.members[c], m, space)
        found: list[list[Machine]] = [[] for _ in classes]
        for problem in self.problems:
            space.sweeps[:] = 0
            solve_together(self.X, self.squares, problem, space)
            for m, c in enumerate(classes):
                found[m].append(machine_of(c, space.w[m], problem.bias, self.prune, int(space.sweeps[m])))
        return found

    def _move_over(self, own: NDArray[np.int64], m: int, space: SideBySide) -> None:
        """Assign these rows to the class of machine m, and undo their effect on its weights as rows of the rest."""
        undone = space.alpha[own, m]
        space.w[m, :-1] += undone @ self.X[own].astype(np.float64)
        space.w[m, -1] += undone.sum() * self.problems[0].bias
        space.alpha[own, m], space.sign[own, m] = 0.0, 1
