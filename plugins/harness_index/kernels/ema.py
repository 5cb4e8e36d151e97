"""EMA training: each weight is a moving average of how well its feature predicts its class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64

from harness.sdk.kernels.compile import INSTANCES, LABELS, LEAN, helper, kernel, named, reads
from harness.sdk.kernels.instances import Array, Instances, Labels
from harness.sdk.kernels.rows import ROWS, Rows, has_room
from harness.sdk.kernels.touched import SPACE, Space, best_rival, clear_scores, touch
from harness_index.kernels.edge_updates import gain, settle, weaken


class EMAStep(NamedTuple):
    """Settings of an update.

    `degree` edges of a row are scored, `stored` edges are kept, and edges below `least` are dropped.
    """

    margin: float
    rate: float
    least: float
    degree: int
    stored: int


EMA_STEP = named(EMAStep, float64, float64, float64, int64, int64)


@helper()
def lacks_margin(scores: Array, truth: Array, s_rival: float, margin: float) -> bool:
    """Return whether the lead of any true class is smaller than the margin."""
    lacks = False
    for p in range(truth.size):
        lacks |= scores[np.uint32(truth[p])] - s_rival < margin
    return lacks


@helper()
def boost(rows: Rows, features: Array, values: Array, c: Any, rate: float) -> None:
    """W[f, c] += rate x_f for each feature."""
    for j in range(features.size):
        gain(rows, np.uint32(features[j]), c, rate * np.float64(values[j]), 0.0)


@kernel(int64(ROWS, INSTANCES, LABELS, reads(int64), SPACE, EMA_STEP), **LEAN)
def update_ema(rows: Rows, instances: Instances, labels: Labels, order: Array, space: Space, step: EMAStep) -> int:
    """Learn from each instance (x, y) in this order whose margin s_y - max(0, s of the best rival) is too small.

    For each feature f of x:

        W[f, c] *= max(0, 1 - rate x_f^2) for all c,    W[f, y] += rate x_f

    If an instance has several labels, all edges are weakened, then each label that lacks the margin gains.

    Returns
    -------
    int
        Number of instances done: all of them, or those before the arena was full.
    """
    scores = space.scores
    for done in range(order.size):
        i = order[done]  # no helper may return these slices: a LEAN kernel would never release them
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        features, values = instances.indices[lo:hi], instances.data[lo:hi]
        truth = labels.indices[labels.indptr[i] : labels.indptr[i + 1]]
        touched = space.touched[: touch(rows, features, values, step.degree, space)]
        lacks = lacks_margin(scores, truth, best_rival(scores, touched, truth), step.margin)
        clear_scores(scores, touched)
        if not lacks:
            continue
        if not has_room(rows, features, truth.size):
            return done
        for j in range(features.size):
            x = np.float64(values[j])
            weaken(rows, np.uint32(features[j]), max(0.0, 1 - step.rate * x * x))
        if truth.size == 1:
            boost(rows, features, values, np.uint32(truth[0]), step.rate)
        else:
            touched = space.touched[: touch(rows, features, values, step.degree, space)]
            s_rival = best_rival(scores, touched, truth)
            for p in range(truth.size):
                if lacks_margin(scores, truth[p : p + 1], s_rival, step.margin):
                    boost(rows, features, values, np.uint32(truth[p]), step.rate)
            clear_scores(scores, touched)
        for j in range(features.size):
            settle(rows, np.uint32(features[j]), step.least, step.degree < scores.size, step.stored)
    return order.size
