"""Ranking with many classes, if some features have edges to most of them: bounds avoid reading most edges."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, void
from numpy.typing import NDArray

from harness.sdk.kernels.bounds import (
    FREQUENT,
    SEARCH,
    Frequent,
    Search,
    part,
    pick_frequent,
    search_best,
    settle,
    slack_of,
    space_for,
)
from harness.sdk.kernels.compile import INSTANCES, LEAN, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.rows import FROZEN_ROWS, Rows, freeze
from harness.sdk.kernels.score import score, squared_norm


def rank_bounded(
    rows: Rows, features: NDArray[np.int64], instances: Instances, base: Array, k: int
) -> NDArray[np.int32]:
    """Return the k best classes of each instance, by sum_f x_f W[f, c] + base_c.

    Parameters
    ----------
    rows : Rows
        The index, W.
    features : ndarray of int64
        Features to store in a matrix for this call: those with edges to most classes.
    instances : Instances
        Rows to rank.
    base : ndarray of float64, shape (n_classes,)
        Score of each class without any feature; -inf for classes that are never ranked.
    k : int
        Number of classes for each instance.

    Returns
    -------
    ndarray of int32, shape (n_instances, k)
        Classes, best first; -1 pads. The ranks are those of the whole index, to the last bit.
    """
    ranked = np.empty((instances.n_instances, k), np.int32)
    heaviest = float(np.abs(rows.weights).max(initial=0.0))
    most_base = float(np.abs(base[np.isfinite(base)]).max(initial=0.0))
    left, frequent = part(rows, features, base.size)
    search = space_for(instances, base.size, k)
    fill_bounded_ranks(freeze(left), frequent, instances, base, search, heaviest, most_base, ranked)
    return ranked


@kernel(
    void(FROZEN_ROWS, FREQUENT, INSTANCES, reads(float64), SEARCH, float64, float64, writes(int32, 2)),
    **LEAN,
)
def fill_bounded_ranks(
    rows: Rows,
    frequent: Frequent,
    instances: Instances,
    base: Array,
    search: Search,
    heaviest: float,
    most_base: float,
    ranked: Array,
) -> None:
    """Rank the classes for each instance; one without a feature has no ranking, only padding."""
    for i in range(ranked.shape[0]):
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        features, values = instances.indices[lo:hi], instances.data[lo:hi]
        has_features = squared_norm(instances, i) > 0
        if has_features:
            score(rows, instances, i, base, search.scores)
            n, reach = pick_frequent(frequent, features, values, search)
            slack = slack_of(values, heaviest, most_base)
            m = search_best(frequent, search, n, reach, slack)
            settle(rows, frequent, features, values, base, search, m, slack)
        for place in range(ranked.shape[1]):
            ranked[i, place] = search.best[place] if has_features else -1
