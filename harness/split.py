"""Splits: which rows train and which test. The same for a seed on every machine and with every numpy.

The order comes from a hash of (seed, row), in plain 64-bit integers, not from a library's random stream, which may
change between releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import DataError, SpecError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]

ALLOWED = "'holdout:SHARE' with 0 < SHARE < 1, or 'given' / 'given:NAME' for a split that the data set brings"


def check_split(split: str) -> str:
    """The split's text as it goes into keys; SpecError when it is none."""
    kind, _, detail = split.partition(":")
    if kind == "given":
        return split
    try:
        share = float(detail) if kind == "holdout" else 0.0
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise SpecError(f"split {split!r} is unknown: expected {ALLOWED}")
    return f"holdout:{share}"


def settle_split(split: str, given: Mapping[str, object]) -> str:
    """The split under its full name, so that `given` and `given:NAME` are one where the data set brings one."""
    kind, _, detail = split.partition(":")
    return f"given:{_given_name(detail, given)}" if kind == "given" else split


def split_sizes(split: str, rows: int, given: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """How many rows train and test, without drawing the split; DataError when either part would be empty."""
    kind, _, detail = split.partition(":")
    if kind == "given":
        train, test = given[_given_name(detail, given)]
    else:
        test = round(float(detail) * rows)
        train = rows - test
    if min(train, test) < 1:
        empty = "test" if test < 1 else "training"
        raise DataError(f"split {split!r} of {rows} rows leaves the {empty} part empty: choose another share")
    return train, test


def split_rows(split: str, rows: int, seed: int, given: Mapping[str, tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    """Training and test rows. The training part comes shuffled: data files are often sorted by class."""
    kind, _, detail = split.partition(":")
    if kind == "given":
        train, test = given[_given_name(detail, given)]
        return np.asarray(train)[shuffled(len(train), seed)], np.asarray(test)
    test_rows = round(float(detail) * rows)
    order = shuffled(rows, seed)
    return order[test_rows:], order[:test_rows]


def shuffled(rows: int, seed: int) -> Rows:
    """A permutation of range(rows) decided by the seed alone: rows sorted by their splitmix64 hash."""
    mask = (1 << 64) - 1
    start = np.uint64((seed * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) & mask)
    with np.errstate(over="ignore"):
        z = start + np.arange(1, rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return np.argsort(z, kind="stable").astype(np.int64)


def _given_name(name: str, given: Mapping[str, object]) -> str:
    if not name and len(given) == 1:
        return next(iter(given))
    if name in given:
        return name
    known = ", ".join(f"given:{g}" for g in given) or "none, use holdout:SHARE"
    raise DataError(f"the data set has no split {name or 'given'!r}; it brings: {known}")
