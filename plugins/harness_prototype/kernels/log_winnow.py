"""Winnow with weights that are not integer powers of one rate: two rates, updates by value, balanced pairs of weights.

The index holds ln w, so a missing edge means the weight 1, and no weight ever becomes 0. If weights are balanced, class
c has two weights for a feature, w+ in column 2 c and w- in column 2 c + 1, and scores (w+ - w-) x.
"""

from __future__ import annotations

from math import expm1
from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LABELS, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, Labels
from harness.sdk.kernels.moves import MOVES, Moves, forget, move_all, plan_move
from harness.sdk.kernels.rows import FROZEN_ROWS, ROWS, Rows, freeze
from harness_prototype.kernels.winnow import rank_scored, sum_values

LARGEST_LOG = 300.0
"""Larger logarithms are clipped for scoring, so sums stay finite and balanced pairs can be compared."""


class WinnowStep(NamedTuple):
    """Settings of an update."""

    threshold: float
    up: float
    """Logarithm of the factor of a promotion."""
    down: float
    """Logarithm of the divisor of a demotion."""
    by_value: bool
    """True if the logarithms are multiplied by x_f."""
    balanced: bool


WINNOW_STEP = named(WinnowStep, float64, float64, float64, boolean, boolean)


@helper()
def score_logs(rows: Rows, instances: Instances, i: int, base: Array, balanced: bool, scores: Array) -> float:
    """s_c = base_c + sum_f x_f (W[f, c] - 1), or with W+ - W- if balanced; returns the difference of w.x to s_c."""
    scores[:] = base
    for j in range(instances.indptr[i], instances.indptr[i + 1]):
        f = np.uint32(instances.indices[j])
        x = np.float64(instances.data[j])
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            column, part = rows.classes[e], x * expm1(min(np.float64(rows.weights[e]), LARGEST_LOG))
            if not balanced:
                scores[column] += part
            elif column % 2 == 0:
                scores[column // 2] += part
            else:
                scores[column // 2] -= part
    return 0.0 if balanced else sum_values(instances, i)


@helper()
def plan_change(moves: Moves, n: int, c: Any, gain: float, loss: float, balanced: bool) -> int:
    """Plan to change the weight of class c by `gain`; if balanced, also its second weight by `loss`."""
    if not balanced:
        return plan_move(moves, n, c, gain)
    n = plan_move(moves, n, np.uint32(2 * c), gain)
    return plan_move(moves, n, np.uint32(2 * c + 1), loss)


@kernel(int64(ROWS, INSTANCES, LABELS, reads(int64), writes(float64), writes(float64), MOVES, WINNOW_STEP))
def update_real_winnow(
    rows: Rows,
    instances: Instances,
    labels: Labels,
    order: Array,
    base: Array,
    scores: Array,
    moves: Moves,
    step: WinnowStep,
) -> int:
    """Learn from each instance in this order, for each class c that has occurred and each feature f of x.

        ln W[f, c] += up      if c is true and w_c x <  threshold     (promotion)
        ln W[f, c] -= down    if c is false and w_c x >= threshold    (demotion)

    By value, the change is multiplied by x_f. With balanced pairs, a promotion promotes W+ and demotes W-, and a
    demotion does the reverse. `base` holds 0 for classes that have occurred and -inf for the others. It is changed,
    like the rows; `scores` is space.

    Returns
    -------
    int
        Number of instances done: all of them, or those before the first one without room in the arena.
    """
    for done in range(order.size):
        i = order[done]
        lo, hi = labels.indptr[i], labels.indptr[i + 1]
        for p in range(lo, hi):
            base[np.uint32(labels.indices[p])] = 0.0
        least = step.threshold - score_logs(rows, instances, i, base, step.balanced, scores)
        n = 0
        for p in range(lo, hi):
            y = np.uint32(labels.indices[p])
            if scores[y] < least:
                n = plan_change(moves, n, y, step.up, -step.down, step.balanced)
            scores[y] = -np.inf
        for c in range(np.uint32(scores.size)):
            if scores[c] >= least:
                n = plan_change(moves, n, c, -step.down, step.up, step.balanced)
        if not move_all(rows, instances, i, moves, n, step.by_value):
            forget(moves, n)
            return done
        forget(moves, n)
    return order.size


def rank_logs(rows: Rows, instances: Instances, base: Array, balanced: bool, k: int) -> NDArray[np.int32]:
    """Return the k best classes of each instance, best first, by w.x + base_c; -1 pads."""
    ranked = np.empty((instances.n_instances, k), np.int32)
    fill_log_ranks(freeze(rows), instances, base, balanced, np.empty_like(base), ranked)
    return ranked


@kernel(void(FROZEN_ROWS, INSTANCES, reads(float64), boolean, writes(float64), writes(int32, 2)))
def fill_log_ranks(rows: Rows, instances: Instances, base: Array, balanced: bool, scores: Array, ranked: Array) -> None:
    """Rank the classes for each instance."""
    for i in range(ranked.shape[0]):
        score_logs(rows, instances, i, base, balanced, scores)
        rank_scored(instances, i, scores, ranked[i])
