"""One support vector machine for each class against the rest, on sparse rows, distributed over threads.

The threads are Python's, and the kernels run without the interpreter lock. So the import starts no threads, and numba
compiles no parallel code.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk.kernels.edges import Edges
from harness.sdk.kernels.instances import Array, Instances, Labels, by_frequency, places_of, renamed, square_lengths
from harness.sdk.threads import in_threads, stretches
from harness_svm.flat.kernels.dual import DualProblem, DualSpace, empty_dual_space, move_over, solve

STRETCHES_PER_THREAD = 8
"""Number of shares per thread. Classes take different times, so a thread that finishes early gets another share."""


class Machines(NamedTuple):
    """Trained machines: W without pruned weights, the biases, and the sweeps of each machine."""

    edges: Edges
    bias: NDArray[np.float64]
    sweeps: NDArray[np.int64]


def train_one_vs_rest(
    instances: Instances,
    labels: Labels,
    n_features: int,
    n_classes: int,
    problems: Sequence[DualProblem],
    seed: int,
    prune: float,
) -> list[Machines]:
    """Train one machine for each class and each problem in turn, distributed over the allowed threads.

    All machines start from the solution of a machine without any positive instance. Most differ little from it, so few
    sweeps are needed. A machine of a later problem starts from its solution of the problem before, whose duals the
    next problem must allow. The number of threads does not change the result.

    Parameters
    ----------
    instances : Instances
        The training rows.
    labels : Labels
        Positions of the classes of each row.
    n_features, n_classes : int
        Shape of the weights.
    problems : sequence of DualProblem
        Loss, cost and tolerance of each problem.
    seed : int
        Seed of the order of rows.
    prune : float
        Weights up to this absolute value are not stored.

    Returns
    -------
    list of Machines
        The weights, biases and numbers of sweeps for each problem.
    """
    features = by_frequency(instances, n_features)
    arranged = renamed(instances, places_of(features))
    job = _Job(arranged, n_features, by_class(labels, n_classes), problems, seed, prune)
    shares = stretches(n_classes, per_thread=STRETCHES_PER_THREAD)
    paths = itertools.chain(*in_threads(job.train, shares))
    return [collect(list(machines), features) for machines in zip(*paths, strict=True)]


def by_class(labels: Labels, n_classes: int) -> list[NDArray[np.int64]]:
    """Return the instances of each class."""
    owners = np.repeat(np.arange(labels.indptr.size - 1), np.diff(labels.indptr))
    order = np.argsort(labels.indices, kind="stable")
    ends = np.cumsum(np.bincount(labels.indices, minlength=n_classes))
    return np.split(owners[order], ends[:-1])


class Machine(NamedTuple):
    """The machine of one class, before all are collected."""

    c: int
    features: Array
    weights: Array
    bias: float
    sweeps: int


class _Job:
    """Data that all machines of one training share."""

    def __init__(
        self,
        instances: Instances,
        n_features: int,
        members: list[NDArray[np.int64]],
        problems: Sequence[DualProblem],
        seed: int,
        prune: float,
    ) -> None:
        self.instances, self.members, self.problems = instances, members, problems
        self.seed, self.prune = seed, prune
        self.squares = square_lengths(instances)
        self.begun = empty_dual_space(self.squares.size, n_features)
        self.begun.random[0] = state_of(seed, 0)
        solve(instances, self.squares, problems[0], self.begun)

    def train(self, share: slice) -> list[list[Machine]]:
        """The machines of some classes for each problem, one after the other in one space."""
        space = empty_dual_space(self.squares.size, self.begun.w.size - 1)
        return [self._train_one(c, space) for c in range(share.start, share.stop)]

    def _train_one(self, c: int, space: DualSpace) -> list[Machine]:
        own, bias = self.members[c], self.problems[0].bias
        space.w[:], space.alpha[:] = self.begun.w, self.begun.alpha
        space.random[0] = state_of(self.seed, c + 1)
        move_over(self.instances, own, bias, space)
        found = []
        for problem in self.problems:
            sweeps = solve(self.instances, self.squares, problem, space)
            found.append(machine_of(c, space.w, bias, self.prune, sweeps))
        space.sign[own] = -1
        return found


def machine_of(c: int, w: Array, bias: float, prune: float, sweeps: int) -> Machine:
    """Return the machine of class c with the weights above the threshold."""
    weights = w[:-1]
    kept = np.flatnonzero(np.abs(weights) > prune)
    return Machine(c, kept.astype(np.int32), weights[kept].astype(np.float32), float(w[-1] * bias), sweeps)


def state_of(seed: int, number: int) -> np.uint64:
    """Return a state of the random generator, never 0."""
    return np.uint64(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0] | np.uint64(1))


def collect(found: list[Machine], features: NDArray[np.int64]) -> Machines:
    """Return all weights by feature, with the original feature numbers."""
    n_edges = sum(machine.features.size for machine in found)
    indptr = np.concatenate([[0], np.cumsum([machine.features.size for machine in found], dtype=np.int64)])
    numbers, weights = np.empty(n_edges, np.int32), np.empty(n_edges, np.float32)
    for machine, lo, hi in zip(found, indptr[:-1], indptr[1:], strict=True):
        numbers[lo:hi], weights[lo:hi] = features[machine.features], machine.weights
    machines = csr_array((weights, numbers, indptr), shape=(len(found), features.size))
    bias, sweeps = np.array([machine.bias for machine in found]), np.array([machine.sweeps for machine in found])
    found.clear()  # the largest arrays by far: not to be held twice for longer than it takes
    by_feature = machines.T.tocsr()
    edges = Edges(by_feature.indptr.astype(np.int64), by_feature.indices.astype(np.uint32), by_feature.data)
    return Machines(edges, bias, sweeps)
