"""What the kernel tests share: a dense view of an index, and the rules that every index obeys."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.kernels.rows import NONE, Rows


@pytest.fixture(scope="session")
def dense() -> Callable[[Rows, int], np.ndarray]:
    """W[f, c] as a plain matrix."""

    def spread(rows: Rows, n_classes: int) -> np.ndarray:
        W = np.zeros((rows.start.size, n_classes), rows.weights.dtype)
        for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
            W[f, rows.classes[start : start + length]] = rows.weights[start : start + length]
        return W

    return spread


@pytest.fixture(scope="session")
def assert_sound() -> Callable[[Rows], None]:
    """Blocks are disjoint and none is lost, a class is at most once in a row, rows fit, no zero is stored."""

    def check(rows: Rows) -> None:
        blocks = [(int(s), 2 ** int(k)) for s, k in zip(rows.start, rows.level, strict=True) if k > 0]
        for k in range(1, rows.heads.size):
            block = rows.heads[k]
            while block != NONE:
                blocks.append((int(block), 2**k))
                assert len(blocks) <= rows.classes.size, "a free list runs in a circle"
                block = rows.classes[block]
        end = 0
        for start, size in sorted(blocks):
            assert start == end
            end += size
        assert end == rows.heads[0] <= rows.classes.size
        for start, length, level in zip(rows.start.tolist(), rows.length.tolist(), rows.level.tolist(), strict=True):
            assert length <= (2**level if level else 0)
            assert np.unique(rows.classes[start : start + length]).size == length
            assert np.all(rows.weights[start : start + length] != 0)

    return check
