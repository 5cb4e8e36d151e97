"""Counts of terms by row: a term that occurs several times in a row becomes one entry."""

from __future__ import annotations

from numba import float32, int32, int64

from harness.sdk import LEAN, Array, kernel, reads, writes


@kernel(
    int64(
        reads(int32), reads(int64), int64, writes(int64), writes(int64), writes(int32), writes(float32), writes(int64)
    ),
    **LEAN,
)
def count_rows(
    terms: Array, bounds: Array, number: int, met: Array, place: Array, indices: Array, counts: Array, ends: Array
) -> int:
    """Write the entries of each row, in the order of first occurrence; -1 is no term. Returns the number of entries.

    By term, `met` is the last row that has it, with rows counted from `number` on, and `place` is its entry there.
    """
    n = 0
    for row in range(bounds.size - 1):
        for span in range(bounds[row], bounds[row + 1]):
            term = terms[span]
            if term < 0:
                continue
            if met[term] == number + row:
                counts[place[term]] += 1
            else:
                met[term], place[term] = number + row, n
                indices[n], counts[n] = term, 1
                n += 1
        ends[row + 1] = n
    return n
