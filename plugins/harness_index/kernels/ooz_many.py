"""OOZ training with many classes: the same updates for less reading (see `ordered_rows`).

For instances with one label each, and for the rules of 2010 with losses that are shared or exact: rivals then never
lose more than the true class can take.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, int64, uint64
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.rows import NONE, ROWS, Rows, has_room
from harness.sdk.kernels.score import fetch_ahead, fetch_each, prefetch, squared_norm
from harness.sdk.kernels.touched import SPACE, Space, best_rival, choose, clear_scores
from harness_index.kernels.ooz import OOZ_STEP, OOZStep, shift_weight, spread_losses, within_reach
from harness_index.kernels.ordered_rows import (
    NO_EDGE,
    ORDERED_ROWS,
    OrderedRows,
    drop_light,
    lose,
    refill_head,
    weight_of,
    win,
)

AHEAD = 3
"""Prefetch distance in features."""


class Rivals(NamedTuple):
    """Space for the rivals of an instance, and for their edges in a row."""

    losses: NDArray[np.float64]
    """By class: 0 between instances."""
    chosen: NDArray[np.int32]
    classes: NDArray[np.int32]
    keys: NDArray[np.uint64]


RIVALS = named(Rivals, writes(float64), writes(int32), writes(int32), writes(uint64))


def room_for_rivals(n_classes: int, k: int) -> Rivals:
    """Return space for k rivals."""
    k = min(k, n_classes)
    return Rivals(np.zeros(n_classes), np.empty(k, np.int32), np.empty(k, np.int32), np.empty(k, np.uint64))


@helper()
def touch_many(rows: Rows, ordered: OrderedRows, features: Array, values: Array, degree: int, space: Space) -> Any:
    """s_c += sum_f x_f W[f, c] over the first `degree` edges of each row, in the order of the features.

    Returns the number of touched classes, listed in no particular order.
    """
    scores, touched = space
    n = np.uint32(0)
    for j in range(features.size):
        f, x = np.uint32(features[j]), np.float64(values[j])
        fetch_ahead(rows, features, j)
        s = ordered.places[f]
        if s != NONE:
            for p in range(min(ordered.head_sizes[s], np.uint32(degree))):
                c = ordered.head_classes[s, p]
                touched[n] = c
                n += np.uint32(scores[c] == 0)
                scores[c] += x * weight_of(ordered.head_keys[s, p])
            continue
        start = rows.start[f]
        for e in range(start, start + min(rows.length[f], np.uint32(degree))):
            c = rows.classes[e]
            touched[n] = c
            n += np.uint32(scores[c] == 0)
            scores[c] += x * rows.weights[e]
    return np.int64(n)


@helper()
def fetch_keys(ordered: OrderedRows, features: Array, j: Any, y: Any, rivals: Array) -> None:
    """While feature j is updated: prefetch the keys of these classes in the row of a later feature."""
    if j + AHEAD < features.size:
        s = ordered.places[np.uint32(features[j + AHEAD])]
        if s != NONE:
            start = np.uint64(s) * np.uint64(ordered.keys.shape[1])
            prefetch(ordered.keys, start + np.uint64(y))
            for r in range(rivals.size):
                prefetch(ordered.keys, start + np.uint64(rivals[r]))


@helper()
def list_losers(ordered: OrderedRows, s: Any, rivals: Array, space: Rivals) -> int:
    """List the edges of the rivals that lose, in the order of the row; return their number."""
    size = 0
    for r in range(rivals.size):
        c = rivals[r]
        key = ordered.keys[s, np.uint32(c)]
        if key == NO_EDGE or space.losses[np.uint32(c)] == 0:
            continue
        place = size
        while place > 0 and space.keys[place - 1] < key:
            space.keys[place], space.classes[place] = space.keys[place - 1], space.classes[place - 1]
            place -= 1
        space.keys[place], space.classes[place] = key, c
        size += 1
    return size


@helper()
def shift_ordered(
    ordered: OrderedRows,
    free: Array,
    f: Any,
    value: Any,
    rate: float,
    y: Any,
    rivals: Array,
    space: Rivals,
    step: OOZStep,
) -> None:
    """Move up to x_f b to class y like `shift_weight`, in an ordered row.

    Losses are added in the order of the row, so equal input gives equal bits. They are subtracted from the last edge
    to the first, which keeps the order of edges that end up equal.
    """
    s, x = ordered.places[f], np.float64(value)
    n, taken = list_losers(ordered, s, rivals, space), 0.0
    for p in range(n):
        taken += min(weight_of(space.keys[p]), x * space.losses[np.uint32(space.classes[p])])
    for p in range(n - 1, -1, -1):
        c = np.uint32(space.classes[p])
        lose(ordered, s, c, min(weight_of(space.keys[p]), x * space.losses[c]), step.least)
    given = min(within_reach(free[f], 0.0), max(0.0, x * rate - taken))
    free[f] -= given
    amount, is_new = given + taken, ordered.keys[s, y] == NO_EDGE
    if not is_new:
        win(ordered, s, y, amount, step.least)
    if taken > 0 and ordered.light[s] > 0:
        drop_light(ordered, s, step.least)
    if is_new and amount >= step.least:
        win(ordered, s, y, amount, step.least)
    refill_head(ordered, s, step.degree)


@kernel(
    int64(ROWS, ORDERED_ROWS, writes(float64), INSTANCES, reads(int32), reads(int64), SPACE, RIVALS, OOZ_STEP), **LEAN
)
def update_ooz_many(
    rows: Rows,
    ordered: OrderedRows,
    free: Array,
    instances: Instances,
    labels: Array,
    order: Array,
    space: Space,
    room: Rivals,
    step: OOZStep,
) -> int:
    """Learn exactly like `update_ooz`. Each instance has one label."""
    scores, losses = space.scores, room.losses
    for done in range(order.size):
        i = order[done]
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        features, values = instances.indices[lo:hi], instances.data[lo:hi]
        truth = labels[i : i + 1]
        y = np.uint32(labels[i])
        touched = space.touched[: touch_many(rows, ordered, features, values, step.degree, space)]
        s_y = scores[y]
        s_rival = best_rival(scores, touched, truth)
        slack = step.margin - (s_y - s_rival)
        if not (slack > 0 and features.size > 0):
            clear_scores(scores, touched)
            continue
        fetch_each(free, features)
        if not has_room(rows, features, 1):
            clear_scores(scores, touched)
            return done
        rate = step.rate
        if step.lower_rate:
            rate = min(rate, slack / (2 * max(1.0, squared_norm(instances, i))))
        scores[y] = 0.0
        floor = max(0.0, s_y - step.margin, s_rival - rate)
        rivals = room.chosen[: choose(scores, touched, floor, room.chosen) if rate > 0 else 0]
        spread_losses(scores, rivals, rate, step.reading, losses)
        clear_scores(scores, touched)
        for j in range(features.size):
            f = np.uint32(features[j])
            fetch_keys(ordered, features, j, y, rivals)
            if ordered.places[f] != NONE:
                shift_ordered(ordered, free, f, values[j], rate, y, rivals, room, step)
            else:
                shift_weight(rows, free, f, values[j], rate, truth, truth, losses, step)
        for r in range(rivals.size):
            losses[np.uint32(rivals[r])] = 0.0
    return order.size
