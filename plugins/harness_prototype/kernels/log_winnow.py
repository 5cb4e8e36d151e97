"""Winnow whose weights are no whole powers of one rate: two rates, updates by value, balanced pairs of weights.

The index holds ln w, so a missing edge means the weight 1, and no weight ever comes to 0. If weights are balanced,
class c has two of them for a feature, w+ in column 2 c and w- in column 2 c + 1, and scores (w+ - w-) x.
"""

from __future__ import annotations

from math import expm1
from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int32, int64, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LABELS, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, Labels
from harness.sdk.kernels.moves import MOVES, Moves, forget, move_row, plan_move
from harness.sdk.kernels.rows import FROZEN_ROWS, ROWS, Rows, freeze, has_room
from harness.sdk.kernels.score import fill_top_k, squared_norm

LARGEST_LOG = 300.0
"""A weight beyond e^300 scores as that: sums stay finite, so those of a balanced pair can be compared."""


class WinnowStep(NamedTuple):
    """Settings of an update."""

    threshold: float
    up: float
    """The logarithm of what a promotion multiplies by."""
    down: float
    """The logarithm of what a demotion divides by."""
    by_value: bool
    """True if the logarithms count x_f times."""
    balanced: bool


WINNOW_STEP = named(WinnowStep, float64, float64, float64, boolean, boolean)


@helper()
def score_logs(rows: Rows, instances: Instances, i: int, base: Array, balanced: bool, scores: Array) -> float:
    """s_c = base_c + sum_f x_f (W[f, c] - 1), or W+ - W- of a balanced pair; returns by how much w.x is more."""
    scores[:] = base
    total = 0.0
    for j in range(instances.indptr[i], instances.indptr[i + 1]):
        f = np.uint32(instances.indices[j])
        x = np.float64(instances.data[j])
        total += x
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            column, part = rows.classes[e], x * expm1(min(np.float64(rows.weights[e]), LARGEST_LOG))
            if not balanced:
                scores[column] += part
            elif column % 2 == 0:
                scores[column // 2] += part
            else:
                scores[column // 2] -= part
    return 0.0 if balanced else total


@helper()
def plan_change(moves: Moves, n: int, c: Any, gain: float, loss: float, balanced: bool) -> int:
    """Let the weight of class c change by the gain; of a balanced pair the other one by the loss."""
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
    """For each instance in this order and each class c seen so far, for the features f of x:

        ln W[f, c] += up      if c is true, and w_c x <  threshold    (promotion)
        ln W[f, c] -= down    if it is not, and w_c x >= threshold    (demotion)

    or x_f times as much, by value. Of a balanced pair a promotion promotes W+ and demotes W-, a demotion the reverse.
    `base` holds 0 for the classes seen so far and -inf for the others; it and the rows are changed, `scores` is space.
    Returns the number of instances done: all of them, or those before the first that the arena has no room for.
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
        start, end = instances.indptr[i], instances.indptr[i + 1]
        if n > 0 and not has_room(rows, instances.indices[start:end], n):
            forget(moves, n)
            return done
        if n > 0:
            for j in range(start, end):
                times = np.float64(instances.data[j]) if step.by_value else 1.0
                move_row(rows, np.uint32(instances.indices[j]), times, moves, n)
        forget(moves, n)
    return order.size


def rank_logs(rows: Rows, instances: Instances, base: Array, balanced: bool, k: int) -> NDArray[np.int32]:
    """The k best classes of each instance, best first, by w.x + base_c; -1 pads."""
    ranked = np.empty((instances.n_instances, k), np.int32)
    fill_log_ranks(freeze(rows), instances, base, balanced, np.empty_like(base), ranked)
    return ranked


@kernel(void(FROZEN_ROWS, INSTANCES, reads(float64), boolean, writes(float64), writes(int32, 2)))
def fill_log_ranks(rows: Rows, instances: Instances, base: Array, balanced: bool, scores: Array, ranked: Array) -> None:
    """Rank the classes for each instance; one without a feature has no ranking, only padding."""
    for i in range(ranked.shape[0]):
        if squared_norm(instances, i) > 0:
            score_logs(rows, instances, i, base, balanced, scores)
            fill_top_k(scores, ranked[i])
        else:
            ranked[i] = -1
