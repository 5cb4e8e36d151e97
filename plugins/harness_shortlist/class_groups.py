"""Groups of similar classes of equal size: balanced halves of halves, by the mean directions of their rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from harness.sdk.kernels.instances import Labels

BUCKETS = 4096
"""Number of hash buckets for features while groups are made: directions stay almost as distinct, and cheap to
compute."""
LEAST_VALUE = 0.05
"""Smaller values of a mean direction of length 1 are dropped, so at most some hundreds remain."""
MOST_ROUNDS = 8


def group_classes(
    rows: csr_array, labels: Labels, n_classes: int, most: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Return the group of each class, counted from 0.

    Parameters
    ----------
    rows : csr_array of shape (n_rows, n_features)
        Training rows.
    labels : Labels
        Positions of the classes of each row.
    n_classes : int
        Number of classes.
    most : int
        Maximum number of classes in a group. Group sizes of the same depth differ by at most 1.
    random : Generator
        Source of the initial halves.
    """
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
    """Return the sum of the rows of each class, scaled to length 1, as a matrix of classes x buckets."""
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
    """Return which classes are in the first of two equal halves; each is nearer to the mean of its own half."""
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
