"""Training of the machines from the candidates of the training rows: shares per thread, and room for weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.sdk.kernels.instances import Instances, by_frequency, places_of, renamed, square_lengths
from harness.sdk.threads import allowed_threads, in_threads
from harness_shortlist.kernels.machines import Found, Goal, MachineSpace, train_machines
from harness_shortlist.kernels.training_pairs import Pairs

SHARES_PER_THREAD = 8
"""Number of shares per thread. More than one, since machines with equally many rows may take different times."""


class Job(NamedTuple):
    """Data that all machines of one training share."""

    instances: Instances
    squares: NDArray[np.float64]
    n_features: int
    pairs: Pairs
    goal: Goal
    seed: int
    duals: NDArray[np.float64]
    """The a_i of each pair, which the next training begins with; empty if none follows."""


def train(instances: Instances, n_features: int, pairs: Pairs, goals: Sequence[Goal], seed: int) -> Iterator[Found]:
    """Yield for each goal one machine for each entry of `pairs.start` but the last, their weights without a gap.

    Machines are shared out among the threads that are allowed. Each has its own random numbers, so the number of
    threads does not change the outcome. A machine begins with its solution for the goal before.
    """
    features = by_frequency(instances, n_features)
    arranged = renamed(instances, places_of(features))
    duals = np.zeros(pairs.rows.size if len(goals) > 1 else 0)
    shares = shares_of_like_size(pairs.start, allowed_threads() * SHARES_PER_THREAD)
    squares = square_lengths(instances)
    for goal in goals:
        job = Job(arranged, squares, n_features, pairs, goal, seed, duals)
        found = joined(in_threads(partial(train_share, job), shares))
        yield found._replace(features=features[found.features].astype(np.uint32))


def shares_of_like_size(start: NDArray[np.int64], most: int) -> list[slice]:
    """Return all machines in at most `most` slices with about equally many rows."""
    ends = np.searchsorted(start, np.linspace(0, start[-1], most + 1)[1:-1])
    bounds = np.unique([0, *ends, start.size - 1])
    return [slice(first, last) for first, last in pairwise(bounds.tolist())]


def train_share(job: Job, share: slice) -> Found:
    """Train the machines of a share, one after the other in the same space."""
    start = job.pairs.start[share.start : share.stop + 1]
    own = job.pairs._replace(start=start)
    most_rows = int(np.diff(start).max(initial=0))
    space = MachineSpace(
        w=np.zeros(job.n_features + 1, np.float32),
        alpha=np.zeros(most_rows),
        order=np.zeros(most_rows, np.uint32),
        random=np.ones(1, np.uint64),
    )
    n_machines, done = start.size - 1, 0
    found = empty_found(n_machines, job.instances.data.size)
    while True:
        done = train_machines(
            job.instances, job.squares, own, job.goal, space, found, done, share.start, job.seed, job.duals
        )
        if done == n_machines:
            break
        found = enlarge(found)
    size = int(found.start[-1])
    return found._replace(features=found.features[:size].copy(), weights=found.weights[:size].copy())


def joined(shares: list[Found]) -> Found:
    """Return the machines of all shares, in their order."""
    sizes = np.concatenate([np.diff(share.start) for share in shares])
    start = np.concatenate([[0], np.cumsum(sizes)])
    _, *columns = zip(*shares, strict=True)
    return Found(start, *map(np.concatenate, columns))


def empty_found(n_machines: int, n_weights: int) -> Found:
    """Return room for this number of weights; memory is allocated on first use."""
    return Found(
        start=np.zeros(n_machines + 1, np.int64),
        features=np.zeros(n_weights, np.uint32),
        weights=np.zeros(n_weights, np.float32),
        bias=np.zeros(n_machines, np.float32),
        sweeps=np.zeros(n_machines, np.int64),
    )


def enlarge(found: Found) -> Found:
    """Return a copy with a little more than twice the room."""
    size = found.features.size
    more = np.zeros(size + 1024, np.uint32)
    return found._replace(
        features=np.concatenate([found.features, more]),
        weights=np.concatenate([found.weights, more.astype(np.float32)]),
    )


def priors_of_places(weight: float, n_places: int) -> NDArray[np.float64]:
    """Return the value of each place among the candidates: -weight log(place), counted from 1."""
    return -weight * np.log(np.arange(1, n_places + 1))
