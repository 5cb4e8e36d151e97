"""Updates of the edges of a feature: an edge gains weight, light edges are dropped, the order is restored."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.sdk.kernels.compile import helper
from harness.sdk.kernels.instances import Array
from harness.sdk.kernels.rows import Rows, append

SMALLEST = 5e-324
"""The least number above 0: what weighs less weighs nothing."""


@helper()
def gain(rows: Rows, f: Any, c: Any, amount: float, least: float) -> None:
    """W[f, c] += amount; an edge appears behind the others when it is new and has the least weight."""
    start, place = rows.start[f], np.uint32(0)
    for e in range(rows.length[f]):  # a class is there at most once, so a sum finds it: no branch, in vector registers
        place += np.uint32(e + 1) * np.uint32(rows.classes[start + e] == c)
    if place > 0:
        rows.weights[start + (place - np.uint32(1))] += amount
    elif amount >= least:
        append(rows, f, c, amount)


@helper()
def weaken(rows: Rows, f: Any, factor: float) -> None:
    """W[f, c] *= factor for every edge."""
    start = rows.start[f]
    for e in range(start, start + rows.length[f]):
        rows.weights[e] *= factor


@helper()
def settle(rows: Rows, f: Any, least: float, ordered: bool, most: int) -> None:
    """Drop the edges below `least`; where order is wanted, put the others in decreasing order of weight, and drop those
    behind the first `most`.

    Order is wanted where a limit of edges to be scored is below the number of classes: else it is never reached.
    """
    drop_below(rows, f, least)
    if ordered:
        restore_order(rows.classes, rows.weights, rows.start[f], rows.length[f])
        cut_tail(rows, f, most)


@helper()
def cut_tail(rows: Rows, f: Any, most: int) -> None:
    """Drop the edges behind the first `most` of a row in order; what they held is lost."""
    rows.length[f] = min(rows.length[f], np.uint32(most))


@helper()
def drop_below(rows: Rows, f: Any, least: float) -> None:
    """Take away the edges that weigh less; the others keep their order."""
    start, length = rows.start[f], rows.length[f]
    light = np.uint32(0)
    for e in range(start, start + length):
        light += np.uint32(rows.weights[e] < least)
    if light > 0:
        close_gaps(rows, f, least)


@helper()
def close_gaps(rows: Rows, f: Any, least: float) -> None:
    """The same where some are known to weigh less."""
    start, length = rows.start[f], rows.length[f]
    end = start
    for e in range(start, start + length):
        weight = rows.weights[e]
        rows.classes[end], rows.weights[end] = rows.classes[e], weight
        end += np.uint32(not weight < least)
    rows.length[f] = end - start


@helper()
def restore_order(classes: Array, weights: Array, start: Any, length: Any) -> None:
    """Sort a row by insertion, heaviest edge first; what ties keeps its order. A row changes little at a time."""
    for e in range(start + np.uint32(1), start + length):
        c, weight = classes[e], weights[e]
        place: Any = e
        while place > start and weights[place - np.uint32(1)] < weight:
            classes[place], weights[place] = classes[place - np.uint32(1)], weights[place - np.uint32(1)]
            place -= np.uint32(1)
        classes[place], weights[place] = c, weight
