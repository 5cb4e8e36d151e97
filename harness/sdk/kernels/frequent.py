"""An index in two parts: features that know most classes in a matrix, feature by class, the others in rows as ever.

Such features are few, and reading their edges is nearly all that scoring costs where classes are many. In the matrix
they need not be read: what they can add to a class at most is known from the length of its weights alone, and only the
classes that this leaves in doubt are looked up (see `bounds`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, int64, uint32, void
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array, frozen
from harness.sdk.kernels.compiling import LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.edges import Edges, as_edges, as_rows
from harness.sdk.kernels.rows import CACHED_CLASSES, FROZEN_ROWS, NONE, Rows, freeze

MOST_BYTES = 1_000_000_000
"""Of the matrix."""
N_TIERS = 2
"""The matrix is looked up in steps, the features that know the fewest classes first; each step leaves fewer classes."""
ABOVE, BELOW = 0, 1
"""Weights above 0 are what can raise a score where x > 0, those below 0 where x < 0: each have a length of their own."""
ROUNDING = 1e-14
"""More than what rounding takes from a sum of squares, as a share of all that went into it."""


class Frequent(NamedTuple):
    """The weights of some features as a matrix, by feature and class, in tiers."""

    places: NDArray[np.uint32]
    """The row of each feature in the matrix; NONE for those that are in rows of the index."""
    weights: NDArray[np.float32]
    tiers: NDArray[np.int64]
    """Tier t is the rows tiers[t] to tiers[t + 1]."""
    lengths: NDArray[np.float64]
    """[t, ABOVE or BELOW, c]: the Euclidean length of such weights of class c in tier t; never less than it is."""


_TYPES = ((uint32, 1), (float32, 2), (int64, 1), (float64, 3))
FREQUENT = named(Frequent, *(writes(*each) for each in _TYPES))
FROZEN_FREQUENT = named(Frequent, *(reads(*each) for each in _TYPES))


def known_to_most(known: NDArray[Any], share: float, n_classes: int) -> NDArray[np.int64]:
    """The features that know at least that share of the classes, those that know the most first.

    None where classes are so few that their scores are at hand in any case, and no more than a matrix has room for.
    """
    if n_classes <= CACHED_CLASSES:
        return np.empty(0, np.int64)
    features = np.flatnonzero(known >= share * n_classes)
    first = np.argsort(-known[features].astype(np.int64), kind="stable")
    return features[first[: MOST_BYTES // (4 * n_classes)]]


def part(rows: Rows, features: NDArray[np.int64], n_classes: int) -> tuple[Rows, Frequent]:
    """An index in two parts, these features in the matrix; those that know the most classes come first.

    The first part has its edges in the same arena as the index given.
    """
    places = np.full(rows.start.size, NONE)
    places[features] = np.arange(features.size, dtype=np.uint32)
    tiers = np.array([0, *(features.size >> (N_TIERS - 1 - t) for t in range(N_TIERS))], np.int64)
    weights = np.zeros((features.size, n_classes), np.float32)
    frequent = Frequent(places, weights, tiers, np.zeros((N_TIERS, 2, n_classes)))
    spread(freeze(rows), frozen(features, np.int64), frequent)
    length = rows.length.copy()
    length[features] = 0
    return rows._replace(length=length), frequent


def join(rows: Rows, frequent: Frequent) -> Rows:
    """One index again; a weight of 0 in the matrix is no edge."""
    edges, features = as_edges(rows), np.flatnonzero(frequent.places != NONE)
    length = np.diff(edges.indptr)
    length[features] = np.count_nonzero(frequent.weights, axis=1)[frequent.places[features]]
    indptr = np.concatenate([[0], np.cumsum(length)])
    classes, weights = np.empty(indptr[-1], np.uint32), np.empty(indptr[-1], np.float32)
    collect(Edges(*map(frozen, edges)), freeze_frequent(frequent), frozen(indptr), classes, weights)
    return as_rows(Edges(indptr, classes, weights))


def freeze_frequent(frequent: Frequent) -> Frequent:
    """The same, to be read only."""
    return Frequent(*(frozen(array) for array in frequent))


@helper()
def tier_of(frequent: Frequent, place: Any) -> Any:
    """The tier of a row of the matrix."""
    t = np.uint64(0)
    while frequent.tiers[t + np.uint64(1)] <= place:
        t += np.uint64(1)
    return t


@helper()
def resize(lengths: Array, c: Any, old: float, new: float) -> None:
    """The length of a vector in which one number changed; it is rounded up."""
    if old != new:
        before = lengths[c] * lengths[c]
        after = max(0.0, before - old * old + new * new)
        lengths[c] = np.sqrt(after + ROUNDING * (before + new * new))


@helper()
def change(frequent: Frequent, place: Any, t: Any, c: Any, amount: float) -> None:
    """W[f, c] += amount, for a feature of the matrix in tier t, and the lengths of class c follow."""
    old = np.float64(frequent.weights[place, c])
    frequent.weights[place, c] = old + amount
    new = np.float64(frequent.weights[place, c])
    resize(frequent.lengths[t, ABOVE], c, max(0.0, old), max(0.0, new))
    resize(frequent.lengths[t, BELOW], c, min(0.0, old), min(0.0, new))


@kernel(void(FROZEN_ROWS, reads(int64), FREQUENT), **LEAN)
def spread(rows: Rows, features: Array, frequent: Frequent) -> None:
    """Fill the matrix from the rows of these features."""
    for place in range(np.uint64(features.size)):
        f = np.uint64(features[place])
        start, t = rows.start[f], tier_of(frequent, place)
        for e in range(start, start + rows.length[f]):
            change(frequent, place, t, rows.classes[e], np.float64(rows.weights[e]))


_EDGES = named(Edges, reads(int64), reads(uint32), reads(float32))


@kernel(void(_EDGES, FROZEN_FREQUENT, reads(int64), writes(uint32), writes(float32)), **LEAN)
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
