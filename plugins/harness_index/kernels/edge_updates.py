"""Updates of the edges of a feature: an edge gains weight, light edges are dropped, the order is restored."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.sdk.kernels.compile import helper
from harness.sdk.kernels.instances import Array
from harness.sdk.kernels.rows import Rows, append

SMALLEST = 5e-324
"""The least number above 0, as a threshold that drops only weights of 0."""


@helper()
def gain(rows: Rows, f: Any, c: Any, amount: float, least: float) -> None:
    """W[f, c] += amount; a new edge of at least the least weight is appended."""
    start, place = rows.start[f], np.uint32(0)
    for e in range(rows.length[f]):  # a class has at most one edge, so a sum finds it: no branch, in vector registers
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
    """Drop the edges below `least`; if `ordered`, sort the others by weight and keep only the first `most`.

    The order is needed only if fewer edges are scored than there are classes.
    """
    drop_below(rows, f, least)
    if ordered:
        restore_order(rows.classes, rows.weights, rows.start[f], rows.length[f])
        cut_tail(rows, f, most)


@helper()
def cut_tail(rows: Rows, f: Any, most: int) -> None:
    """Drop the edges beyond the first `most` of a sorted row; their weight is lost."""
    rows.length[f] = min(rows.length[f], np.uint32(most))


@helper()
def drop_below(rows: Rows, f: Any, least: float) -> None:
    """Drop the edges with a smaller weight; the others keep their order."""
    start, length = rows.start[f], rows.length[f]
    light = np.uint32(0)
    for e in range(start, start + length):
        light += np.uint32(rows.weights[e] < least)
    if light > 0:
        close_gaps(rows, f, least)


@helper()
def close_gaps(rows: Rows, f: Any, least: float) -> None:
    """Do the same for a row that is known to have such edges."""
    start, length = rows.start[f], rows.length[f]
    end = start
    for e in range(start, start + length):
        weight = rows.weights[e]
        rows.classes[end], rows.weights[end] = rows.classes[e], weight
        end += np.uint32(not weight < least)
    rows.length[f] = end - start


@helper()
def restore_order(classes: Array, weights: Array, start: Any, length: Any) -> None:
    """Sort a row by insertion, heaviest edge first, keeping the order of ties. A row changes little between updates."""
    for e in range(start + np.uint32(1), start + length):
        c, weight = classes[e], weights[e]
        place: Any = e
        while place > start and weights[place - np.uint32(1)] < weight:
            classes[place], weights[place] = classes[place - np.uint32(1)], weights[place - np.uint32(1)]
            place -= np.uint32(1)
        classes[place], weights[place] = c, weight
