"""Decisions among the candidates of a row. Each machine is a small hash table of its features.

A row reads one machine after the other. So a candidate's weights, a few kilobytes, are in the nearest cache when the
features of the row are looked up in them. The machine of a group is evaluated once per row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, int32, int64, uint8, uint32, void
from numpy.typing import NDArray

from harness.sdk.kernels.compile import INSTANCES, LEAN, helper, kernel, named, reads, writes
from harness.sdk.kernels.instances import Array, Instances, frozen
from harness_shortlist.kernels.training_pairs import NO_GROUP

MIX = np.uint64(0x9E3779B97F4A7C15)
VACANT = np.uint32(0xFFFFFFFF)
LEAST_BITS = 1


class Weights(NamedTuple):
    """Weights of all machines; those of machine z, by feature, are between `start[z]` and `start[z + 1]`."""

    start: NDArray[np.int64]
    features: NDArray[np.uint32]
    weights: NDArray[np.float32]


class Tables(NamedTuple):
    """Hash tables of all machines.

    That of machine z has 2**bits[z] slots from `start[z]` on, less than half of them used.
    """

    start: NDArray[np.int64]
    bits: NDArray[np.uint8]
    features: NDArray[np.uint32]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    group_of: NDArray[np.uint32]
    """By class: the machine of its group, or NO_GROUP."""


TABLES = named(Tables, *map(reads, (int64, uint8, uint32, float32, float32, uint32)))
FILLED = named(Tables, *map(writes, (int64, uint8, uint32, float32)), reads(float32), reads(uint32))
WEIGHTS = named(Weights, reads(int64), reads(uint32), reads(float32))


class Judgement(NamedTuple):
    """Settings and temporary arrays for the evaluation of candidates."""

    priors: NDArray[np.float64]
    """By place among the candidates: the value of the place."""
    group_share: float
    values: NDArray[np.float64]
    """By group: its value for the current row."""
    asked: NDArray[np.int64]
    """By machine: the last row that it scored."""
    read: NDArray[np.int64]
    """Number of slots that held a feature of a row."""


JUDGEMENT = named(Judgement, reads(float64), float64, writes(float64), writes(int64), writes(int64))


def build_tables(found: Weights, bias: NDArray[np.float32], group_of: NDArray[np.uint32]) -> Tables:
    """Return the hash tables of these weights."""
    sizes = np.diff(found.start)
    bits = np.maximum(np.frexp(2 * sizes)[1], LEAST_BITS).astype(np.uint8)
    start = np.concatenate([[0], np.cumsum(np.left_shift(1, bits.astype(np.int64)))])
    tables = Tables(start, bits, np.full(start[-1], VACANT), np.zeros(start[-1], np.float32), bias, group_of)
    frozen_bias, frozen_groups = frozen(bias, np.float32), frozen(group_of, np.uint32)
    given = Weights(frozen(found.start, np.int64), frozen(found.features, np.uint32), frozen(found.weights, np.float32))
    fill_tables(given, tables._replace(bias=frozen_bias, group_of=frozen_groups))
    return Tables(*(frozen(array) for array in tables))


@helper()
def first_slot(f: Any, bits: Any) -> Any:
    """Return the first slot of the search for a feature: the high bits of a product."""
    return (np.uint64(f) * MIX) >> np.uint64(64 - bits)


@kernel(void(WEIGHTS, FILLED), **LEAN)
def fill_tables(found: Weights, tables: Tables) -> None:
    """Enter all weights into the tables."""
    for z in range(found.start.size - 1):
        begin, bits = np.uint64(tables.start[z]), tables.bits[z]
        mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
        for e in range(np.uint64(found.start[z]), np.uint64(found.start[z + 1])):
            f = found.features[e]
            at = first_slot(f, bits)
            while tables.features[begin + at] != VACANT:
                at = (at + np.uint64(1)) & mask
            tables.features[begin + at], tables.weights[begin + at] = f, found.weights[e]


@helper()
def value_of(tables: Tables, z: Any, instances: Instances, i: int, read: Array) -> float:
    """Return -max(0, 1 - score)^2 of machine z for an instance."""
    begin, bits = np.uint64(tables.start[z]), tables.bits[z]
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    score, n = np.float64(tables.bias[z]), 0
    for j in range(np.uint64(instances.indptr[i]), np.uint64(instances.indptr[i + 1])):
        f = np.uint32(instances.indices[j])
        at = first_slot(f, bits)
        held = tables.features[begin + at]
        while held != VACANT and held != f:  # noqa: PLR1714 (a tuple would be made in compiled code)
            at = (at + np.uint64(1)) & mask
            held = tables.features[begin + at]
        if held == f:
            score += np.float64(instances.data[j]) * tables.weights[begin + at]
            n += 1
    read[0] += n
    short = max(0.0, 1.0 - score)
    return -short * short


@kernel(void(TABLES, INSTANCES, reads(int32, 2), JUDGEMENT, writes(float64, 2)), **LEAN)
def judge(tables: Tables, instances: Instances, candidates: Array, judgement: Judgement, values: Array) -> None:
    """Write the value of each candidate of each instance to `values`; -inf for pads."""
    for i in range(candidates.shape[0]):
        for p in range(candidates.shape[1]):
            values[i, p] = -np.inf
            if candidates[i, p] < 0:
                continue
            c = np.uint32(candidates[i, p])
            value = value_of(tables, c, instances, i, judgement.read) + judgement.priors[p]
            group = tables.group_of[c]
            if group != NO_GROUP:
                if judgement.asked[group] != i + 1:
                    judgement.values[group] = value_of(tables, group, instances, i, judgement.read)
                    judgement.asked[group] = i + 1
                value += judgement.group_share * judgement.values[group]
            values[i, p] = value


@kernel(void(reads(int32, 2), reads(float64, 2), writes(int32, 2)), **LEAN)
def fill_ranks(candidates: Array, values: Array, ranked: Array) -> None:
    """Rank the candidates of each instance by value, best first, ties in the proposed order; -1 pads."""
    for i in range(ranked.shape[0]):
        chosen, size = ranked[i], 0
        for place in range(chosen.size):
            chosen[place] = -1
        for p in range(candidates.shape[1]):
            if candidates[i, p] < 0:
                continue
            place = min(size, chosen.size)
            while place > 0 and values[i, p] > values[i, np.uint32(chosen[place - 1])]:
                if place < chosen.size:
                    chosen[place] = chosen[place - 1]
                place -= 1
            if place < chosen.size:
                chosen[place] = p
                size = min(size + 1, chosen.size)
        for place in range(size):
            chosen[place] = candidates[i, np.uint32(chosen[place])]
