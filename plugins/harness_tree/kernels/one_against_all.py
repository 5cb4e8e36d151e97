"""Online one-against-all: a linear regressor for each class, all of them updated by each instance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32, float64, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, reads, writes
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness.sdk.kernels.score import fetch_instance, fill_top_k, squared_norm
from harness_tree.kernels.regressor import REGRESSOR_STEP, RegressorStep, limit, loss_slope

FEW = 8
"""If fewer than one class in this many moves, they are moved one by one instead of in one sweep."""


@helper()
def score_all(W: Array, instances: Instances, i: int, base: Array, scores: Array, first: Any) -> None:
    """s_k = base_k + W[0, k] + sum_f x_f W[f + 1, k], feature by feature, so each row of W is read in order.

    The classes scored are those from `first` on, as many as there are scores.
    """
    for k in range(np.uint64(scores.size)):
        scores[k] = base[k] + np.float64(W[0, first + k])
    for p in range(np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1])):
        f, x = np.uint64(instances.indices[p]) + np.uint64(1), np.float64(instances.data[p])
        for k in range(np.uint64(scores.size)):
            scores[k] += x * np.float64(W[f, first + k])


@helper()
def add_pulls(W: Array, f: Any, x: float, pulls: Array, moved: Array, n_moved: int, first: Any) -> None:
    """Add x pull_k to W[f, k]."""
    if n_moved * FEW < pulls.size:
        for a in range(np.uint64(n_moved)):
            one = np.uint64(moved[a])
            W[f, first + one] += np.float32(x * pulls[one])
    else:
        for k in range(np.uint64(pulls.size)):
            W[f, first + k] += np.float32(x * pulls[k])


@kernel(
    void(
        writes(float32, 2),
        INSTANCES,
        reads(int32),
        reads(int64),
        REGRESSOR_STEP,
        reads(float64),
        writes(float64),
        writes(int32),
        int64,
    ),
    **LEAN,
)
def update_oaa(
    W: Array,
    instances: Instances,
    labels: Array,
    order: Array,
    step: RegressorStep,
    zeros: Array,
    scores: Array,
    moved: Array,
    first_class: int,
) -> None:
    """Take a plain step of every class on every instance, towards c_k = 1 for its own class and -1 for all others.

        W[f, k] += eta_eff g_k x_f,   eta_eff = min(eta, |c_k - s_k| / (A |g_k|)),   A = ||x||^2 + 1

    `zeros` is 0 for each class, `scores` and `moved` are space. If they have fewer classes than W, only the classes
    from `first_class` on learn. Classes are independent of each other.
    """
    first = np.uint64(first_class)
    for done in range(order.size):
        fetch_instance(instances, order, done)
        i = order[done]
        score_all(W, instances, i, zeros, scores, first)
        A, n_moved = squared_norm(instances, i) + 1.0, 0
        for k in range(scores.size):
            c = 1.0 if first_class + k == labels[i] else -1.0
            g = loss_slope(step.loss, scores[k], c)
            scores[k] = limit(step, scores[k], c, g, A) * g if g != 0.0 else 0.0
            if scores[k] != 0.0:
                moved[n_moved] = k
                n_moved += 1
        add_pulls(W, np.uint64(0), 1.0, scores, moved, n_moved, first)
        for p in range(np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1])):
            f = np.uint64(instances.indices[p]) + np.uint64(1)
            add_pulls(W, f, np.float64(instances.data[p]), scores, moved, n_moved, first)


def train_columns(
    W: NDArray[np.float32],
    columns: slice,
    instances: Instances,
    labels: NDArray[np.int32],
    order: NDArray[np.int64],
    step: RegressorStep,
) -> None:
    """Learn from the instances in this order with some classes."""
    n = columns.stop - columns.start
    zeros, scores, moved = np.zeros(n), np.empty(n), np.empty(n, np.int32)
    update_oaa(W, instances, labels, order, step, zeros, scores, moved, columns.start)


def rank_oaa(W: NDArray[np.float32], instances: Instances, base: Array, k: int) -> NDArray[np.int32]:
    """Return the k best classes of each instance, best first, ties by class.

    Classes with the base -inf are excluded.
    """
    ranked = np.empty((instances.n_instances, k), np.int32)
    fill_oaa_ranks(frozen(W), instances, base, np.empty_like(base), ranked)
    return ranked


@kernel(void(reads(float32, 2), INSTANCES, reads(float64), writes(float64), writes(int32, 2)), **LEAN)
def fill_oaa_ranks(W: Array, instances: Instances, base: Array, scores: Array, ranked: Array) -> None:
    """Rank the classes for each instance."""
    for i in range(ranked.shape[0]):
        score_all(W, instances, i, base, scores, np.uint64(0))
        fill_top_k(scores, ranked[i])
