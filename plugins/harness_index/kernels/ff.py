"""FF training: each feature counts its classes and votes for them by their shares of the count."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int64, uint32

from harness.sdk.kernels.compile import INSTANCES, LABELS, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, Labels
from harness.sdk.kernels.rows import ROWS, Rows, has_room
from harness.sdk.kernels.touched import SPACE, Space, best_rival, clear_scores, touch
from harness_index.kernels.edge_updates import SMALLEST, gain, settle


class FFStep(NamedTuple):
    """Settings of an update.

    `degree` edges of a row are scored, `stored` edges are kept, and edges below the share `least` are dropped.
    """

    margin: float
    least: float
    warm: int
    by_value: bool
    degree: int
    stored: int
    meets: bool
    """True if this pass counts the occurrences of features."""


FF_STEP = named(FFStep, float64, float64, int64, boolean, int64, int64, boolean)


@helper()
def vote(total: float, met: Any, warm: int) -> float:
    """Return the factor that turns a count into a vote: 1 / N, times met / warm while a feature is new (met < warm)."""
    if total == 0:
        return 0.0
    return min(1.0, met / warm) / total if warm else 1.0 / total


@helper()
def count_gainers(scores: Array, truth: Array, s_rival: float, margin: float) -> int:
    """Return the number of true classes whose lead is at most the margin."""
    n = 0
    for p in range(truth.size):
        n += scores[np.uint32(truth[p])] - s_rival <= margin
    return n


@kernel(
    int64(ROWS, writes(float64), writes(uint32), INSTANCES, LABELS, reads(int64), SPACE, writes(float64), FF_STEP),
    **LEAN,
)
def update_ff(
    rows: Rows,
    totals: Array,
    met: Array,
    instances: Instances,
    labels: Labels,
    order: Array,
    space: Space,
    votes: Array,
    step: FFStep,
) -> int:
    """Learn from each instance (x, y) in this order with s_y - max(0, s of the best rival) <= margin.

    The score uses w[f, c] = n[f, c] / N[f], reduced while f is new. For each feature f of x:

        n[f, y] += x_f, N[f] += x_f

    With `by_value` False, 1 is added instead of x_f. If an instance has several labels, each of them counts whose lead
    over the best false class is at most the margin. An instance without a label changes nothing and counts no
    occurrences. `votes` has room for the longest instance.

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
        if truth.size == 0:
            continue
        for j in range(features.size):
            f = np.uint32(features[j])
            votes[j] = vote(totals[f], met[f], step.warm) * values[j]
        touched = space.touched[: touch(rows, features, votes, step.degree, space)]
        s_rival = best_rival(scores, touched, truth)
        n_gainers = count_gainers(scores, truth, s_rival, step.margin)
        if n_gainers > 0 and not has_room(rows, features, n_gainers):
            clear_scores(scores, touched)
            return done
        for j in range(features.size):
            f = np.uint32(features[j])
            met[f] += step.meets
            if n_gainers == 0:
                continue
            amount = np.float64(values[j]) if step.by_value else 1.0
            for p in range(truth.size):
                y = np.uint32(truth[p])
                if scores[y] - s_rival <= step.margin:
                    gain(rows, f, y, amount, 0.0)
                    totals[f] += amount
            settle(rows, f, max(SMALLEST, step.least * totals[f]), step.degree < scores.size, step.stored)
        clear_scores(scores, touched)
    return order.size
