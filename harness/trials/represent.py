"""Representations: raw counts to what a learner sees. Whatever is fitted is fitted on the training part alone."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array


def represent(name: str, train: csr_array, test: csr_array) -> tuple[csr_array, csr_array]:
    """Both parts as `raw`, or l2-normalised `binary`, `tf`, `tfidf` or `logtfidf`.

    `tfidf` is tf * ln(N / df), N and df of the training part; `logtfidf` has ln(1 + tf) in the place of tf, so that the
    tenth occurrence of a word counts for less than the first (with the sign of tf, where that may be negative).
    A feature that every training row has gets idf 0 and vanishes, and so does one that no training row has: nothing
    can be known of it. A row without features stays empty.
    """
    if name == "raw":
        return train, test
    weights = _idf(train) if name in ("tfidf", "logtfidf") else None
    return _normalised(name, train, weights), _normalised(name, test, weights)


def _idf(train: csr_array) -> np.ndarray:
    df = np.bincount(train.indices, minlength=train.shape[1])
    idf = np.zeros(train.shape[1])
    idf[df > 0] = np.log(train.shape[0] / df[df > 0])
    return idf


def _normalised(name: str, X: csr_array, weights: np.ndarray | None) -> csr_array:
    data = np.ones(X.nnz) if name == "binary" else X.data.astype(np.float64)
    if name == "logtfidf":
        data = np.copysign(np.log1p(np.abs(data)), data)
    if weights is not None:
        data *= weights[X.indices]
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    norms = np.sqrt(np.bincount(row, weights=data * data, minlength=X.shape[0]))
    norms[norms == 0] = 1.0
    result = csr_array(((data / norms[row]).astype(np.float32), X.indices.copy(), X.indptr.copy()), shape=X.shape)
    result.eliminate_zeros()
    return result
