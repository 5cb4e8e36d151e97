"""OOZ with many classes: during a pass, the rows of frequent features are ordered by class.

The updates are the same to the last bit. An update reads the edges of a few classes instead of whole rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.sdk.kernels.edges import Edges, as_edges, as_rows
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.rows import MOST_MATRIX_BYTES, NONE, Rows, enlarge
from harness.sdk.kernels.touched import empty_space
from harness_index.kernels.ooz import OOZStep
from harness_index.kernels.ooz_many import room_for_rivals, update_ooz_many
from harness_index.kernels.ordered_rows import HEAD_ROOM, OrderedRows, edges_in_order, order_rows

LEAST_MET = 256
"""Minimum number of training rows with a feature, to order its row by class (measured): a shorter row is read whole
in the same time.
"""


def frequent_features(instances: Instances, n_features: int, n_classes: int, degree: int) -> NDArray[np.int64]:
    """Return the features whose rows are ordered by class: the most frequent ones, within a limit of memory.

    There are none if a large part of the classes is scored: a head would be most of a row.
    """
    if HEAD_ROOM * degree > n_classes:
        return np.empty(0, np.int64)
    met = np.bincount(instances.indices, minlength=n_features)
    features = np.flatnonzero(met >= LEAST_MET)
    first = np.argsort(-met[features], kind="stable")
    return np.sort(features[first[: MOST_MATRIX_BYTES // (8 * n_classes)]])


def learn_pass(
    rows: Rows,
    free: NDArray[np.float64],
    instances: Instances,
    labels: Labels,
    order: NDArray[np.int64],
    n_classes: int,
    k: int,
    step: OOZStep,
) -> Rows | None:
    """Return the index after a pass over instances with one label each, and change `free`.

    Returns
    -------
    Rows or None
        None if no row can be ordered; nothing has changed then.
    """
    features = frequent_features(instances, rows.start.size, n_classes, step.degree)
    ordered = order_rows(rows, features, n_classes, step.degree, step.least) if features.size else None
    if ordered is None:
        return None
    length = rows.length.copy()
    length[features] = 0
    rows = rows._replace(length=length)
    space, room = empty_space(n_classes), room_for_rivals(n_classes, k)
    while (
        done := update_ooz_many(rows, ordered, free, instances, labels.indices, order, space, room, step)
    ) < order.size:
        rows, order = enlarge(rows), order[done:]
    return join(rows, ordered)


def join(rows: Rows, ordered: OrderedRows) -> Rows:
    """Return one index from plain rows and ordered ones."""
    plain, features = as_edges(rows), np.flatnonzero(ordered.places != NONE)
    length = np.diff(plain.indptr)
    length[features] = ordered.sizes[ordered.places[features]]
    indptr = np.concatenate([[0], np.cumsum(length)])
    classes, weights = np.empty(indptr[-1], np.uint32), np.empty(indptr[-1], np.float32)
    moved = np.repeat(indptr[:-1] - plain.indptr[:-1], np.diff(plain.indptr)) + np.arange(plain.classes.size)
    classes[moved], weights[moved] = plain.classes, plain.weights
    for f in features.tolist():
        at = slice(indptr[f], indptr[f + 1])
        classes[at], weights[at] = edges_in_order(ordered, int(ordered.places[f]))
    return as_rows(Edges(indptr, classes, weights))
