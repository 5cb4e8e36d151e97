"""Passive-aggressive training: change nothing if the margin holds, otherwise move just far enough."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64

from harness.sdk.kernels.compile import INSTANCES, LABELS, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, Labels
from harness.sdk.kernels.rows import ROWS, Rows, has_room, shift
from harness.sdk.kernels.score import best_class, score, squared_norm


class PAStep(NamedTuple):
    """Settings of the step length for a loss L: tau = min(cap, L / (scale ||x||^2 + ridge))."""

    margin: float
    scale: float
    ridge: float
    cap: float


PA_STEP = named(PAStep, float64, float64, float64, float64)


@helper()
def worst_class(scores: Array, truth: Array) -> Any:
    """Return the true class with the lowest score; the lowest id on ties."""
    worst = np.uint32(truth[0])
    for p in range(1, truth.size):
        c = np.uint32(truth[p])
        if scores[c] < scores[worst] or (scores[c] == scores[worst] and c < worst):
            worst = c
    return worst


@helper()
def worst_pair(scores: Array, truth: Array, margin: float) -> Any:
    """Return the true class with the lowest score, the best other class, and the loss; -inf if there is no other.

    The scores of the true classes become -inf.
    """
    y = worst_class(scores, truth)
    s_y = scores[y]
    for p in range(truth.size):
        scores[np.uint32(truth[p])] = -np.inf
    rival = np.uint32(best_class(scores))
    return y, rival, margin - s_y + scores[rival]


@kernel(int64(ROWS, INSTANCES, LABELS, reads(int64), writes(float64), writes(float64), PA_STEP), **LEAN)
def update_pa(
    rows: Rows, instances: Instances, labels: Labels, order: Array, base: Array, scores: Array, step: PAStep
) -> int:
    """Learn from each instance (x, y) in this order, with c' = argmax_{c != y, seen} s_c and L = margin - s_y + s_c'.

        W[:, y] += tau x,  W[:, c'] -= tau x,  tau = min(cap, L / (scale ||x||^2 + ridge))    if L > 0 and x != 0

    If an instance has several labels, y is the label with the lowest score, and c' the best class that is no label.
    `base` holds 0 for classes that have occurred and -inf for the others. It is changed, like the rows; `scores` is
    space.

    Returns
    -------
    int
        Number of instances done: all of them, or those before the first one without room in the arena.
    """
    for done in range(order.size):
        i = order[done]
        truth = labels.indices[labels.indptr[i] : labels.indptr[i + 1]]
        if truth.size == 0:
            continue
        for p in range(truth.size):
            base[np.uint32(truth[p])] = 0.0
        score(rows, instances, i, base, scores)
        y, rival, loss = worst_pair(scores, truth, step.margin)
        norm2 = squared_norm(instances, i)
        if not (loss > 0 and norm2 > 0):
            continue
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        if not has_room(rows, instances.indices[lo:hi], 2):
            return done
        tau = min(step.cap, loss / (step.scale * norm2 + step.ridge))
        for j in range(lo, hi):
            shift(rows, np.uint32(instances.indices[j]), y, rival, tau * instances.data[j])
    return order.size
