"""The best classes of an instance without reading what cannot matter, from an index in two parts (see `frequent`).

The rows of the index are read, and give each class a part of its score. What the matrix adds to it is at most |x| |w|,
the lengths of both in a tier, after Cauchy and Schwarz; the full score of a class that leads so far is a floor. Classes
that cannot reach the floor are left out, tier by tier, and of the others the matrix is read. Sums taken in this order
differ from those of `scoring` in their last bits, so what is closer than `slack` is added up again in its order: ranks
and scores are those of the whole index, to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, int64, uint32
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import helper, named, writes
from harness.sdk.kernels.frequent import ABOVE, BELOW, N_TIERS, Frequent
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.prefetching import fetch_ahead
from harness.sdk.kernels.rows import NONE, Rows
from harness.sdk.kernels.topk import BLOCK_CLASSES, fill_top_k, highest, insert

UNIT = 2.0**-52
"""Twice the most that rounding takes from a number, as a share of it."""
ROUNDED_UP = 1 + 1e-12
"""By this much a bound is raised, so that rounding does not lower it."""
FEW = 4
"""One class in that many: where fewer are in doubt, they are looked up one by one (measured)."""


class Search(NamedTuple):
    """Working space."""

    scores: NDArray[np.float64]
    """By class: complete for those that were in doubt to the end."""
    upper: NDArray[np.float64]
    """What each class of a block scores at most."""
    doubtful: NDArray[np.uint32]
    """The classes in doubt, in their order."""
    exact: NDArray[np.float64]
    marks: NDArray[np.uint32]
    """By class: 0 between instances."""
    best: NDArray[np.int32]
    """The k best and the next one, k + 1 places."""
    places: NDArray[np.uint32]
    """Rows of the matrix that the instance reads, tier by tier, and by what they are multiplied."""
    values: NDArray[np.float64]
    ends: NDArray[np.int64]
    """Tier t of these is ends[t] to ends[t + 1]."""
    reach: NDArray[np.float64]
    """[t, ABOVE or BELOW]: the length of the values above 0, or below, in a tier."""


_ONE = (float64, float64, uint32, float64, uint32, int32, uint32, float64, int64)
SEARCH = named(Search, *map(writes, _ONE), writes(float64, 2))


def space_for(instances: Instances, n_classes: int, k: int) -> Search:
    longest = int(np.diff(instances.indptr).max(initial=0))
    return Search(
        scores=np.empty(n_classes),
        upper=np.empty(BLOCK_CLASSES),
        doubtful=np.empty(n_classes, np.uint32),
        exact=np.empty(n_classes),
        marks=np.zeros(n_classes, np.uint32),
        best=np.empty(k + 1, np.int32),
        places=np.empty(longest, np.uint32),
        values=np.empty(longest),
        ends=np.zeros(N_TIERS + 1, np.int64),
        reach=np.empty((N_TIERS, 2)),
    )


@helper()
def pick_frequent(frequent: Frequent, features: Array, values: Array, search: Search) -> int:
    """List the features of an instance that are in the matrix; gives how many."""
    n = 0
    for t in range(N_TIERS):
        above, below = 0.0, 0.0
        for j in range(features.size):
            place, x = frequent.places[np.uint32(features[j])], np.float64(values[j])
            if frequent.tiers[t] <= place < frequent.tiers[t + 1]:
                search.places[n], search.values[n] = place, x
                above += max(0.0, x) ** 2
                below += min(0.0, x) ** 2
                n += 1
        search.ends[t + 1] = n
        search.reach[t, ABOVE] = np.sqrt(above) * ROUNDED_UP
        search.reach[t, BELOW] = np.sqrt(below) * ROUNDED_UP
    return n


@helper()
def slack_of(values: Array, heaviest: float, most_base: float) -> float:
    """More than the scores of an instance change by when they are added up in another order.

    No weight is above the heaviest, and no class scores more than `most_base` before any feature counts.
    """
    total = 0.0
    for j in range(values.size):
        total += abs(np.float64(values[j]))
    return 4 * UNIT * (values.size + 4) * (total * heaviest + most_base)


@helper()
def full_score(frequent: Frequent, search: Search, c: Any, n: int) -> float:
    """The score of class c, once the first n rows of the matrix that are listed are added to it."""
    total = search.scores[c]
    for p in range(np.uint64(n)):
        total += search.values[p] * frequent.weights[search.places[p], c]
    return total


@helper()
def may_add(frequent: Frequent, search: Search, c: Any, n_tiers: int) -> float:
    """What the first tiers, unread, add to class c at most."""
    most = 0.0
    for t in range(n_tiers):
        most += search.reach[t, ABOVE] * frequent.lengths[t, ABOVE, c]
        most += search.reach[t, BELOW] * frequent.lengths[t, BELOW, c]
    return most


@helper()
def lift(scores: Array, lo: Any, lengths: Array, reach: float, upper: Array) -> None:
    """What a block of classes scores at most, with a tier that is unread."""
    for m in range(np.uint64(upper.size)):
        upper[m] = scores[m + lo] + reach * lengths[m + lo]


@helper()
def raise_by(lengths: Array, lo: Any, reach: float, upper: Array) -> None:
    for m in range(np.uint64(upper.size)):
        upper[m] += reach * lengths[m + lo]


@helper()
def fill_upper(frequent: Frequent, search: Search, lo: Any, upper: Array) -> None:
    """What a block of classes scores at most, all tiers being unread."""
    lift(search.scores, lo, frequent.lengths[0, ABOVE], search.reach[0, ABOVE], upper)
    for t in range(N_TIERS):
        if t > 0 and search.reach[t, ABOVE] > 0:
            raise_by(frequent.lengths[t, ABOVE], lo, search.reach[t, ABOVE], upper)
        if search.reach[t, BELOW] > 0:
            raise_by(frequent.lengths[t, BELOW], lo, search.reach[t, BELOW], upper)


@helper()
def list_doubtful(frequent: Frequent, search: Search, floor: float) -> int:
    """The classes that take part, and may reach the floor; gives how many."""
    n = np.uint64(0)
    for lo in range(np.uint64(0), np.uint64(search.scores.size), np.uint64(BLOCK_CLASSES)):
        upper = search.upper[: min(search.upper.size, search.scores.size - np.int64(lo))]
        fill_upper(frequent, search, lo, upper)
        if highest(upper, 0, upper.size) < floor:
            continue
        for m in range(np.uint64(upper.size)):
            search.doubtful[n] = lo + m
            n += np.uint64(upper[m] >= floor and upper[m] > -np.inf)
    return np.int64(n)


@helper()
def add_tier(frequent: Frequent, search: Search, t: int, n: int) -> None:
    """Add a tier to the scores of the n classes in doubt; to all, where that is faster."""
    scores, all_of_them = search.scores, n * FEW > search.scores.size
    for p in range(np.uint64(search.ends[t]), np.uint64(search.ends[t + 1])):
        x, weights = search.values[p], frequent.weights[search.places[p]]
        if all_of_them:
            for c in range(np.uint64(scores.size)):
                scores[c] += x * weights[c]
        else:
            for m in range(np.uint64(n)):
                scores[search.doubtful[m]] += x * weights[search.doubtful[m]]


@helper()
def keep_doubtful(frequent: Frequent, search: Search, n: int, n_tiers: int, floor: float) -> int:
    """Of the classes in doubt those that may still reach the floor while so many tiers are unread."""
    kept = np.uint64(0)
    for m in range(np.uint64(n)):
        c = search.doubtful[m]
        search.doubtful[kept] = c
        kept += np.uint64(search.scores[c] + may_add(frequent, search, c, n_tiers) >= floor)
    return np.int64(kept)


@helper()
def fill_best(search: Search, n: int, best: Array) -> int:
    """The best of the n classes in doubt by what they score so far, the lowest class first on ties; gives how many."""
    size = 0
    for m in range(np.uint64(n)):
        c = search.doubtful[m]
        if size < best.size or search.scores[c] > search.scores[np.uint32(best[best.size - 1])]:
            size = insert(search.scores, c, best, size)
    return size


@helper()
def floor_of(frequent: Frequent, search: Search, leaders: Array, n_tiers: int) -> float:
    """The least full score of these classes; -inf where they are too few."""
    floor = np.inf
    for place in range(leaders.size):
        if leaders[place] < 0:
            return -np.inf
        floor = min(floor, full_score(frequent, search, np.uint32(leaders[place]), search.ends[n_tiers]))
    return floor


@helper()
def search_best(frequent: Frequent, search: Search, slack: float) -> Any:
    """Fill `best`, with its k + 1 places, from scores that lack what the matrix adds; -1 pads.

    Gives how many classes are in `doubtful`: every class is there that is among the k best, or comes closer to the last
    of them than twice the slack.
    """
    k = search.best.size - 1
    leaders = search.best[:k]
    fill_top_k(search.scores, leaders)
    floor = floor_of(frequent, search, leaders, N_TIERS)
    n = list_doubtful(frequent, search, floor - 4 * slack)
    for t in range(N_TIERS - 1, -1, -1):
        add_tier(frequent, search, t, n)
        if t > 0:
            size = fill_best(search, n, leaders)
            if size == k:
                floor = max(floor, floor_of(frequent, search, leaders, t))
            n = keep_doubtful(frequent, search, n, t, floor - 4 * slack)
    size = fill_best(search, n, search.best)
    for place in range(size, search.best.size):
        search.best[place] = -1
    return n


@helper()
def keep_close(search: Search, n: int, least: float) -> int:
    """Of the classes in doubt those that score at least that."""
    kept = np.uint64(0)
    for m in range(np.uint64(n)):
        c = search.doubtful[m]
        search.doubtful[kept] = c
        kept += np.uint64(search.scores[c] >= least)
    return np.int64(kept)


@helper()
def score_exactly(
    rows: Rows, frequent: Frequent, features: Array, values: Array, base: Array, search: Search, n: int
) -> None:
    """The scores of the first n of `doubtful`, each class once, added up in the order of the features."""
    for m in range(np.uint64(n)):
        c = search.doubtful[m]
        search.marks[c] = np.uint32(m + np.uint64(1))
        search.exact[m] = base[c]
    for j in range(features.size):
        f, x = np.uint32(features[j]), np.float64(values[j])
        place = frequent.places[f]
        fetch_ahead(rows, features, j)
        if place != NONE:
            for m in range(np.uint64(n)):
                search.exact[m] += x * frequent.weights[place, search.doubtful[m]]
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            mark = search.marks[rows.classes[e]]
            if mark:
                search.exact[mark - np.uint32(1)] += x * rows.weights[e]
    for m in range(np.uint64(n)):
        c = search.doubtful[m]
        search.marks[c] = 0
        search.scores[c] = search.exact[m]
