"""One support vector machine for each class against the rest, shared out among threads.

The threads are Python's, and the kernels run without its lock: nothing is started when this is imported, and numba has
no parallel code to compile.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk.kernels.arranging import by_frequency, places_of, renamed, square_lengths
from harness.sdk.kernels.arrays import Array, frozen
from harness.sdk.kernels.density import Vectors
from harness.sdk.kernels.edges import Edges
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.threads import in_threads, stretches
from harness_svm.kernels.dense_dual import MACHINES, SideBySide, side_by_side, solve_together
from harness_svm.kernels.dual import DualProblem, DualSpace, empty_dual_space, move_over, solve

STRETCHES_PER_THREAD = 8
"""Classes differ in what they take: who is done with a stretch gets another."""


class Machines(NamedTuple):
    """What training gives: W without the weights that were pruned, the biases, and the sweeps that each took."""

    edges: Edges
    bias: NDArray[np.float64]
    sweeps: NDArray[np.int64]


def train_one_vs_rest(
    instances: Instances | Vectors,
    labels: Labels,
    n_features: int,
    n_classes: int,
    problem: DualProblem,
    seed: int,
    prune: float,
) -> Machines:
    """One machine for each class, shared out among the threads that are allowed.

    All start where a machine without any instance of its own ends: in few sweeps, for most differ little from it.
    Whatever the number of threads, the outcome is the same.
    """
    members = _by_class(labels, n_classes)
    job: _SparseJob | _DenseJob
    if isinstance(instances, np.ndarray):
        features, height = np.arange(n_features), MACHINES
        job = _DenseJob(frozen(instances), members, problem, seed, prune)
    else:
        features, height = by_frequency(instances, n_features), 1
        job = _SparseJob(renamed(instances, places_of(features)), n_features, members, problem, seed, prune)
    shares = stretches(n_classes, least=height, per_thread=STRETCHES_PER_THREAD)
    return _collect(list(itertools.chain(*in_threads(job.train, shares))), features)


def _by_class(labels: Labels, n_classes: int) -> list[NDArray[np.int64]]:
    """The instances of each class."""
    owners = np.repeat(np.arange(labels.indptr.size - 1), np.diff(labels.indptr))
    by_class = np.argsort(labels.indices, kind="stable")
    ends = np.cumsum(np.bincount(labels.indices, minlength=n_classes))
    return np.split(owners[by_class], ends[:-1])


class _Machine(NamedTuple):
    c: int
    features: Array
    weights: Array
    bias: float
    sweeps: int


class _SparseJob:
    """What all machines of one training share."""

    def __init__(
        self,
        instances: Instances,
        n_features: int,
        members: list[NDArray[np.int64]],
        problem: DualProblem,
        seed: int,
        prune: float,
    ) -> None:
        self.instances, self.members, self.problem = instances, members, problem
        self.seed, self.prune = seed, prune
        self.squares = square_lengths(instances)
        self.begun = empty_dual_space(self.squares.size, n_features)
        self.begun.random[0] = _state(seed, 0)
        solve(instances, self.squares, problem, self.begun)

    def train(self, share: slice) -> list[_Machine]:
        """The machines of some classes, one after the other in one space."""
        space = empty_dual_space(self.squares.size, self.begun.w.size - 1)
        return [self._train_one(c, space) for c in range(share.start, share.stop)]

    def _train_one(self, c: int, space: DualSpace) -> _Machine:
        own, bias = self.members[c], self.problem.bias
        space.w[:], space.alpha[:] = self.begun.w, self.begun.alpha
        space.random[0] = _state(self.seed, c + 1)
        move_over(self.instances, own, bias, space)
        sweeps = solve(self.instances, self.squares, self.problem, space)
        space.sign[own] = -1
        return _machine(c, space.w, bias, self.prune, sweeps)


class _DenseJob:
    """The same for dense rows, where some machines are trained side by side."""

    def __init__(
        self, X: Vectors, members: list[NDArray[np.int64]], problem: DualProblem, seed: int, prune: float
    ) -> None:
        self.X, self.members, self.problem = X, members, problem
        self.seed, self.prune = seed, prune
        self.squares = frozen(np.einsum("ij,ij->i", X, X, dtype=np.float64))
        self.begun = side_by_side(1, *X.shape)
        self.begun.random[0] = _state(seed, 0)
        solve_together(X, self.squares, problem, self.begun)

    def train(self, share: slice) -> list[_Machine]:
        """The machines of some classes, always the same ones side by side, however many threads there are."""
        found = []
        for first in range(share.start, share.stop, MACHINES):
            found += self._train_some(range(first, min(first + MACHINES, share.stop)))
        return found

    def _train_some(self, classes: range) -> list[_Machine]:
        space = side_by_side(len(classes), *self.X.shape)
        space.w[:], space.alpha[:] = self.begun.w, self.begun.alpha
        space.random[0] = _state(self.seed, classes.start + 1)
        for m, c in enumerate(classes):
            self._move_over(self.members[c], m, space)
        solve_together(self.X, self.squares, self.problem, space)
        bias, prune = self.problem.bias, self.prune
        return [_machine(c, space.w[m], bias, prune, int(space.sweeps[m])) for m, c in enumerate(classes)]

    def _move_over(self, own: NDArray[np.int64], m: int, space: SideBySide) -> None:
        """These rows belong to the class of machine m: what they did to its weights as rows of the rest is undone."""
        undone = space.alpha[own, m]
        space.w[m, :-1] += undone @ self.X[own].astype(np.float64)
        space.w[m, -1] += undone.sum() * self.problem.bias
        space.alpha[own, m], space.sign[own, m] = 0.0, 1


def _machine(c: int, w: Array, bias: float, prune: float, sweeps: int) -> _Machine:
    weights = w[:-1]
    kept = np.flatnonzero(np.abs(weights) > prune)
    return _Machine(c, kept.astype(np.int32), weights[kept].astype(np.float32), float(w[-1] * bias), sweeps)


def _state(seed: int, number: int) -> np.uint64:
    """A state of the random generator, never 0."""
    return np.uint64(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0] | np.uint64(1))


def _collect(found: list[_Machine], features: NDArray[np.int64]) -> Machines:
    """All weights by feature, under the features' own numbers."""
    n_edges = sum(machine.features.size for machine in found)
    indptr = np.concatenate([[0], np.cumsum([machine.features.size for machine in found], dtype=np.int64)])
    numbers, weights = np.empty(n_edges, np.int32), np.empty(n_edges, np.float32)
    for machine, lo, hi in zip(found, indptr[:-1], indptr[1:], strict=True):
        numbers[lo:hi], weights[lo:hi] = features[machine.features], machine.weights
    by_class = csr_array((weights, numbers, indptr), shape=(len(found), features.size))
    bias, sweeps = np.array([machine.bias for machine in found]), np.array([machine.sweeps for machine in found])
    found.clear()  # the largest arrays by far: not to be held twice for longer than it takes
    by_feature = by_class.T.tocsr()
    edges = Edges(by_feature.indptr.astype(np.int64), by_feature.indices.astype(np.uint32), by_feature.data)
    return Machines(edges, bias, sweeps)
