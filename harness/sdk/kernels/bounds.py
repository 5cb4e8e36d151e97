"""The best classes of an instance by upper bounds on scores, for many classes.

The index has two parts. Features with edges to most classes are in a matrix, feature by class; the others are in rows.
The features of the matrix are few, but most of the time would be spent on their edges.

Reading the rows gives each class a part of its score. For x >= 0, the matrix adds at most |x| |w| (Cauchy-Schwarz). The
full score of the class that leads so far is a floor, and the matrix is read only for classes that may reach the floor.
It is read in steps, the largest values of x first. After each step |x| is smaller, and more classes are excluded.
Sums in this order differ from those of `score` in their last bits. Scores that are closer than a slack are therefore
summed again in the order of `score`: the ranks are those of the whole index.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, int32, int64, uint32, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.edges import Edges, as_edges, as_rows
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness.sdk.kernels.rows import FROZEN_ROWS, NONE, Rows, freeze
from harness.sdk.kernels.score import BLOCK_CLASSES, fetch_ahead, fill_top_k, highest, insert

ROUNDING = 1e-14
"""Upper bound for the relative rounding error of one step of a sum of squares."""


class Frequent(NamedTuple):
    """The weights of some features as a matrix, by feature and class."""

    places: NDArray[np.uint32]
    """The row of each feature in the matrix; NONE for features in rows of the index."""
    weights: NDArray[np.float32]
    lengths: NDArray[np.float64]
    """By class: the Euclidean length of its weights above 0, rounded up."""


FREQUENT = named(Frequent, writes(uint32), writes(float32, 2), writes(float64))


def part(rows: Rows, features: NDArray[np.int64], n_classes: int) -> tuple[Rows, Frequent]:
    """Return an index in two parts: some features in a matrix, and the others in rows.

    Parameters
    ----------
    rows : Rows
        The index.
    features : ndarray of int64
        Features for the matrix.
    n_classes : int
        Number of classes.

    Returns
    -------
    rows : Rows
        The index without these features, in the same arena.
    frequent : Frequent
        The matrix.
    """
    places = np.full(rows.start.size, NONE)
    places[features] = np.arange(features.size, dtype=np.uint32)
    frequent = Frequent(places, np.zeros((features.size, n_classes), np.float32), np.zeros(n_classes))
    spread(freeze(rows), frozen(features, np.int64), frequent)
    length = rows.length.copy()
    length[features] = 0
    return rows._replace(length=length), frequent


def join(rows: Rows, frequent: Frequent) -> Rows:
    """Return one index from both parts; a weight of 0 in the matrix is no edge.

    Parameters
    ----------
    rows : Rows
        The features outside of the matrix.
    frequent : Frequent
        The features of the matrix.

    Returns
    -------
    Rows
        The index.
    """
    edges, features = as_edges(rows), np.flatnonzero(frequent.places != NONE)
    length = np.diff(edges.indptr)
    length[features] = np.count_nonzero(frequent.weights, axis=1)[frequent.places[features]]
    indptr = np.concatenate([[0], np.cumsum(length)])
    classes, weights = np.empty(indptr[-1], np.uint32), np.empty(indptr[-1], np.float32)
    collect(Edges(*(frozen(array) for array in edges)), frequent, frozen(indptr), classes, weights)
    return as_rows(Edges(indptr, classes, weights))


@helper()
def change(frequent: Frequent, place: Any, c: Any, amount: float) -> None:
    """W[f, c] += amount, for a feature of the matrix; the length of the class follows, rounded up."""
    old = np.float64(frequent.weights[place, c])
    frequent.weights[place, c] = old + amount
    new = np.float64(frequent.weights[place, c])
    if old > 0 or new > 0:
        before = frequent.lengths[c] * frequent.lengths[c]
        gone, come = max(0.0, old) ** 2, max(0.0, new) ** 2
        frequent.lengths[c] = np.sqrt(max(0.0, before - gone + come) + ROUNDING * (before + come))


@kernel(void(FROZEN_ROWS, reads(int64), FREQUENT), **LEAN)
def spread(rows: Rows, features: Array, frequent: Frequent) -> None:
    """Fill the matrix from the rows of these features."""
    for place in range(np.uint64(features.size)):
        f = np.uint64(features[place])
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            change(frequent, place, rows.classes[e], np.float64(rows.weights[e]))


@kernel(
    void(
        named(Edges, reads(int64), reads(uint32), reads(float32)),
        FREQUENT,
        reads(int64),
        writes(uint32),
        writes(float32),
    ),
    **LEAN,
)
def collect(edges: Edges, frequent: Frequent, indptr: Array, classes: Array, weights: Array) -> None:
    """Fill the edges of one index from both parts."""
    for f in range(np.uint64(indptr.size - 1)):
        end, place = np.uint64(indptr[f]), frequent.places[f]
        if place == NONE:
            for e in range(np.uint64(edges.indptr[f]), np.uint64(edges.indptr[f + 1])):
                classes[end], weights[end] = edges.classes[e], edges.weights[e]
                end += np.uint64(1)
            continue
        for c in range(np.uint64(frequent.weights.shape[1])):
            if frequent.weights[place, c] != 0:
                classes[end], weights[end] = c, frequent.weights[place, c]
                end += np.uint64(1)


UNIT = 2.0**-52
"""Twice the largest relative rounding error of a number."""
ROUNDED_UP = 1 + 1e-12
"""Factor that raises a bound above its rounding error."""
FEW = 4
"""If fewer than one class in that many is in doubt, they are looked up one by one (measured)."""
FIRST_READ = 4
"""Number of rows of the matrix that are read first, those of the largest values, before classes are excluded by the
values that are left; then twice as many, and so on."""
LEAST_EXCLUDED = 64
"""If no more classes are in doubt, all rows of the matrix are read for them."""


class Search(NamedTuple):
    """Working space."""

    scores: NDArray[np.float64]
    """By class: complete for the classes in doubt after the matrix was read."""
    upper: NDArray[np.float64]
    """Upper bound for the score of each class of a block."""
    doubtful: NDArray[np.uint32]
    """The classes in doubt, in order."""
    exact: NDArray[np.float64]
    marks: NDArray[np.uint32]
    """By class: 0 between instances."""
    best: NDArray[np.int32]
    """The k best and the next one, k + 1 places."""
    places: NDArray[np.uint32]
    """Rows of the matrix that the instance reads, and their factors."""
    values: NDArray[np.float64]


SEARCH = named(Search, *map(writes, (float64, float64, uint32, float64, uint32, int32, uint32, float64)))


def space_for(instances: Instances, n_classes: int, k: int) -> Search:
    """Return working space for a search.

    Parameters
    ----------
    instances : Instances
        The rows to rank.
    n_classes : int
        Number of classes.
    k : int
        Number of classes to rank for each row.

    Returns
    -------
    Search
        Arrays of the sizes needed.
    """
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
    """List the features of an instance in the matrix; return their number and the length of their values.

    The length is inf if a value is below 0: there is no bound then.
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
    """Return an upper bound for the change of a score if it is summed in another order.

    No weight exceeds the heaviest, and no class has a base score above `most_base`.
    """
    total = 0.0
    for j in range(np.uint64(values.size)):
        total += abs(np.float64(values[j]))
    return 4 * UNIT * (values.size + 4) * (total * heaviest + most_base)


