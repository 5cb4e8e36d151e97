"""N-grams of texts, as spans of a buffer of code points with a single space between words."""

from __future__ import annotations

from numba import int32, int64, uint32

from harness.sdk import LEAN, Array, helper, kernel, reads, writes

SPACE = 32
_SPANS = int64(reads(uint32), reads(int64), int64, int64, writes(int64), writes(int32), writes(int64))


@helper()
def end_of_word(buffer: Array, begin: int, stop: int) -> int:
    """Return the place of the space after a word, or `stop`."""
    end = begin
    while end < stop and buffer[end] != SPACE:
        end += 1
    return end


@kernel(_SPANS, **LEAN)
def find_chars(
    buffer: Array, bounds: Array, low: int, high: int, begins: Array, lengths: Array, row_bounds: Array
) -> int:
    """Find the n-grams of `low` to `high` code points inside words, including the spaces around words.

    Returns how many.

    Each row is " word word ". A word that is too short for a length counts once, as a single n-gram. `begins` and
    `lengths` have room for all.
    """
    n = 0
    for row in range(bounds.size - 1):
        first, stop = bounds[row], bounds[row + 1]
        while first + 1 < stop:
            last = end_of_word(buffer, first + 1, stop) + 1
            for length in range(low, high + 1):
                if length >= last - first:
                    begins[n], lengths[n] = first, last - first
                    n += 1
                    break
                for begin in range(first, last - length + 1):
                    begins[n], lengths[n] = begin, length
                    n += 1
            first = last - 1
        row_bounds[row + 1] = n
    return n


@kernel(_SPANS, **LEAN)
def find_words(
    buffer: Array, bounds: Array, low: int, high: int, begins: Array, lengths: Array, row_bounds: Array
) -> int:
    """Find the runs of `low` to `high` words; returns how many. Each row is "word word"."""
    n = 0
    for row in range(bounds.size - 1):
        begin, stop = bounds[row], bounds[row + 1]
        while begin < stop:
            end = end_of_word(buffer, begin, stop)
            following = end + 1
            for words in range(1, high + 1):
                if words >= low:
                    begins[n], lengths[n] = begin, end - begin
                    n += 1
                if end >= stop:
                    break
                end = end_of_word(buffer, end + 1, stop)
            begin = following
        row_bounds[row + 1] = n
    return n
