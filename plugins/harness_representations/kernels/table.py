"""A table from terms, spans of code points, to numbers in the order of first occurrence. Spans are compared exactly.

It uses open addressing. A kernel that finds no room returns the span that it has reached; its caller enlarges the table
and continues.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int32, int64, uint32, uint64

from harness.sdk import LEAN, Array, helper, kernel, named, reads, writes


class Table(NamedTuple):
    """The terms, and the hash slots with their numbers; -1 in an empty slot."""

    slots: Array
    hashes: Array
    bounds: Array
    """Start of each term's code points in the arena, and the end of the last one."""
    arena: Array
    size: Array
    """Number of terms, in an array of one element, which kernels can change."""


class Spans(NamedTuple):
    """Pieces of a buffer of code points."""

    buffer: Array
    begins: Array
    lengths: Array


TABLE = named(Table, writes(int32), writes(uint64), writes(int64), writes(uint32), writes(int64))
SPANS = named(Spans, reads(uint32), reads(int64), reads(int32))


@helper(inline="always")
def hash_span(buffer: Array, begin: int, length: int) -> np.uint64:
    """Return a 64-bit hash of code points. Multiply and shift, so the low bits depend on all of them."""
    code = np.uint64(0x9E3779B97F4A7C15)
    for place in range(np.uint64(begin), np.uint64(begin + length)):
        code = (code ^ np.uint64(buffer[place])) * np.uint64(0xD6E8FEB86659FD93)
        code ^= code >> np.uint64(32)
    return code


@helper()
def is_term(table: Table, term: int, spans: Spans, span: int) -> bool:
    """Return whether a span holds the code points of a term."""
    first, length = table.bounds[term], spans.lengths[span]
    if table.bounds[term + 1] - first != length:
        return False
    begin = spans.begins[span]
    for step in range(length):  # noqa: SIM110 (numba compiles no generators)
        if table.arena[first + step] != spans.buffer[begin + step]:
            return False
    return True


@helper()
def find_slot(table: Table, spans: Spans, span: int, code: np.uint64) -> np.uint64:
    """Return the slot of a span's term, or the empty slot where it belongs."""
    mask = np.uint64(table.slots.size - 1)
    slot = code & mask
    while True:
        term = table.slots[slot]
        if term < 0 or (table.hashes[term] == code and is_term(table, term, spans, span)):
            return slot
        slot = (slot + np.uint64(1)) & mask


@kernel(int64(TABLE, SPANS, int64, writes(int32)), **LEAN)
def add_terms(table: Table, spans: Spans, start: int, terms: Array) -> int:
    """Number the terms of the spans from `start` on, adding new terms; returns the first span without room."""
    for span in range(start, spans.begins.size):
        begin, length = spans.begins[span], spans.lengths[span]
        code = hash_span(spans.buffer, begin, length)
        slot = find_slot(table, spans, span, code)
        term = table.slots[slot]
        if term < 0:
            term = table.size[0]
            first = table.bounds[term]
            if 2 * term >= table.slots.size or term >= table.hashes.size or first + length > table.arena.size:
                return span
            for step in range(length):
                table.arena[first + step] = spans.buffer[begin + step]
            table.bounds[term + 1] = first + length
            table.hashes[term] = code
            table.slots[slot] = term
            table.size[0] = term + 1
        terms[span] = term
    return spans.begins.size


@kernel(int64(TABLE, SPANS, writes(int32)), **LEAN)
def find_terms(table: Table, spans: Spans, terms: Array) -> int:
    """Write the number of each span's term to `terms`, -1 for unknown terms; returns the number of known ones."""
    known = 0
    for span in range(spans.begins.size):
        code = hash_span(spans.buffer, spans.begins[span], spans.lengths[span])
        terms[span] = table.slots[find_slot(table, spans, span, code)]
        known += terms[span] >= 0
    return known


@kernel(int64(SPANS, int64, writes(int32)), **LEAN)
def hash_terms(spans: Spans, bits: int, terms: Array) -> int:
    """Write the highest bits of each span's hash to `terms`, as numbers without a table."""
    shift = np.uint64(64 - bits)
    for span in range(spans.begins.size):
        terms[span] = hash_span(spans.buffer, spans.begins[span], spans.lengths[span]) >> shift
    return spans.begins.size


@kernel(int64(TABLE), **LEAN)
def place_terms(table: Table) -> int:
    """Enter all terms into empty slots; returns their number."""
    mask = np.uint64(table.slots.size - 1)
    for term in range(table.size[0]):
        slot = table.hashes[term] & mask
        while table.slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table.slots[slot] = term
    return int(table.size[0])
