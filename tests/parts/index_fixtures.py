"""Fixtures for kernel tests: a dense view of an index, and the invariants of every index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from internals import NONE, Rows


@pytest.fixture(scope="session")
def dense() -> Callable[[Rows, int], np.ndarray]:
    """Return a function that gives W[f, c] as a dense matrix."""

    def spread(rows: Rows, n_classes: int) -> np.ndarray:
        W = np.zeros((rows.start.size, n_classes), rows.weights.dtype)
        for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
            W[f, rows.classes[start : start + length]] = rows.weights[start : start + length]
        return W

    return spread


@pytest.fixture(scope="session")
def assert_sound() -> Callable[..., None]:
    """Check that blocks are disjoint, rows fit, classes are unique per row, and no zero is stored.

    No block is lost either, unless the index `was_packed`: a row that moved then leaves a gap.
    """

    def check(rows: Rows, was_packed: bool = False) -> None:
        blocks = [*_places(rows), *_free_blocks(rows)]
        end = 0
        for start, size in sorted(blocks):
            assert start >= end if was_packed else start == end
            end = start + size
        assert end <= rows.heads[0] <= rows.classes.size
        assert was_packed or end == rows.heads[0]
        for start, length, level in zip(rows.start.tolist(), rows.length.tolist(), rows.level.tolist(), strict=True):
            assert was_packed or length <= (2**level if level else 0)
            assert np.unique(rows.classes[start : start + length]).size == length
            assert np.all(rows.weights[start : start + length] != 0)

    return check


def _places(rows: Rows) -> list[tuple[int, int]]:
    """Return start and size of the block of each row that has one."""
    sizes = np.maximum(rows.length, np.where(rows.level > 0, 1 << rows.level.astype(np.int64), 0))
    return [(int(start), int(size)) for start, size in zip(rows.start, sizes, strict=True) if size]


def _free_blocks(rows: Rows) -> list[tuple[int, int]]:
    blocks: list[tuple[int, int]] = []
    for k in range(1, rows.heads.size):
        block = rows.heads[k]
        while block != NONE:
            blocks.append((int(block), 2**k))
            assert len(blocks) <= rows.classes.size, "a free list runs in a circle"
            block = rows.classes[block]
    return blocks
