"""Chance that is the same on any machine: raw bits and integer arithmetic, nothing rounded.

All chance is the raw 64-bit output of PCG64, whose stream numpy promises to keep (it does not promise that for the
methods of a `Generator`); all weights are integers, and picking by weight is a search in integer sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Taxonomy
from harness.errors import DataError

Whole = NDArray[np.uint64]  # one type throughout: numpy makes float64 of uint64 beside int64

LARGEST = 2**26
"""The largest count allowed: the Zipf weights LARGEST // rank are then positive, and their sum is below 2**32."""


def raw(bits: np.random.PCG64, *shape: int) -> Whole:
    """Raw bits in this shape."""
    return bits.random_raw(shape)


def below(bits: Whole, bound: int | Whole | np.uint64) -> Whole:
    """Whole numbers from 0 up to but not including `bound` (at most 2**32): the upper half of a 32-bit product."""
    return (bits >> np.uint64(32)) * np.asarray(bound, dtype=np.uint64) >> np.uint64(32)


def share(bits: Whole, part: float) -> NDArray[np.bool_]:
    """True for this part of the draws; multiplying by a power of two is exact, so no rounding decides."""
    return bits >> np.uint64(11) < np.uint64(part * 2**53)


def zipf_sums(n: int) -> Whole:
    """Running sums of the weights LARGEST // 1, LARGEST // 2, ... LARGEST // n."""
    return np.cumsum(np.uint64(LARGEST) // np.arange(1, n + 1, dtype=np.uint64), dtype=np.uint64)


def pick(bits: Whole, sums: Whole) -> Whole:
    """Positions, each as likely as its share of the weights whose running sums are given."""
    return np.searchsorted(sums, below(bits, sums[-1]), side="right").astype(np.uint64)


def tally(items: Whole, lengths: NDArray[np.int64], width: int) -> csr_array:
    """How often each item occurs in each row, where `items` holds the rows' items one after the other."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    ones = np.ones(items.size, dtype=np.int32)
    counts = csr_array((ones, items.ravel().astype(np.int32), ends), shape=(len(lengths), width))
    counts.sum_duplicates()  # also sorts the columns of each row
    return counts


def grouped_classes(groups: int, classes: int) -> Taxonomy:
    """The root, the groups, the classes; a group has large and small classes, as they take turns."""
    names = [f"group-{position}" for position in range(groups)] + [f"class-{position}" for position in range(classes)]
    group, class_ = np.arange(groups, dtype=np.int64), np.arange(classes, dtype=np.int64)
    return Taxonomy(
        parent=np.concatenate([[-1], 0 * group, 1 + class_ % groups]),
        class_node=1 + groups + class_,
        node_names=("all", *names),
    )


def check_whole(name: str, given: dict[str, float], limits: dict[str, tuple[int, int]]) -> None:
    """Names the first parameter that is not a whole number within its limits, its value and what is allowed."""
    for parameter, (low, high) in limits.items():
        value = given[parameter]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise DataError(f"data set {name!r}: {parameter}={value!r}; allowed: a whole number from {low} to {high}")


def check_share(name: str, parameter: str, value: float) -> None:
    """Names the parameter if it is not a number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise DataError(f"data set {name!r}: {parameter}={value!r}; allowed: a number from 0 to 1")
