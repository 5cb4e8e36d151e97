"""Scores of the classes that an instance touches, for learners whose weights are above 0: no edge, no score, no rank.

With many edges, scores are in a dense array and every class counts as touched. With few edges, touched classes are
listed: the time then depends on the edges alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, int64, uint32, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.rows import FROZEN_ROWS, MOST_EDGES, Rows, freeze
from harness.sdk.kernels.score import fetch_ahead

CLASSES_PER_EDGE = 4
"""From one edge for that many classes on, the dense array is faster (measured)."""


class Space(NamedTuple):
    """Working space for scores: all 0 between instances."""

    scores: NDArray[np.float64]
    touched: NDArray[np.uint32]
    """The classes that may score above 0; one place more than classes, to write without a branch."""


SPACE = named(Space, writes(float64), writes(uint32))


def empty_space(n_classes: int) -> Space:
    """Return working space for scores.

    Parameters
    ----------
    n_classes : int
        Number of classes.

    Returns
    -------
    Space
        Arrays of zeros.
    """
    return Space(np.zeros(n_classes), np.zeros(n_classes + 1, np.uint32))


@helper()
def touch(rows: Rows, features: Array, values: Array, degree: int, space: Space) -> Any:
    """s_c += sum_f x_f W[f, c] over the first `degree` edges of each row; returns the number of touched classes."""
    scores, touched = space
    edges = 0
    for j in range(features.size):
        edges += min(rows.length[np.uint32(features[j])], np.uint32(degree))
    if edges * CLASSES_PER_EDGE > scores.size:
        add_up(rows, features, values, degree, scores)
        for c in range(np.uint32(scores.size)):
            touched[c] = c
        return scores.size
    return add_up_and_list(rows, features, values, degree, scores, touched)


@helper()
def add_up(rows: Rows, features: Array, values: Array, degree: int, scores: Array) -> None:
    """s_c += sum_f x_f W[f, c], in the order of the features."""
    for j in range(features.size):
        f, x = np.uint32(features[j]), np.float64(values[j])
        fetch_ahead(rows, features, j)
        start = rows.start[f]
        for e in range(start, start + min(rows.length[f], np.uint32(degree))):
            scores[rows.classes[e]] += x * rows.weights[e]


@helper()
def add_up_and_list(rows: Rows, features: Array, values: Array, degree: int, scores: Array, touched: Array) -> Any:
    """The same, and list the touched classes: each is written, and kept if its score was 0."""
    n = np.uint32(0)
    for j in range(features.size):
        f, x = np.uint32(features[j]), np.float64(values[j])
        fetch_ahead(rows, features, j)
        start = rows.start[f]
        for e in range(start, start + min(rows.length[f], np.uint32(degree))):
            c = rows.classes[e]
            touched[n] = c
            n += np.uint32(scores[c] == 0)
            scores[c] += x * rows.weights[e]
    return np.int64(n)  # the type of the number of classes: else both become floats


@helper()
def clear_scores(scores: Array, touched: Array) -> None:
    """Reset all scores to 0."""
    for t in range(touched.size):
        scores[touched[t]] = 0.0


@helper()
def best_rival(scores: Array, touched: Array, truth: Array) -> float:
    """Return max(0, max_{c not true} s_c); classes that are not touched score 0."""
    best = 0.0
    for t in range(touched.size):
        c = touched[t]
        if scores[c] > best and not contains(truth, c):
            best = scores[c]
    return best


@helper()
def contains(classes: Array, c: Any) -> bool:
    """Return whether the class is among these."""
    found = False
    for p in range(classes.size):
        found |= np.uint32(classes[p]) == c
    return found


@helper()
def choose(scores: Array, touched: Array, floor: float, chosen: Array) -> int:
    """Fill `chosen` with the best classes above the floor, best first, the lowest id first on ties.

    By insertion: k is small, and most classes stop at the floor or at the last class chosen so far. Returns the number
    of classes chosen.
    """
    size = 0
    for t in range(touched.size):
        c = touched[t]
        if chosen.size == 0 or not scores[c] > floor:
            continue
        if size == chosen.size:
            if not ahead(scores, c, np.uint32(chosen[size - 1])):
                continue
            size -= 1
        place = size
        while place > 0 and ahead(scores, c, np.uint32(chosen[place - 1])):
            chosen[place] = chosen[place - 1]
            place -= 1
        chosen[place] = c
        size += 1
    return size


@helper()
def ahead(scores: Array, c: Any, other: Any) -> bool:
    """Return whether class c is ranked before the other: a higher score, or the lower id on a tie."""
    return bool(scores[c] > scores[other] or (scores[c] == scores[other] and c < other))


def rank_touched(
    rows: Rows, instances: Instances, factors: Array, k: int, *, n_classes: int, degree: int = 0
) -> NDArray[np.int32]:
    """Return the k best touched classes of each instance, by sum_f factor_f x_f W[f, c].

    Parameters
    ----------
    rows : Rows
        The index, W, with weights above 0.
    instances : Instances
        Rows to rank, with values above 0.
    factors : ndarray of float64, shape (n_features,)
        Factor of each feature; empty for factors of 1.
    k : int
        Number of classes for each instance.
    n_classes : int
        Number of classes.
    degree : int, default=0
        Number of edges read per feature, from the front of its row; 0 for all.

    Returns
    -------
    ndarray of int32, shape (n_instances, k)
        Classes, best first; -1 pads.
    """
    ranked = np.empty((instances.n_instances, k), np.int32)
    longest = int(np.diff(instances.indptr).max(initial=0))
    values, space = np.empty(longest), empty_space(n_classes)
    fill_touched_ranks(freeze(rows), instances, factors, values, space, ranked, degree or MOST_EDGES)
    return ranked


@kernel(void(FROZEN_ROWS, INSTANCES, reads(float64), writes(float64), SPACE, writes(int32, 2), int64), **LEAN)
def fill_touched_ranks(
    rows: Rows, instances: Instances, factors: Array, values: Array, space: Space, ranked: Array, degree: int
) -> None:
    """Rank the touched classes for each instance; `values` has room for the longest."""
    for i in range(ranked.shape[0]):
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        features = instances.indices[lo:hi]
        for j in range(features.size):
            factor = factors[np.uint32(features[j])] if factors.size else 1.0
            values[j] = factor * instances.data[lo + j]
        touched = space.touched[: touch(rows, features, values, degree, space)]
        ranked[i, choose(space.scores, touched, 0.0, ranked[i]) :] = -1
        clear_scores(space.scores, touched)
