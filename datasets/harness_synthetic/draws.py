"""Random numbers that are identical on all machines: raw bits and integer arithmetic, without rounding.

All randomness is the raw 64-bit output of PCG64, whose stream numpy guarantees (unlike the methods of a `Generator`).
All weights are integers, and drawing by weight is a search in integer sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Dataset, Taxonomy
from harness.errors import DataError

Whole = NDArray[np.uint64]  # one type throughout: numpy converts uint64 combined with int64 to float64

LARGEST = 2**26
"""Largest allowed count: the Zipf weights LARGEST // rank are then positive, and their sum is below 2**32."""


def raw(bits: np.random.PCG64, *shape: int) -> Whole:
    """Return raw bits in this shape."""
    return bits.random_raw(shape)


def below(bits: Whole, bound: int | Whole | np.uint64) -> Whole:
    """Return integers from 0 to `bound` - 1 (bound at most 2**32): the upper half of a 32-bit product.

    Examples
    --------
    >>> below(raw(np.random.PCG64(0), 5), 10).tolist()
    [6, 2, 0, 0, 8]
    """
    return (bits >> np.uint64(32)) * np.asarray(bound, dtype=np.uint64) >> np.uint64(32)


def share(bits: Whole, part: float) -> NDArray[np.bool_]:
    """Return True for this share of the draws; multiplying by a power of two is exact, so rounding has no effect."""
    return bits >> np.uint64(11) < np.uint64(part * 2**53)


def hashed(value: Whole, bound: int) -> Whole:
    """Return an integer below `bound` for each value, by the mixing of splitmix64 in wrapping integer arithmetic."""
    z = value * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return below(z ^ (z >> np.uint64(31)), bound)


