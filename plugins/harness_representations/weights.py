"""Counts to weights. Whatever is fitted is fitted on the rows that `fit` gets."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from harness.sdk.saving import Saved

WEIGHTINGS = ("raw", "binary", "tf", "tfidf", "logtfidf")


def fit_idf(weighting: str, X: csr_array) -> NDArray[np.float64]:
    """ln(N / df) of each column, 0 for one that no row has: nothing can be known of it. Empty where none is wanted."""
    if not weighting.endswith("idf"):
        return np.empty(0)
    return idf_of(np.bincount(X.indices, minlength=X.shape[1]), X.shape[0])


def idf_of(df: NDArray[np.int64], rows: int) -> NDArray[np.float64]:
    """ln(N / df) of each column that is in some of N rows, 0 of the others."""
    idf = np.zeros(df.size)
    idf[df > 0] = np.log(rows / df[df > 0])
    return idf


def weigh(weighting: str, X: csr_array, idf: NDArray[np.float64]) -> csr_array:
    """Unchanged rows (`raw`), or l2-normalised rows of `binary`, `tf`, `tfidf` or `logtfidf`.

    `tfidf` is tf * ln(N / df); `logtfidf` has ln(1 + tf) in the place of tf, so the tenth occurrence of a word
    counts for less than the first (with the sign of tf, where that may be negative). A column that every training row
    has gets idf 0 and vanishes. A row without features stays empty.
    """
    if weighting == "raw":
        return X
    data = np.ones(X.nnz) if weighting == "binary" else X.data.astype(np.float64)
    if weighting == "logtfidf":
        data = np.copysign(np.log1p(np.abs(data)), data)
    if idf.size:
        data *= idf[X.indices]
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    norms = np.sqrt(np.bincount(row, weights=data * data, minlength=X.shape[0]))
    norms[norms == 0] = 1.0
    result = csr_array(((data / norms[row]).astype(np.float32), X.indices.copy(), X.indptr.copy()), shape=X.shape)
    result.eliminate_zeros()
    return result


class Weighting(Saved, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of the weightings."""

    weighting: ClassVar[str]

    n_features_in_: int
    idf_: NDArray[np.float64]
    _met: int
    _df: NDArray[np.int64]
    """Rows met in batches, and by column those that have it: what the next batch adds to."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the idf of each column, where that is wanted."""
        rows = csr_array(X)
        self.n_features_in_ = rows.shape[1]
        self.idf_ = fit_idf(self.weighting, rows)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from some rows more: after all batches the idf is that of all rows, to the last bit."""
        rows = csr_array(X)
        if not hasattr(self, "n_features_in_"):
            self.n_features_in_ = rows.shape[1]
            self._met, self._df = 0, np.zeros(rows.shape[1], np.int64)
        self._met += rows.shape[0]
        self._df += np.bincount(rows.indices, minlength=self.n_features_in_)
        self.idf_ = idf_of(self._df, self._met) if self.weighting.endswith("idf") else np.empty(0)
        return self

    def transform(self, X: Any) -> csr_array:
        """The rows, weighed."""
        rows = csr_array(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {rows.shape[1]} columns, fitted on {self.n_features_in_}")
        return weigh(self.weighting, rows, self.idf_)


class Raw(Weighting):
    """Unchanged rows."""

    weighting = "raw"


class Binary(Weighting):
    """Which features a row has, not how often: ones, l2-normalised."""

    weighting = "binary"


class Tf(Weighting):
    """Rows l2-normalised."""

    weighting = "tf"


class TfIdf(Weighting):
    """tf * ln(N / df), N and df of the training rows, l2-normalised."""

    weighting = "tfidf"


class LogTfIdf(Weighting):
    """ln(1 + tf) * ln(N / df), N and df of the training rows, l2-normalised."""

    weighting = "logtfidf"
