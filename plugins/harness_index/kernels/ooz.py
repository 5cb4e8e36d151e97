"""OOZ training: weight moves from the strongest rivals to the true class, feature by feature, within a budget.

The free source of a feature is the weight that it has not given to a class yet. Weights are never below 0. The weights
of a feature and its free source together never exceed its budget.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int32, int64

from harness.sdk.kernels.compile import INSTANCES, LABELS, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, Labels
from harness.sdk.kernels.rows import ROWS, Rows, append, has_room
from harness.sdk.kernels.score import fetch_each, squared_norm
from harness.sdk.kernels.touched import SPACE, Space, best_rival, choose, clear_scores, contains, touch
from harness_index.kernels.edge_updates import close_gaps, cut_tail, gain, restore_order

SHARED, LEVEL, EXACT = 0, 1, 2
"""Rules for the distribution of a loss over rivals."""
ROUNDING_FACTOR = 1 + 1e-12
"""A sum that exceeds its bound by less than this factor is a rounding error."""


class OOZStep(NamedTuple):
    """Settings of an update.

    `degree` edges of a row are scored, `stored` edges are kept, and edges below `least` are dropped.
    """

    margin: float
    rate: float
    lower_rate: bool
    free_first: bool
    reading: int
    least: float
    degree: int
    stored: int
    extra: float
    """Content that a free source has in addition for each label of an instance beyond the first."""
    third_source: bool
    """True if other negative classes lose weight too, where rivals and the free source give too little."""
    transfers: bool
    """True if the gainers get the weight of edges that are dropped as too light."""


_NUMBERS = (float64, float64, boolean, boolean, int64, float64, int64, int64, float64, boolean, boolean)
OOZ_STEP = named(OOZStep, *_NUMBERS)


@helper()
def best_place(scores: Array, truth: Array) -> int:
    """Return the place of the true class with the highest score; the lowest id on ties."""
    best = 0
    for p in range(1, truth.size):
        c, ahead = np.uint32(truth[p]), np.uint32(truth[best])
        if scores[c] > scores[ahead] or (scores[c] == scores[ahead] and c < ahead):
            best = p
    return best


@helper()
def within_reach(free: float, extra: float) -> float:
    """Return the amount that a free source can give, with `extra` added for this instance.

    The sources of further labels are used when the earlier ones are empty, so one number holds the rest of all sources.
    A value below 0 is the amount taken from further sources, which instances with fewer labels cannot use.
    """
    return max(0.0, free + extra)


@helper()
def gained_from_free(free: Array, features: Array, values: Array, rate: float, extra: float) -> float:
    """Return the score that the true class gains from the free sources: sum_f x_f min(free_f, x_f b)."""
    total = 0.0
    for j in range(features.size):
        x = np.float64(values[j])
        total += x * min(within_reach(free[np.uint32(features[j])], extra), x * rate)
    return total


@helper()
def spread_losses(scores: Array, rivals: Array, budget: float, reading: int, losses: Array) -> None:
    """Split the budget into the losses of the rivals: the best one first, down to the score of the next, and so on.

    At each step the first i rivals share a height. With SHARED, the height is divided among them. With LEVEL, each
    loses the full height. With EXACT, the budget pays the height for each of them, so their scores end up equal.
    """
    spent = 0.0
    for i in range(rivals.size):
        height = budget - spent
        if height <= 0:
            break
        if i < rivals.size - 1:
            gap = scores[np.uint32(rivals[i])] - scores[np.uint32(rivals[i + 1])]
            height = min(height, gap * (i + 1) if reading == EXACT else gap)
        for r in range(i + 1):
            losses[np.uint32(rivals[r])] += height if reading == LEVEL else height / (i + 1)
        spent += height


@helper()
def shift_weight(
    rows: Rows, free: Array, f: Any, value: Any, rate: float, truth: Array, gainers: Array, losses: Array, step: OOZStep
) -> None:
    """Move up to x_f b to the gainers, from the rivals and the free source in the order of the variant.

    Other sources are rare. They are handled in `take_more`, since most of the time is spent here.
    """
    x = np.float64(value)
    wanted, given, share = x * rate, 0.0, 1.0
    at_hand = within_reach(free[f], step.extra * (truth.size - 1))
    if step.free_first:
        given = min(at_hand, wanted)
    if step.free_first or step.reading == LEVEL:  # in other cases rivals never lose more than is needed
        share = affordable(rows, f, x, losses, wanted - given)
    taken, place, light = take_from_rivals(rows, f, x, share, losses, np.uint32(gainers[0]), step.least)
    if not step.free_first:
        given = min(at_hand, max(0.0, wanted - taken))
    free[f] -= given
    if step.third_source or step.transfers:
        taken += take_more(rows, f, wanted - given - taken, truth, gainers, losses, step)
        light = rows.length[f]
    amount = (given + taken) / gainers.size
    if place > 0:
        rows.weights[rows.start[f] + (place - np.uint32(1))] += amount
    if taken > 0 and light > 0:
        close_gaps(rows, f, step.least)
    if amount > 0:
        if place == 0 and amount >= step.least:
            append(rows, f, np.uint32(gainers[0]), amount)
        for g in range(1, gainers.size):
            gain(rows, f, np.uint32(gainers[g]), amount, step.least)
        if step.degree < losses.size:
            restore_order(rows.classes, rows.weights, rows.start[f], rows.length[f])
            cut_tail(rows, f, step.stored)


@helper()
def affordable(rows: Rows, f: Any, x: float, losses: Array, most: float) -> float:
    """Return the largest share of the rivals' losses, sum_c min(W[f, c], x_f D_c), that is no more than `most`."""
    start, total = rows.start[f], 0.0
    for e in range(start, start + rows.length[f]):
        total += min(np.float64(rows.weights[e]), x * losses[rows.classes[e]])
    if most <= 0:
        return 0.0
    return 1.0 if total <= most * ROUNDING_FACTOR else most / total


