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
from harness.sdk.kernels.rows import FROZEN_ROWS, NONE, Rows, freeze

ROUNDING = 1e-14
"""More than what rounding takes from a sum of squares in one step, as a share of all that goes into it."""


class Frequent(NamedTuple):
    """The weights of some features as a matrix, by feature and class."""

    places: NDArray[np.uint32]
    """The row of each feature in the matrix; NONE for those that are in rows of the index."""
    weights: NDArray[np.float32]
    lengths: NDArray[np.float64]
    """By class: the Euclidean length of its weights above 0; never less than it is."""


FREQUENT = named(Frequent, writes(uint32), writes(float32, 2), writes(float64))


def part(rows: Rows, features: NDArray[np.int64], n_classes: int) -> tuple[Rows, Frequent]:
    """An index in two parts, with these features in the matrix; the rows keep their arena."""
    places = np.full(rows.start.size, NONE)
    places[features] = np.arange(features.size, dtype=np.uint32)
    frequent = Frequent(places, np.zeros((features.size, n_classes), np.float32), np.zeros(n_classes))
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
