"""An index of the weights that a matrix holds."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from harness.sdk.kernels.edges import Edges, as_rows
from harness.sdk.kernels.rows import Rows


def index_of(W: np.ndarray) -> Rows:
    """Features x classes, without the zeros; the edges of a feature are in the order of the classes."""
    sparse = csr_array(W.astype(np.float32))
    return as_rows(Edges(sparse.indptr.astype(np.int64), sparse.indices.astype(np.uint32), sparse.data))
