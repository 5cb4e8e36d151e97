"""A weight index in two parts, for training with many classes: a matrix for frequent features, sparse rows for others.

An update moves a pair of classes, the true one and its closest rival. The rival is found by upper bounds on scores. The
rival and both scores equal those of a plain index to the last bit (see `harness.sdk.kernels.bounds`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, uint32
from numpy.typing import NDArray

from harness.sdk.kernels.bounds import (
    FREQUENT,
    SEARCH,
    Frequent,
    Search,
    change,
    full_score,
    pick_frequent,
    search_best,
    settle,
    slack_of,
)
from harness.sdk.kernels.compile import helper, named, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.rows import NONE, ROWS, Rows, find_two, shift_found
from harness.sdk.kernels.score import score

SAFE = -1
"""Placeholder for a rival: the true class leads by more than the margin."""


class Found(NamedTuple):
    """Places of the two classes in the index row of each feature of an instance; counted from 1, 0 if missing."""

    gain: NDArray[np.uint32]
    lose: NDArray[np.uint32]


FOUND = named(Found, writes(uint32), writes(uint32))


class HybridIndex(NamedTuple):
    """The two parts of the index, and temporary arrays for an update."""

    rows: Rows
    frequent: Frequent
    search: Search
    found: Found
    heaviest: NDArray[np.float64]
    """An upper bound on the absolute value of any weight, in an array of one element."""


HYBRID_INDEX = named(HybridIndex, ROWS, FREQUENT, SEARCH, FOUND, writes(float64))


def none_found(instances: Instances) -> Found:
    """Return room for the features of the longest instance."""
    longest = int(np.diff(instances.indptr).max(initial=0))
    return Found(np.zeros(longest, np.uint32), np.zeros(longest, np.uint32))


@helper()
def find_rival(
    rows: Rows,
    frequent: Frequent,
    instances: Instances,
    i: int,
    y: Any,
    base: Array,
    search: Search,
    heaviest: float,
    margin: float,
) -> Any:
    """Return the class other than y with the highest score, the lowest id on ties.

    Returns SAFE if y certainly leads it by more than the margin, or if no other class has occurred.
    """
    lo, hi = instances.indptr[i], instances.indptr[i + 1]
    features, values = instances.indices[lo:hi], instances.data[lo:hi]
    score(rows, instances, i, base, search.scores)
    n, reach = pick_frequent(frequent, features, values, search)
    slack = slack_of(values, heaviest, 0.0)
    s_y = full_score(frequent, search, n, y)
    search.scores[y] = -np.inf
    m = search_best(frequent, search, n, reach, slack)
    rival = search.best[0]
    if rival < 0 or s_y - search.scores[np.uint32(rival)] > margin + 4 * slack:
        return np.int32(SAFE)
    settle(rows, frequent, features, values, base, search, m, slack)
    return search.best[0]


@helper()
def score_pair(
    rows: Rows, frequent: Frequent, features: Array, values: Array, base: Array, y: Any, rival: Any, found: Found
) -> Any:
    """Return the scores of both classes, added up in the order of the features; store their places in `found`."""
    s_y, s_rival = base[y], base[rival]
    for j in range(np.uint64(features.size)):
        f, x = np.uint32(features[j]), np.float64(values[j])
        place = frequent.places[f]
        if place != NONE:
            s_y += x * frequent.weights[place, y]
            s_rival += x * frequent.weights[place, rival]
            continue
        found.gain[j], found.lose[j] = find_two(rows, f, y, rival)
        start = rows.start[f]
        if found.gain[j] > 0:
            s_y += x * rows.weights[start + (found.gain[j] - np.uint32(1))]
        if found.lose[j] > 0:
            s_rival += x * rows.weights[start + (found.lose[j] - np.uint32(1))]
    return s_y, s_rival


@helper()
def shift_pair(
    rows: Rows, frequent: Frequent, features: Array, values: Array, y: Any, rival: Any, found: Found, tau: float
) -> float:
    """W[:, y] += tau x, W[:, rival] -= tau x; returns an upper bound on the growth of a weight."""
    most = 0.0
    for j in range(np.uint64(features.size)):
        f, amount = np.uint32(features[j]), tau * values[j]
        most = max(most, abs(amount))
        place = frequent.places[f]
        if place == NONE:
            shift_found(rows, f, y, rival, found.gain[j], found.lose[j], amount)
        else:
            change(frequent, place, y, amount)
            change(frequent, place, rival, -amount)
    return most


@helper()
def knows(rows: Rows, frequent: Frequent, features: Array, values: Array, y: Any, found: Found) -> bool:
    """Return whether any feature of the instance has an edge to class y; `found` holds the places of this class."""
    known = False
    for j in range(np.uint64(features.size)):
        place = frequent.places[np.uint32(features[j])]
        there = found.gain[j] > 0 if place == NONE else frequent.weights[place, y] != 0
        known |= there and values[j] != 0
    return known
