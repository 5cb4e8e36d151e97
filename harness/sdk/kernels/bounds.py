"""The best classes of an instance without reading what cannot matter, from an index in two parts (see `frequent`).

The rows of the index are read, and give each class a part of its score. What the matrix adds where x >= 0 is at most
|x| |w|, the lengths of both, after Cauchy and Schwarz; the full score of the class that leads so far is a floor. The
matrix is read only for the classes that may reach the floor. Sums taken in this order differ from those of `scoring` in
their last bits, so what is closer than a slack is added up again in that order: ranks are those of the whole index.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, uint32
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import helper, named, writes
from harness.sdk.kernels.frequent import Frequent
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.prefetching import fetch_ahead
from harness.sdk.kernels.rows import NONE, Rows
from harness.sdk.kernels.topk import BLOCK_CLASSES, fill_top_k, highest, insert

UNIT = 2.0**-52
"""Twice the most that rounding takes from a number, as a share of it."""
ROUNDED_UP = 1 + 1e-12
"""By this factor a bound is raised, so that rounding does not lower it."""
FEW = 4
"""One class in that many: where fewer are in doubt, they are looked up one by one (measured)."""


class Search(NamedTuple):
    """Working space."""

    scores: NDArray[np.float64]
    """By class: complete for those that are in doubt, once the matrix was read."""
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
    """Rows of the matrix that the instance reads, and by what they are multiplied."""
    values: NDArray[np.float64]


SEARCH = named(Search, *map(writes, (float64, float64, uint32, float64, uint32, int32, uint32, float64)))


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
    )


@helper()
def pick_frequent(frequent: Frequent, features: Array, values: Array, search: Search) -> Any:
    """List the features of an instance that are in the matrix; gives how many, and the length of their values.

    The length is inf where one is below 0: the bound is none then.
    """
    n, square = np.uint64(0), 0.0
    for j in range(np.uint64(features.size)):
        place, x = frequent.places[np.uint32(features[j])], np.float64(values[j])
        if place != NONE:
            search.places[n], search.values[n] = place, x
            square += x * x if x >= 0 else np.inf
            n += np.uint64(1)
    return n, np.sqrt(square) * ROUNDED_UP


@helper()
def slack_of(values: Array, heaviest: float, most_base: float) -> float:
    """More than the scores of an instance change by when they are added up in another order.

    No weight is above the heaviest, and no class scores more than `most_base` before any feature counts.
    """
    total = 0.0
    for j in range(np.uint64(values.size)):
        total += abs(np.float64(values[j]))
    return 4 * UNIT * (values.size + 4) * (total * heaviest + most_base)


@helper()
def full_score(frequent: Frequent, search: Search, n: Any, c: Any) -> Any:
    """The score of class c with what the n rows of the matrix that are listed add to it."""
    total = search.scores[c]
    for p in range(n):
        total += search.values[p] * frequent.weights[search.places[p], c]
    return total


@helper()
def list_doubtful(frequent: Frequent, search: Search, reach: float, floor: float) -> Any:
    """The classes that take part, and may reach the floor; gives how many."""
    m, n_classes = np.uint64(0), np.uint64(search.scores.size)
    for lo in range(np.uint64(0), n_classes, np.uint64(BLOCK_CLASSES)):
        size = min(np.uint64(BLOCK_CLASSES), n_classes - lo)
        for c in range(size):
            search.upper[c] = search.scores[lo + c] + reach * frequent.lengths[lo + c]
        if highest(search.upper, 0, int(size)) < floor:
            continue
        for c in range(size):
            search.doubtful[m] = lo + c
            m += np.uint64(search.upper[c] >= floor and search.upper[c] > -np.inf)
    return m


@helper()
def read_matrix(frequent: Frequent, search: Search, n: Any, m: Any) -> None:
    """Add the n rows of the matrix that are listed to the scores of the m classes in doubt; to all, if it is faster."""
    scores, all_of_them = search.scores, m * np.uint64(FEW) > np.uint64(search.scores.size)
    for p in range(n):
        x, place = search.values[p], search.places[p]
        if all_of_them:
            for c in range(np.uint64(scores.size)):
                scores[c] += x * frequent.weights[place, c]
        else:
            for d in range(m):
                scores[search.doubtful[d]] += x * frequent.weights[place, search.doubtful[d]]


@helper()
def fill_best(search: Search, m: Any) -> None:
    """Fill `best` from the m classes in doubt, the lowest class first on ties; -1 pads."""
    best, size = search.best, 0
    for d in range(m):
        c = search.doubtful[d]
        if size < best.size or search.scores[c] > search.scores[np.uint32(best[best.size - 1])]:
            size = insert(search.scores, c, best, size)
    for place in range(size, best.size):
        best[place] = -1


@helper()
def search_best(frequent: Frequent, search: Search, n: Any, reach: float, slack: float) -> Any:
    """Fill `best` from scores that lack what the n rows of the matrix that are listed add; -1 pads.

    Gives how many classes are in `doubtful`: every class is there that is among the k best, or comes closer to the last
    of them than twice the slack.
    """
    best = search.best
    fill_top_k(search.scores, best)
    floor = np.inf
    for place in range(best.size - 1):
        c = best[place]
        floor = min(floor, full_score(frequent, search, n, np.uint32(c))) if c >= 0 else -np.inf
    if reach == np.inf:
        reach, floor = 0.0, -np.inf
    m = list_doubtful(frequent, search, reach, floor - 4 * slack)
    read_matrix(frequent, search, n, m)
    fill_best(search, m)
    return m


@helper()
def score_exactly(
    rows: Rows, frequent: Frequent, features: Array, values: Array, base: Array, search: Search, m: Any
) -> None:
    """The scores of the first m of `doubtful`, added up in the order of the features."""
    for d in range(m):
        c = search.doubtful[d]
        search.marks[c] = d + np.uint64(1)
        search.exact[d] = base[c]
    for j in range(features.size):
        f, x = np.uint32(features[j]), np.float64(values[j])
        place, start = frequent.places[f], rows.start[f]
        fetch_ahead(rows, features, j)
        if place != NONE:
            for d in range(m):
                search.exact[d] += x * frequent.weights[place, search.doubtful[d]]
        for e in range(start, start + rows.length[f]):
            mark = search.marks[rows.classes[e]]
            if mark:
                search.exact[mark - np.uint32(1)] += x * rows.weights[e]
    for d in range(m):
        c = search.doubtful[d]
        search.marks[c] = 0
        search.scores[c] = search.exact[d]


@helper()
def settle(
    rows: Rows, frequent: Frequent, features: Array, values: Array, base: Array, search: Search, m: Any, slack: float
) -> None:
    """Where rounding may decide between the k best, or the last of them and the next: decide as the whole index does.

    All that are so close are added up again in the order of the features, which settles ties too.
    """
    best, close, least = search.best, False, np.inf
    for place in range(best.size - 1):
        if best[place + 1] >= 0:
            least = search.scores[np.uint32(best[place])] - 2 * slack
            close |= search.scores[np.uint32(best[place + 1])] >= least
        elif best[place] >= 0:
            least = search.scores[np.uint32(best[place])]
    if not close:
        return
    kept = np.uint64(0)
    for d in range(m):
        c = search.doubtful[d]
        search.doubtful[kept] = c
        kept += np.uint64(search.scores[c] >= least)
    score_exactly(rows, frequent, features, values, base, search, kept)
    fill_best(search, kept)
