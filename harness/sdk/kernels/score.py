"""Scores of one instance for all classes in a dense array, the k best classes, and prefetching.

On ties the lowest class id wins. Prefetching: rows are scattered over the arena, and the first edges of each are a
cache miss. The processor prefetches within long rows by itself, but most rows are short.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from harness.sdk.kernels.compile import helper
from harness.sdk.kernels.instances import Array, Instances
from harness.sdk.kernels.rows import Rows

AHEAD = 8
"""Prefetch distance in features: for the first edges of a row; twice as many for their positions (measured)."""
LINE_EDGES = 16
"""Edges whose classes, or weights, fill a cache line of 64 bytes."""
MOST_LINES = 4
"""Edges after which the processor prefetches by itself."""


@intrinsic  # type: ignore[untyped-decorator]  # numba ships no types
def prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Prefetch the cache line of array[place]; any position is allowed."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], place, types.uintp)
        address = builder.bitcast(builder.gep(view.data, [index]), cgutils.voidptr_t)
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [address, flag(0), flag(3), flag(1)])  # to read, keep in all levels, data
        return context.get_dummy_value()

    return types.void(array, place), generate


@helper()
def fetch_ahead(rows: Rows, features: Array, j: Any) -> None:
    """While row features[j] is read: prefetch the rows of the next features."""
    if j + 2 * AHEAD < features.size:
        f = np.uint32(features[j + 2 * AHEAD])
        prefetch(rows.start, f)
        prefetch(rows.length, f)
    if j + AHEAD < features.size:
        f = np.uint32(features[j + AHEAD])
        start, length = rows.start[f], min(rows.length[f], np.uint32(MOST_LINES * LINE_EDGES))
        for e in range(start, start + length, LINE_EDGES):
            prefetch(rows.classes, e)
            prefetch(rows.weights, e)


@helper()
def fetch_each(array: Array, features: Array) -> None:
    """Prefetch the values of an array for each of these features: parallel cache misses instead of sequential ones."""
    for j in range(features.size):
        prefetch(array, np.uint32(features[j]))


@helper()
def fetch_instance(instances: Instances, order: Array, done: Any) -> None:
    """While instance order[done] is processed: prefetch the next one, and the position of the one after."""
    if done + 2 >= order.size:
        return
    prefetch(instances.indptr, order[done + 2])
    i = order[done + 1]
    for j in range(np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1]), np.uint64(LINE_EDGES)):
        prefetch(instances.indices, j)
        prefetch(instances.data, j)


@helper()
def fetch_row(rows: Rows, order: Array, done: Any) -> None:
    """While row order[done] is processed: prefetch the next one, and the position of the one after."""
    if done + 2 >= order.size:
        return
    prefetch(rows.start, order[done + 2])
    prefetch(rows.length, order[done + 2])
    start = rows.start[order[done + 1]]
    prefetch(rows.classes, start)
    prefetch(rows.weights, start)


@helper()
def score(rows: Rows, instances: Instances, i: int, base: Array, scores: Array) -> None:
    """s_c = base_c + sum_f x_f W[f, c]; the base is 0 for classes that are ranked and -inf for the others.

    Unsigned positions need no test for negative ones, and a dense array needs no list of touched classes: two loads, a
    product and a sum per edge. Terms are added in the order of the features: equal input gives equal bits.
    """
    for c in range(np.uint64(scores.size)):  # a slice would add reference counts
        scores[c] = base[c]
    for j in range(instances.indptr[i], instances.indptr[i + 1]):
        f = np.uint32(instances.indices[j])
        x = np.float64(instances.data[j])
        fetch_ahead(rows, instances.indices, j)
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            scores[rows.classes[e]] += x * rows.weights[e]


@helper()
def squared_norm(instances: Instances, i: int) -> float:
    """Return ||x||^2."""
    total = 0.0
    for j in range(instances.indptr[i], instances.indptr[i + 1]):
        x = np.float64(instances.data[j])
        total += x * x
    return total


BLOCK_CLASSES = 64


@helper(fastmath={"nnan", "nsz"})  # the maximum does not depend on the order, so vector registers can be used
def highest(scores: Array, lo: int, hi: int) -> float:
    """Return the maximum of s_c over lo <= c < hi."""
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
    """Fill `ranked` with the best classes, best first; classes with the score -inf are not ranked, -1 pads.

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
    """Insert a class after those of the first `size` that score no less; drop the last one if there is no room."""
    size = min(size + 1, ranked.size)
    place = size - 1
    while place > 0 and scores[c] > scores[np.uint32(ranked[place - 1])]:
        ranked[place] = ranked[place - 1]
        place -= 1
    ranked[place] = c
    return size