@helper()
def full_score(frequent: Frequent, search: Search, n: Any, c: Any) -> Any:
    """Return the score of class c with the n listed rows of the matrix."""
    return rest_of_score(frequent, search, np.uint64(0), n, c)


@helper()
def rest_of_score(frequent: Frequent, search: Search, lo: Any, n: Any, c: Any) -> Any:
    """Return the score of class c with the listed rows of the matrix from lo to n."""
    total = search.scores[c]
    for p in range(lo, n):
        total += search.values[p] * frequent.weights[search.places[p], c]
    return total


@helper()
def lowest_of_best(frequent: Frequent, search: Search, lo: Any, n: Any) -> float:
    """Return the lowest full score of the k classes in `best`, with the listed rows from lo to n; -inf if fewer."""
    lowest = np.inf
    for place in range(search.best.size - 1):
        c = search.best[place]
        lowest = min(lowest, rest_of_score(frequent, search, lo, n, np.uint32(c))) if c >= 0 else -np.inf
    return lowest


@helper()
def sort_listed(search: Search, n: Any) -> None:
    """Sort the n listed rows of the matrix by their factors, the highest first."""
    for p in range(np.uint64(1), n):
        at: Any = p
        place, x = search.places[p], search.values[p]
        while at > 0 and search.values[at - np.uint64(1)] < x:
            search.places[at], search.values[at] = search.places[at - np.uint64(1)], search.values[at - np.uint64(1)]
            at -= np.uint64(1)
        search.places[at], search.values[at] = place, x


@helper()
def list_doubtful(frequent: Frequent, search: Search, reach: float, floor: float) -> Any:
    """List the classes that may reach the floor; return their number."""
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
def exclude(frequent: Frequent, search: Search, lo: Any, n: Any, m: Any, floor: float, slack: float) -> Any:
    """Keep the classes in doubt that may still reach the floor by the listed rows from lo to n.

    Returns their number, and the floor, which rises to the full scores of the classes that lead now.
    """
    fill_best(search, m)
    floor = max(floor, lowest_of_best(frequent, search, lo, n))
    square, kept = 0.0, np.uint64(0)
    for p in range(lo, n):
        square += search.values[p] * search.values[p]
    reach = np.sqrt(square) * ROUNDED_UP
    for d in range(m):
        c = search.doubtful[d]
        search.doubtful[kept] = c
        kept += np.uint64(search.scores[c] + reach * frequent.lengths[c] >= floor - 4 * slack)
    return kept, floor


@helper()
def read_matrix(frequent: Frequent, search: Search, lo: Any, hi: Any, m: Any) -> None:
    """Add the listed rows of the matrix from lo to hi to the scores of the m classes in doubt.

    They are added to the scores of all classes if that is faster.
    """
    scores, all_of_them = search.scores, m * np.uint64(FEW) > np.uint64(search.scores.size)
    for p in range(lo, hi):
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
    """Fill `best` from scores without the n listed rows of the matrix; -1 pads.

    Returns the number of classes in `doubtful`. It holds every class among the k best, and every class that is closer
    to the last of them than twice the slack.
    """
    fill_top_k(search.scores, search.best)
    floor, bounded = lowest_of_best(frequent, search, np.uint64(0), n), reach < np.inf
    if not bounded:
        reach, floor = 0.0, -np.inf
    m = list_doubtful(frequent, search, reach, floor - 4 * slack)
    sort_listed(search, n)
    lo, step = np.uint64(0), np.uint64(FIRST_READ) if bounded else n
    while lo < n:
        hi = min(lo + step, n)
        read_matrix(frequent, search, lo, hi, m)
        lo, step = hi, hi
        if lo < n and m > LEAST_EXCLUDED:
            m, floor = exclude(frequent, search, lo, n, m, floor, slack)
    fill_best(search, m)
    return m


@helper()
def score_exactly(
    rows: Rows, frequent: Frequent, features: Array, values: Array, base: Array, search: Search, m: Any
) -> None:
    """Compute the scores of the first m of `doubtful` in the order of the features."""
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
    """Order the k best as the whole index does if rounding may decide between them, or for the last place.

    Scores that are so close are summed again in the order of the features. This decides ties too.
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