@helper()
def take_from_rivals(rows: Rows, f: Any, x: float, share: float, losses: Array, gainer: Any, least: float) -> Any:
    """Subtract share min(W[f, c], x_f D_c) from W[f, c].

    Returns the sum of the losses, the place of the gainer's edge (counted from 1; 0 if missing), and the number of
    edges that are now lighter than `least`. One loop does all three: rows are short, and the end of a loop costs more
    than its edges.
    """
    start, total, place, light = rows.start[f], 0.0, np.uint32(0), np.uint32(0)
    for e in range(rows.length[f]):
        c, weight = rows.classes[start + e], np.float64(rows.weights[start + e])
        loss = min(weight, x * losses[c])
        total += loss
        rows.weights[start + e] = weight - share * loss
        light += np.uint32(rows.weights[start + e] < least)
        place += np.uint32(e + 1) * np.uint32(c == gainer)  # a class has at most one edge, so a sum finds it
    return share * total, place, light


@helper()
def take_more(rows: Rows, f: Any, missing: float, truth: Array, gainers: Array, losses: Array, step: OOZStep) -> float:
    """Return the weight that the gainers get from sources other than rivals and the free source."""
    taken = 0.0
    if step.third_source and missing > 0:
        taken += take_from_others(rows, f, missing, truth, losses)
    if step.transfers:
        taken += held_below(rows, f, step.least, gainers)
    return taken


@helper()
def take_from_others(rows: Rows, f: Any, wanted: float, truth: Array, losses: Array) -> float:
    """W[f, c] -= share W[f, c] for all classes that are neither true nor rivals that lose.

    All of them lose the same share, so they keep their proportions. Returns the sum of the losses, at most `wanted`.
    """
    start, total = rows.start[f], 0.0
    for e in range(start, start + rows.length[f]):
        if is_other(rows.classes[e], truth, losses):
            total += rows.weights[e]
    if total == 0:
        return 0.0
    share = min(1.0, wanted / total)
    for e in range(start, start + rows.length[f]):
        if is_other(rows.classes[e], truth, losses):
            rows.weights[e] -= share * rows.weights[e]
    return share * total


@helper()
def is_other(c: Any, truth: Array, losses: Array) -> bool:
    """Return whether a class is no true class and loses nothing."""
    return bool(losses[c] == 0) and not contains(truth, c)


@helper()
def held_below(rows: Rows, f: Any, least: float, gainers: Array) -> float:
    """Return the weight of the edges that will be dropped, except for edges of the gainers."""
    start, total = rows.start[f], 0.0
    for e in range(start, start + rows.length[f]):
        if rows.weights[e] < least and not contains(gainers, rows.classes[e]):
            total += rows.weights[e]
    return total


@kernel(
    int64(ROWS, writes(float64), INSTANCES, LABELS, reads(int64), SPACE, writes(float64), writes(int32), OOZ_STEP),
    **LEAN,
)
def update_ooz(
    rows: Rows,
    free: Array,
    instances: Instances,
    labels: Labels,
    order: Array,
    space: Space,
    losses: Array,
    chosen: Array,
    step: OOZStep,
) -> int:
    """Learn from each instance (x, y) in this order with z = margin - s_y + max(0, s of the best rival) > 0.

    The amount of score shifted to y is

        b = min(rate, z / (2 max(1, ||x||^2)))

    If an instance has several labels, the best one is compared and gains; if none has a score, all gain alike.
    `losses` holds 0 for each class, `chosen` has room for the rivals that may lose.

    Returns
    -------
    int
        Number of instances done: all of them, or those before the first one without room in the arena.
    """
    scores = space.scores
    for done in range(order.size):
        i = order[done]  # no helper may return these slices: a LEAN kernel would never release them
        lo, hi = instances.indptr[i], instances.indptr[i + 1]
        features, values = instances.indices[lo:hi], instances.data[lo:hi]
        truth = labels.indices[labels.indptr[i] : labels.indptr[i + 1]]
        touched = space.touched[: touch(rows, features, values, step.degree, space)]
        best = best_place(scores, truth)
        s_y = scores[np.uint32(truth[best])] if truth.size else np.inf
        s_rival = best_rival(scores, touched, truth)
        slack = step.margin - (s_y - s_rival)
        if slack > 0 and features.size > 0:
            fetch_each(free, features)
            gainers = truth[best : best + 1] if s_y > 0 else truth
            if not has_room(rows, features, gainers.size):
                clear_scores(scores, touched)
                return done
            rate = step.rate
            if step.lower_rate:
                rate = min(rate, slack / (2 * max(1.0, squared_norm(instances, i))))
            extra = step.extra * (truth.size - 1)
            given = gained_from_free(free, features, values, rate, extra) if step.free_first else 0.0
            for p in range(truth.size):
                scores[np.uint32(truth[p])] = 0.0
            budget = min(rate, slack) - given if step.free_first else rate
            floor = max(0.0, s_y + given - step.margin, s_rival - budget)
            rivals = chosen[: choose(scores, touched, floor, chosen) if budget > 0 else 0]
            spread_losses(scores, rivals, budget, step.reading, losses)
            clear_scores(scores, touched)
            for j in range(features.size):
                shift_weight(rows, free, np.uint32(features[j]), values[j], rate, truth, gainers, losses, step)
            for r in range(rivals.size):
                losses[np.uint32(rivals[r])] = 0.0
        else:
            clear_scores(scores, touched)
    return order.size
