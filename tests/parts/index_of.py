"""An index made from a matrix of weights."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from internals import Edges, Rows, as_rows


def index_of(W: np.ndarray) -> Rows:
    """Return an index of a features x classes matrix without zeros; edges are in class order."""
    sparse = csr_array(W.astype(np.float32))
    return as_rows(Edges(sparse.indptr.astype(np.int64), sparse.indices.astype(np.uint32), sparse.data))
