"""Parts of scores by feature: for linear learners, and for scores that add up along the path of a tree.

They explain one text at a time, so everything is computed from the stored weights with numpy, without a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.sdk.kernels.instances import Instances

if TYPE_CHECKING:  # brings a compiler
    from harness.sdk.kernels.rows import Rows

Values = NDArray[np.float64]
RowParts = Callable[[NDArray[np.int32], Values, NDArray[np.int32]], tuple[Values, Values]]
"""Maps the features and values of a row and some classes to parts, classes x features, and biases."""


class Contributions(NamedTuple):
    """Parts of the scores of k ranked classes of each row, by feature.

    The score of rank j of row i is the sum of row `i * k + j` of `parts`, plus `bias[i, j]`.
    """

    parts: csr_array
    """Sparse, rows * k x features. Only features of the row have a part; the rows of a padding -1 are empty."""
    bias: NDArray[np.float64]
    """Rows x k: the part of the score that no feature adds; 0 for a padding -1."""


def collect_parts(instances: Instances, n_features: int, ranks: NDArray[np.int32], parts_of: RowParts) -> Contributions:
    """Return the contributions to ranked classes, row by row.

    Parameters
    ----------
    instances : Instances
        The rows.
    n_features : int
        Number of features.
    ranks : ndarray of shape (n_rows, k)
        Positions of classes; -1 pads.
    parts_of : callable
        Returns the parts and biases of one row, for classes without pads.

    Returns
    -------
    Contributions
        Parts and biases of all rows.
    """
    n_rows, k = ranks.shape
    bias = np.zeros((n_rows, k))
    values, features, lengths = [np.empty(0)], [np.empty(0, np.int64)], [np.zeros(1, np.int64)]
    for i in range(n_rows):
        own = slice(instances.indptr[i], instances.indptr[i + 1])
        listed = np.flatnonzero(ranks[i] >= 0)
        parts = np.zeros((k, own.stop - own.start))
        found = parts_of(instances.indices[own], instances.data[own].astype(np.float64), ranks[i, listed])
        parts[listed], bias[i, listed] = found
        values.append(parts.ravel())
        features.append(np.tile(instances.indices[own], k))
        lengths.append(np.full(k, own.stop - own.start))
    starts = np.cumsum(np.concatenate(lengths))
    table = csr_array((np.concatenate(values), np.concatenate(features), starts), shape=(n_rows * k, n_features))
    table.eliminate_zeros()
    return Contributions(table, bias)


def linear_parts(weights_of: Callable[[NDArray[np.int32]], csr_array], bias: Values) -> RowParts:
    """Return the parts of scores sum_f x_f W[f, c] + bias_c.

    Parameters
    ----------
    weights_of : callable
        Returns W for some features: a sparse matrix of these features x classes.
    bias : ndarray of shape (n_classes,)
        Bias of each class.

    Returns
    -------
    RowParts
        Function of a row and some classes, for `collect_parts`.
    """

    def parts_of(features: NDArray[np.int32], values: Values, classes: NDArray[np.int32]) -> tuple[Values, Values]:
        weights = weights_of(features)[:, classes].toarray()
        return (values[:, np.newaxis] * weights).T, bias[classes]

    return parts_of


def share_along(steps: Values, biases: Values, judge: Callable[[Values], Values]) -> tuple[Values, float]:
    """Share the sum of judge(score) over the nodes of a path among features.

    The score of a node is the sum of its parts and its bias. The difference of judge(score) and judge(bias) is shared
    in proportion to the parts, so features with opposite signs stay opposite.

    Parameters
    ----------
    steps : ndarray of shape (n_features, n_nodes)
        What each feature adds to the score of each node.
    biases : ndarray of shape (n_nodes,)
        Scores of the nodes without a feature.
    judge : callable
        Returns what each score adds to the path.

    Returns
    -------
    ndarray of shape (n_features,), float
        The part of each feature, and the sum of judge(bias).
    """
    gains = steps.sum(axis=0)
    at_bias = judge(biases)
    judged = judge(biases + gains) - at_bias
    slopes = np.divide(judged, gains, out=np.zeros_like(gains), where=np.abs(gains) > TINY)
    # A node whose parts cancel out leaves a difference that is too small to be shared.
    rest = float(judged[np.abs(gains) <= TINY].sum())
    return steps @ slopes, float(at_bias.sum()) + rest


TINY = 1e-12


def rows_of_index(rows: Rows, features: NDArray[Any], n_columns: int, degree: int = 0) -> csr_array:
    """Return the weights of some features in an index as a matrix.

    Parameters
    ----------
    rows : Rows
        The index.
    features : ndarray of int, shape (n_features,)
        Features to read.
    n_columns : int
        Number of classes or other columns.
    degree : int, default=0
        Number of weights per feature, from the front of its row; 0 for all.

    Returns
    -------
    csr_array of float64, shape (n_features, n_columns)
        The weights.
    """
    lengths = rows.length[features].astype(np.int64)
    if degree:
        lengths = np.minimum(lengths, degree)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(starts[-1]) + np.repeat(rows.start[features].astype(np.int64) - starts[:-1], lengths)
    weights, columns = rows.weights[places].astype(np.float64), rows.classes[places].astype(np.int64)
    return csr_array((weights, columns, starts), shape=(features.size, n_columns))