def zipf_sums(n: int) -> Whole:
    """Return running sums of the weights LARGEST // 1, LARGEST // 2, ... LARGEST // n."""
    return np.cumsum(np.uint64(LARGEST) // np.arange(1, n + 1, dtype=np.uint64), dtype=np.uint64)


def pick(bits: Whole, sums: Whole) -> Whole:
    """Draw positions by weight, given the running sums of the weights."""
    return np.searchsorted(sums, below(bits, sums[-1]), side="right").astype(np.uint64)


@dataclass(frozen=True)
class Guide:
    """Results of `pick` by the leading bits of its argument, -1 if these do not determine it.

    For many picks, one look-up replaces most searches.
    """

    sums: Whole
    shift: np.uint64
    known: NDArray[np.int32]

    def pick(self, bits: Whole) -> NDArray[np.int32]:
        """Return the same as `pick`."""
        value = below(bits, self.sums[-1])
        picked: NDArray[np.int32] = self.known[value >> self.shift]
        open_ = np.flatnonzero(picked < 0)
        picked[open_] = np.searchsorted(self.sums, value[open_], side="right")
        return picked


def guide(sums: Whole) -> Guide:
    """Return a guide with at most 2**20 cells."""
    shift = np.uint64(max(0, int(sums[-1]).bit_length() - 20))
    edges = np.arange((int(sums[-1]) >> int(shift)) + 2, dtype=np.uint64) << shift
    first = np.searchsorted(sums, edges, side="right")
    return Guide(sums, shift, np.where(first[:-1] == first[1:], first[:-1], -1).astype(np.int32))


def tally(items: Whole | NDArray[np.int32], lengths: NDArray[np.int64], width: int) -> csr_array:
    """Return how often each item occurs in each row; `items` holds the items of all rows one after the other."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    ones = np.ones(items.size, dtype=np.int32)
    counts = csr_array((ones, items.ravel().astype(np.int32), ends), shape=(len(lengths), width))
    counts.sum_duplicates()  # also sorts the columns of each row
    return counts


def stacked(blocks: Iterable[csr_array], shape: tuple[int, int], most: int) -> csr_array:
    """Return the blocks stacked vertically, releasing each one after its copy.

    Parameters
    ----------
    blocks : iterable of csr_array
        The blocks.
    shape : tuple of int
        Shape of the result.
    most : int
        Upper bound on the number of non-zeros. Unused room takes no memory.
    """
    data: NDArray[np.float32] = np.empty(most, dtype=np.float32)
    indices: NDArray[np.int32] = np.empty(most, dtype=np.int32)
    indptr: NDArray[np.int64] = np.zeros(shape[0] + 1, dtype=np.int64)
    row = end = 0
    for block in blocks:
        data[end : end + block.nnz], indices[end : end + block.nnz] = block.data, block.indices
        indptr[row + 1 : row + 1 + block.shape[0]] = end + block.indptr[1:]
        row, end = row + block.shape[0], end + block.nnz
    narrow = np.int32 if end < 2**31 else np.int64  # with a wide indptr, scipy would widen the indices too
    return csr_array((data[:end], indices[:end], indptr.astype(narrow)), shape=shape)


def level_sizes(classes: int, depth: int) -> list[int]:
    """Return the number of nodes of each level below the root, classes^(j / depth); the last level is the classes."""
    return [_root(classes**level, depth) for level in range(1, depth + 1)]


def _root(n: int, k: int) -> int:
    """Return the largest integer whose k-th power is at most n, independent of the rounding of the first guess."""
    root: int = round(n ** (1 / k))
    while root**k > n:
        root -= 1
    while (root + 1) ** k <= n:
        root += 1
    return root


def class_tree(sizes: list[int]) -> Taxonomy:
    """Return a tree of the root and these levels.

    The last level is the classes. Each group has large and small classes.
    """
    names, parents, start = ["all"], [np.array([-1])], 0
    for level, size in enumerate(sizes, start=1):
        kind = "class" if level == len(sizes) else "group" if level == 1 else f"group-{level}"
        names += [f"{kind}-{position}" for position in range(size)]
        above = 1 if level == 1 else sizes[level - 2]
        parents.append(start + np.arange(size) % above)
        start += above
    return Taxonomy(
        parent=np.concatenate(parents).astype(np.int64),
        class_node=start + np.arange(sizes[-1], dtype=np.int64),
        node_names=tuple(names),
    )


def not_allowed(name: str, found: str, allowed: str) -> DataError:
    """Return the error for invalid parameters of a dataset."""
    return DataError(f"{found}; allowed: {allowed}", culprit=f"dataset {name!r}")


def check_integers(name: str, given: Mapping[str, float], limits: Mapping[str, tuple[int, int]]) -> None:
    """Raise DataError for the first parameter that is not an integer within its limits.

    Parameters
    ----------
    name : str
        Name of the dataset.
    given : mapping of str to float
        Values of the parameters.
    limits : mapping of str to tuple of int
        Minimum and maximum of each parameter.
    """
    for parameter, (low, high) in limits.items():
        value = given[parameter]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise not_allowed(name, f"{parameter}={value!r}", f"a whole number from {low} to {high}")


def check_number(name: str, given: Mapping[str, float], limits: Mapping[str, tuple[float, float]]) -> None:
    """Raise DataError for the first parameter that is not a number within its limits."""
    for parameter, (low, high) in limits.items():
        value = given[parameter]
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise not_allowed(name, f"{parameter}={value!r}", f"a number from {low:g} to {high:g}")


def as_dataset(X: csr_array, y: Whole, classes: int, taxonomy: Taxonomy | None, seed: int) -> Dataset:
    """Return synthetic rows as a dataset, with a line about their size."""
    rows, features = X.shape
    mean = X.nnz / rows
    return Dataset(
        X=X,
        y=y.astype(np.intp),
        class_names=tuple(f"class-{position}" for position in range(classes)),
        taxonomy=taxonomy,
        found=f"{rows:,} rows of {mean:.0f} non-zeros, {features:,} features, {classes:,} classes; seed {seed}",
    )
