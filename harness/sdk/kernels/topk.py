"""The best classes by score: the first one, or the k first, with the lowest class id ahead where scores tie."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import helper

BLOCK_CLASSES = 64


@helper(fastmath={"nnan", "nsz"})  # a maximum of numbers is the same in any order, so it may run in vector registers
def highest(scores: Array, lo: int, hi: int) -> float:
    """max s_c over lo <= c < hi"""
    best = -np.inf
    for c in range(np.uint64(lo), np.uint64(hi)):
        best = max(best, scores[c])
    return best


@helper()
def best_class(scores: Array) -> int:
    """argmax_c s_c, the lowest c on ties: block by block, then one by one in the block that has the maximum."""
    best, block = -np.inf, 0
    for lo in range(0, scores.size, BLOCK_CLASSES):
        top = highest(scores, lo, min(lo + BLOCK_CLASSES, scores.size))
        if top > best:
            best, block = top, lo
    for c in range(block, min(block + BLOCK_CLASSES, scores.size)):
        if scores[c] == best:
            return c
    return block


@helper()
def fill_top_k(scores: Array, ranked: Array) -> None:
    """Fill `ranked` with the best classes, best first; a class with the score -inf takes no part, -1 pads.

    By insertion: k is small, and most blocks of classes stop at the comparison of their maximum with the worst of the k
    best so far. A class that only ties has the higher id, since it comes later, and stays behind.
    """
    size, worst = 0, -np.inf
    for lo in range(0, scores.size, BLOCK_CLASSES):
        hi = min(lo + BLOCK_CLASSES, scores.size)
        if not highest(scores, lo, hi) > worst:
            continue
        for c in range(np.uint32(lo), np.uint32(hi)):
            if scores[c] > worst:
                size = insert(scores, c, ranked, size)
                worst = scores[np.uint32(ranked[size - 1])] if size == ranked.size else worst
    for place in range(size, ranked.size):
        ranked[place] = -1


@helper()
def insert(scores: Array, c: Any, ranked: Array, size: int) -> int:
    """Put a class behind those of the first `size` that score no less, the last one out if there is no room."""
    size = min(size + 1, ranked.size)
    place = size - 1
    while place > 0 and scores[c] > scores[np.uint32(ranked[place - 1])]:
        ranked[place] = ranked[place - 1]
        place -= 1
    ranked[place] = c
    return size
