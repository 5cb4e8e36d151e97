"""Scores of one instance, for all classes at once, in a dense array."""

from __future__ import annotations

import numpy as np

from harness.sdk.kernels.arrays import Array
from harness.sdk.kernels.compiling import helper
from harness.sdk.kernels.instances import Instances
from harness.sdk.kernels.prefetching import fetch_ahead
from harness.sdk.kernels.rows import Rows


@helper()
def score(rows: Rows, instances: Instances, i: int, base: Array, scores: Array) -> None:
    """s_c = base_c + sum_f x_f W[f, c]; the base is 0 for a class that takes part and -inf for one that does not.

    Unsigned positions spare the test for negative ones, and a dense array the question which classes were touched: two
    loads, a product and a sum per edge, in the order of the features, so that equal input gives equal bits.
    """
    for c in range(np.uint64(scores.size)):  # a slice would bring in the counting of uses
        scores[c] = base[c]
    for j in range(instances.indptr[i], instances.indptr[i + 1]):
        f = np.uint32(instances.indices[j])
        x = np.float64(instances.data[j])
        fetch_ahead(rows, instances.indices, j)
        start = rows.start[f]
        for e in range(start, start + rows.length[f]):
            scores[rows.classes[e]] += x * rows.weights[e]


@helper()
def squared_norm(instances: Instances, i: int) -> float:
    """||x||^2"""
    total = 0.0
    for j in range(instances.indptr[i], instances.indptr[i + 1]):
        x = np.float64(instances.data[j])
        total += x * x
    return total
