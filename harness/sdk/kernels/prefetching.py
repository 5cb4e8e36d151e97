"""Asking for memory before it is needed: rows lie all over the arena, and the first edges of each are a cache miss.

The processor fetches ahead within a row by itself, once it has seen where it goes; most rows end before that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import helper
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.rows import Rows

AHEAD = 8
"""How many features ahead the first edges of a row are asked for; where they are, twice as many (measured)."""
LINE_EDGES = 16
"""Edges whose classes, or weights, fill a line of 64 bytes."""
MOST_LINES = 4
"""Further into a row the processor knows the way."""


@intrinsic  # type: ignore[untyped-decorator]  # numba ships no types
def prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Ask for the line of memory with array[place], into all caches; any place is allowed, nothing is read."""

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
    """While row features[j] is read: ask for the rows of features that come soon."""
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
    """Ask for what an array holds for each of these features: all at once, instead of one miss after the other."""
    for j in range(features.size):
        prefetch(array, np.uint32(features[j]))


@helper()
def fetch_instance(instances: Instances, order: Array, done: Any) -> None:
    """While instance order[done] is seen to: ask for the next one, and for where the one after that is."""
    if done + 2 >= order.size:
        return
    prefetch(instances.indptr, order[done + 2])
    i = order[done + 1]
    for j in range(np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1]), np.uint64(LINE_EDGES)):
        prefetch(instances.indices, j)
        prefetch(instances.data, j)


@helper()
def fetch_row(rows: Rows, order: Array, done: Any) -> None:
    """While row order[done] is seen to: ask for the first edges of the next one, and for where the one after is."""
    if done + 2 >= order.size:
        return
    prefetch(rows.start, order[done + 2])
    prefetch(rows.length, order[done + 2])
    start = rows.start[order[done + 1]]
    prefetch(rows.classes, start)
    prefetch(rows.weights, start)
