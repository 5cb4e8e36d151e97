"""Classes that are alike in groups of one size: balanced halves of halves, by the mean directions of their rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from harness.sdk.kernels.instances import Labels

BUCKETS = 4096
"""Features share so many places while groups are made: directions are hardly less apart, and cheap to compare."""
LEAST_VALUE = 0.05
"""Smaller values of a mean direction of length 1 are dropped. At most hundreds of values remain."""
MOST_ROUNDS = 8


def group_classes(
    rows: csr_array, labels: Labels, n_classes: int, most: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """The group of each class, counted from 0; none has more than `most` classes, and sizes differ by 1 at most
    within a level of halving."""
    centres = mean_directions(rows, labels, n_classes, random)
    groups = np.zeros(n_classes, np.int64)
    queue, number = [np.arange(n_classes)], 0
    for classes in queue:  # the loop appends to it
        if classes.size <= most:
            groups[classes] = number
            number += 1
        else:
            first = halve(csr_array(centres[classes]), random)
            queue += [classes[first], classes[~first]]
    return groups


def mean_directions(rows: csr_array, labels: Labels, n_classes: int, random: np.random.Generator) -> csr_array:
    """Classes x buckets: the sums of the rows of each class, scaled to length 1."""
    n_rows, n_features = rows.shape
    bucket = random.integers(BUCKETS, size=n_features).astype(np.int32)
    narrow = csr_array((rows.data, bucket[rows.indices], rows.indptr), shape=(n_rows, BUCKETS))
    row_of = np.repeat(np.arange(n_rows), np.diff(labels.indptr))
    members = csr_array((np.ones(row_of.size, np.float32), (labels.indices, row_of)), shape=(n_classes, n_rows))
    centres = csr_array(normalize(members @ narrow))
    centres.data[np.abs(centres.data) < LEAST_VALUE] = 0.0
    centres.eliminate_zeros()
    return centres


def halve(centres: csr_array, random: np.random.Generator) -> NDArray[np.bool_]:
    """Which of these are in the first of two equal halves, each nearer to its own mean than to the other's."""
    n = centres.shape[0]
    one, two = random.choice(n, 2, replace=False)
    axis = (centres[[one]] - centres[[two]]).toarray()[0]
    first = np.zeros(n, np.bool_)
    for _ in range(MOST_ROUNDS):
        order = np.argsort(-(centres @ axis), kind="stable")
        before, first = first, np.zeros(n, np.bool_)
        first[order[: n // 2]] = True
        if np.array_equal(first, before):
            break
        axis = centres.T @ np.where(first, 1.0, -1.0)
    return first
