"""The pair of classes that an update moves, where classes are many: found by bounds, and moved in both parts of an index.

The true class that scores lowest and the false one that scores highest are those of the whole index, with its scores,
to the last bit (see `harness.sdk.kernels.bounds`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint32
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.bounds import (
    Search,
    full_score,
    keep_close,
    pick_frequent,
    score_exactly,
    search_best,
    slack_of,
)
from harness.sdk.kernels.compiling import helper, named, writes
from harness.sdk.kernels.frequent import N_TIERS, Frequent, change, tier_of
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import NONE, Rows, find_two, shift_found
from harness.sdk.kernels.scoring import score

SAFE = -1
"""In place of a rival: none comes close enough."""


class Found(NamedTuple):
    """Where a row of the index has the two classes, by the features of an instance; from 1, 0 for one without."""

    gain: NDArray[np.uint32]
    lose: NDArray[np.uint32]


FOUND = named(Found, writes(uint32), writes(uint32))


def none_found(instances: Instances) -> Found:
    longest = int(np.diff(instances.indptr).max(initial=0))
    return Found(np.zeros(longest, np.uint32), np.zeros(longest, np.uint32))


@helper()
def lowest_true(frequent: Frequent, search: Search, truth: Array) -> Any:
    """The true class that scores lowest, the lowest id where they tie, and what it scores, but for rounding."""
    worst, low = np.uint32(truth[0]), np.inf
    for p in range(truth.size):
        c = np.uint32(truth[p])
        s = full_score(frequent, search, c, search.ends[N_TIERS])
        if s < low or (s == low and c < worst):
            worst, low = c, s
    return worst, low


@helper()
def highest_of(search: Search, n: int) -> Any:
    """Of the first n of `doubtful`, which are in order, the one that scores highest."""
    best = search.doubtful[0]
    for m in range(np.uint64(n)):
        c = search.doubtful[m]
        if search.scores[c] > search.scores[best]:
            best = c
    return np.int32(best)


@helper()
def lowest_of(search: Search, n: int) -> Any:
    """Of the first n of `doubtful` the one that scores lowest, the lowest id where they tie."""
    worst = search.doubtful[0]
    for m in range(np.uint64(n)):
        c = search.doubtful[m]
        if search.scores[c] < search.scores[worst] or (search.scores[c] == search.scores[worst] and c < worst):
            worst = c
    return worst


@helper()
def find_pair(
    rows: Rows,
    frequent: Frequent,
    instances: Instances,
    i: int,
    truth: Array,
    base: Array,
    search: Search,
    heaviest: float,
    margin: float,
) -> Any:
    """The true class y that scores lowest, and the false one that scores highest, the lowest id on ties.

    SAFE stands for the latter where s_y is more than the margin above it for certain, or no other class was seen.
    """
    lo, hi = instances.indptr[i], instances.indptr[i + 1]
    features, values = instances.indices[lo:hi], instances.data[lo:hi]
    score(rows, instances, i, base, search.scores)
    pick_frequent(frequent, features, values, search)
    slack = slack_of(values, heaviest, 0.0)
    y, s_y = lowest_true(frequent, search, truth)
    for p in range(truth.size):
        search.scores[np.uint32(truth[p])] = -np.inf
    n = search_best(frequent, search, slack)
    if n == 0:
        return y, SAFE
    s_rival = search.scores[np.uint32(search.best[0])]
    if s_y - s_rival > margin + 4 * slack:
        return y, SAFE
    n = keep_close(search, n, s_rival - 2 * slack)
    if n > 1:
        score_exactly(rows, frequent, features, values, base, search, n)
        search.best[0] = highest_of(search, n)
    rival = search.best[0]
    if truth.size > 1:
        for p in range(np.uint64(truth.size)):
            search.doubtful[p] = np.uint32(truth[p])
        score_exactly(rows, frequent, features, values, base, search, truth.size)
        y = lowest_of(search, truth.size)
    return y, rival


@helper()
def score_pair(
    rows: Rows, frequent: Frequent, features: Array, values: Array, base: Array, y: Any, rival: Any, found: Found
) -> Any:
    """What both score, added up in the order of the features; where rows have them goes to `found`."""
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
    """W[:, y] += tau x, W[:, rival] -= tau x; gives the most by which a weight may have grown."""
    most = 0.0
    for j in range(np.uint64(features.size)):
        f, amount = np.uint32(features[j]), tau * values[j]
        most = max(most, abs(amount))
        place = frequent.places[f]
        if place == NONE:
            shift_found(rows, f, y, rival, found.gain[j], found.lose[j], amount)
        else:
            t = tier_of(frequent, place)
            change(frequent, place, t, y, amount)
            change(frequent, place, t, rival, -amount)
    return most


@helper()
def knows(rows: Rows, frequent: Frequent, features: Array, values: Array, y: Any, found: Found) -> bool:
    """Whether any feature of the instance has an edge to class y, where `found` is of this class."""
    known = False
    for j in range(np.uint64(features.size)):
        place = frequent.places[np.uint32(features[j])]
        there = found.gain[j] > 0 if place == NONE else frequent.weights[place, y] != 0
        known |= there and values[j] != 0
    return known
