"""Ranking where classes are many, and some features know most of them: bounds spare the reading of most edges."""

from __future__ import annotations

import numpy as np
from numba import float64, int32, void
from numpy.typing import NDArray

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.bounds import (
    SEARCH,
    Search,
    fill_best,
    keep_close,
    pick_frequent,
    score_exactly,
    search_best,
    slack_of,
    space_for,
)
from harness.sdk.kernels.compiling import LEAN, helper, kernel, reads, writes
from harness.sdk.kernels.frequent import FROZEN_FREQUENT, Frequent, freeze_frequent, known_to_most, part
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import FROZEN_ROWS, Rows, freeze
from harness.sdk.kernels.scoring import score, squared_norm
from harness.sdk.kernels.signatures import INSTANCES
from harness.sdk.kernels.topk import fill_top_k


KNOWN_SHARE = 0.3
"""A feature that knows so many of the classes is worth a place in the matrix (measured)."""
KNOWN_SHARE_OF_MANY = 0.5
"""The same where more than the best class is asked for: bounds leave more classes in doubt."""
LEAST_READS = 4
"""How often the matrix would have to be read, all of it, to be worth making."""


def worth_a_matrix(rows: Rows, instances: Instances, n_classes: int, k: int) -> NDArray[np.int64]:
    """The features that are best in the matrix while these instances are ranked; none where it does not pay."""
    share = KNOWN_SHARE if k == 1 else KNOWN_SHARE_OF_MANY
    features = known_to_most(rows.length, share, n_classes)
    if features.size:
        met = np.bincount(instances.indices, minlength=rows.start.size)[features]
        if met.sum() < LEAST_READS * features.size:
            return features[:0]
    return features


def rank_bounded(
    rows: Rows, features: NDArray[np.int64], instances: Instances, base: Array, k: int
) -> NDArray[np.int32]:
    """The k best classes of each instance, best first, by sum_f x_f W[f, c] + base_c; -1 pads.

    These features, of which those that know the most classes should come first, are put into a matrix for it.
    """
    ranked = np.empty((instances.n_instances, k), np.int32)
    heaviest = float(np.abs(rows.weights).max(initial=0.0))
    most_base = float(np.abs(base[np.isfinite(base)]).max(initial=0.0))
    left, frequent = part(rows, features, base.size)
    search = space_for(instances, base.size, k)
    parted = freeze(left), freeze_frequent(frequent)
    fill_bounded_ranks(*parted, instances, base, search, heaviest, most_base, ranked)
    return ranked


@helper()
def is_close(search: Search, slack: float) -> bool:
    """Whether two of the k best, or the last of them and the next, are so close that rounding may decide."""
    close = False
    for place in range(search.best.size - 1):
        if search.best[place + 1] >= 0:
            ahead, behind = np.uint32(search.best[place]), np.uint32(search.best[place + 1])
            close |= search.scores[ahead] - search.scores[behind] <= 2 * slack
    return close


@kernel(
    void(FROZEN_ROWS, FROZEN_FREQUENT, INSTANCES, reads(float64), SEARCH, float64, float64, writes(int32, 2)),
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
    k = ranked.shape[1]
    for i in range(ranked.shape[0]):
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        features, values = instances.indices[lo:hi], instances.data[lo:hi]
        search.best[:] = -1
        if squared_norm(instances, i) > 0:
            score(rows, instances, i, base, search.scores)
            if pick_frequent(frequent, features, values, search) == 0:
                fill_top_k(search.scores, search.best[:k])
            else:
                slack = slack_of(values, heaviest, most_base)
                n = search_best(frequent, search, slack)
                if is_close(search, slack):
                    last = search.best[min(n, k) - 1]
                    n = keep_close(search, n, search.scores[np.uint32(last)] - 2 * slack)
                    score_exactly(rows, frequent, features, values, base, search, n)
                    fill_best(search, n, search.best)
        for place in range(k):
            ranked[i, place] = search.best[place]
