"""From the candidates of the training rows to machines: which rows each sees, training, room for what is learned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.sdk.kernels.arranging import by_frequency, places_of, renamed, square_lengths
from harness.sdk.kernels.instances import Instances
from harness_shortlist.kernels.machines import Found, Goal, Training, train_machines
from harness_shortlist.kernels.pairs import Pairs


def train(instances: Instances, n_features: int, pairs: Pairs, goal: Goal, seed: int) -> Found:
    """One machine for each entry of `pairs.start` but the last, their weights without a gap."""
    n_machines = pairs.start.size - 1
    features = by_frequency(instances, n_features)
    arranged, squares = renamed(instances, places_of(features)), square_lengths(instances)
    most_rows = int(np.diff(pairs.start).max(initial=0))
    space = Training(
        w=np.zeros(n_features + 1, np.float32),
        alpha=np.zeros(most_rows),
        order=np.zeros(most_rows, np.uint32),
        random=np.ones(1, np.uint64),
    )
    found = empty_found(n_machines, instances.data.size)
    done = train_machines(arranged, squares, pairs, goal, space, found, 0, seed)
    while done < n_machines:
        found = enlarge(found)
        done = train_machines(arranged, squares, pairs, goal, space, found, done, seed)
    size = int(found.start[-1])
    own = features[found.features[:size]].astype(np.uint32)
    return found._replace(features=own, weights=found.weights[:size].copy())


def empty_found(n_machines: int, n_weights: int) -> Found:
    """Room for so many weights; memory is taken as it is touched."""
    return Found(
        start=np.zeros(n_machines + 1, np.int64),
        features=np.zeros(n_weights, np.uint32),
        weights=np.zeros(n_weights, np.float32),
        bias=np.zeros(n_machines, np.float32),
        sweeps=np.zeros(n_machines, np.int64),
    )


def enlarge(found: Found) -> Found:
    """The same with twice the room, and some."""
    size = found.features.size
    more = np.zeros(size + 1024, np.uint32)
    return found._replace(
        features=np.concatenate([found.features, more]),
        weights=np.concatenate([found.weights, more.astype(np.float32)]),
    )


def priors_of_places(weight: float, n_places: int) -> NDArray[np.float64]:
    """What each place among the candidates is worth: -weight log(place), counted from 1."""
    return -weight * np.log(np.arange(1, n_places + 1))
