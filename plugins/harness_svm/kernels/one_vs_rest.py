"""One support vector machine for each class against the rest, shared out among threads.

The threads are Python's, and the kernels run without its lock: nothing is started when this is imported, and numba has
no parallel code to compile.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
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
from harness_svm.kernels.dense_dual import move_over_densely, solve_densely
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
    examples, features = _arranged(instances, n_features)
    job = _Job(examples, _by_class(labels, n_classes), problem, seed, prune)
    start = job.start(n_features)
    shares = stretches(n_classes, per_thread=STRETCHES_PER_THREAD)
    found = list(itertools.chain(*in_threads(lambda share: job.train(share, start), shares)))
    return _collect(found, features)


class _Examples(NamedTuple):
    """Instances, sparse or dense, with what solves their problems."""

    given: Instances | Vectors
    squares: NDArray[np.float64]
    solve: Callable[..., int]
    move_over: Callable[..., None]


def _arranged(instances: Instances | Vectors, n_features: int) -> tuple[_Examples, NDArray[np.int64]]:
    """The instances as they are trained on, and which feature is in each place: of sparse ones the frequent first."""
    if isinstance(instances, np.ndarray):
        squares = np.einsum("ij,ij->i", instances, instances, dtype=np.float64)
        return _Examples(frozen(instances), squares, solve_densely, move_over_densely), np.arange(n_features)
    features = by_frequency(instances, n_features)
    arranged = renamed(instances, places_of(features))
    return _Examples(arranged, square_lengths(arranged), solve, move_over), features


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


class _Job:
    """What all machines of one training share."""

    def __init__(
        self, examples: _Examples, members: list[NDArray[np.int64]], problem: DualProblem, seed: int, prune: float
    ) -> None:
        self.examples, self.members, self.problem = examples, members, problem
        self.seed, self.prune = seed, prune

    def start(self, n_features: int) -> DualSpace:
        """A machine that has no instance of its own."""
        space = empty_dual_space(self.examples.squares.size, n_features)
        space.random[0] = _state(self.seed, 0)
        self._solve(space)
        return space

    def _solve(self, space: DualSpace) -> int:
        return self.examples.solve(self.examples.given, self.examples.squares, self.problem, space)

    def train(self, share: slice, start: DualSpace) -> list[_Machine]:
        """The machines of some classes, one after the other in one space."""
        space = empty_dual_space(start.alpha.size, start.w.size - 1)
        return [self._train_one(c, start, space) for c in range(share.start, share.stop)]

    def _train_one(self, c: int, start: DualSpace, space: DualSpace) -> _Machine:
        own, bias = self.members[c], self.problem.bias
        space.w[:], space.alpha[:] = start.w, start.alpha
        space.random[0] = _state(self.seed, c + 1)
        self.examples.move_over(self.examples.given, own, bias, space)
        sweeps = self._solve(space)
        space.sign[own] = -1
        weights = space.w[:-1]
        kept = np.flatnonzero(np.abs(weights) > self.prune)
        return _Machine(c, kept.astype(np.int32), weights[kept].astype(np.float32), float(space.w[-1] * bias), sweeps)


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
