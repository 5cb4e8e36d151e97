"""Weightings of counts. Everything that is fitted depends only on the rows passed to `fit`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from harness.sdk.saving import Saved

WEIGHTINGS = ("raw", "binary", "tf", "tfidf", "logtfidf")


def fit_idf(weighting: str, X: csr_array) -> NDArray[np.float64]:
    """Return ln(N / df) of each column, or an empty array if the weighting has no idf.

    Parameters
    ----------
    weighting : str
        Name of the weighting.
    X : csr_array of shape (n_rows, n_columns)
        Training rows.

    Returns
    -------
    ndarray
        0 for a column without any values, since its idf is unknown.
    """
    if not weighting.endswith("idf"):
        return np.empty(0)
    return idf_of(np.bincount(X.indices, minlength=X.shape[1]), X.shape[0])


def idf_of(df: NDArray[np.int64], rows: int) -> NDArray[np.float64]:
    """Return ln(N / df) of each column; 0 for a column that none of the N rows has."""
    idf = np.zeros(df.size)
    idf[df > 0] = np.log(rows / df[df > 0])
    return idf


def weigh(weighting: str, X: csr_array, idf: NDArray[np.float64]) -> csr_array:
    """Return weighted rows.

    `raw` leaves rows unchanged. The other weightings scale rows to length 1: `binary`, `tf`, `tfidf` as tf * ln(N /
    df), and `logtfidf` with ln(1 + tf) instead of tf, so the tenth occurrence of a word counts less than the first.
    Negative values of tf keep their sign. A column of every training row has the idf 0 and vanishes. A row without
    features stays empty.

    Parameters
    ----------
    weighting : {"raw", "binary", "tf", "tfidf", "logtfidf"}
        Name of the weighting.
    X : csr_array of shape (n_rows, n_columns)
        Counts.
    idf : ndarray of shape (n_columns,)
        The idf of each column; empty if not needed.
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
    """Base of the weightings, transformers from counts to weights.

    Attributes
    ----------
    idf_ : ndarray of shape (n_columns,)
        The idf of each column; empty if the weighting has none.
    """

    weighting: ClassVar[str]

    n_features_in_: int
    idf_: NDArray[np.float64]
    _met: int
    _df: NDArray[np.int64]
    """Number of rows in all batches, and the rows of each column, to which the next batch is added."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the idf of each column, if the weighting has one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        rows = csr_array(X)
        self.n_features_in_ = rows.shape[1]
        self.idf_ = fit_idf(self.weighting, rows)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a further batch; after all batches the idf equals that of all rows, bit by bit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : ignored
            Present for scikit-learn.

        Returns
        -------
        self
            The estimator.
        """
        rows = csr_array(X)
        if not hasattr(self, "n_features_in_"):
            self.n_features_in_ = rows.shape[1]
            self._met, self._df = 0, np.zeros(rows.shape[1], np.int64)
        self._met += rows.shape[0]
        self._df += np.bincount(rows.indices, minlength=self.n_features_in_)
        self.idf_ = idf_of(self._df, self._met) if self.weighting.endswith("idf") else np.empty(0)
        return self

    def transform(self, X: Any) -> csr_array:
        """Return the weighted rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        csr_array of shape (n_rows, n_columns)
            The transformed rows.
        """
        rows = csr_array(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {rows.shape[1]} columns, fitted on {self.n_features_in_}")
        return weigh(self.weighting, rows, self.idf_)


class Raw(Weighting):
    """Unchanged rows.

    Examples
    --------
    >>> from harness_representations.weights import Raw
    >>> Raw().fit_transform([[3, 4, 0]]).toarray()
    array([[3, 4, 0]])
    """

    weighting = "raw"


class Binary(Weighting):
    """1 for each feature of a row, scaled to length 1.

    Examples
    --------
    >>> from harness_representations.weights import Binary
    >>> Binary().fit_transform([[3, 4, 0]]).toarray()
    array([[0.70710677, 0.70710677, 0.        ]], dtype=float32)
    """

    weighting = "binary"


class Tf(Weighting):
    """Counts, scaled to length 1.

    Examples
    --------
    >>> from harness_representations.weights import Tf
    >>> Tf().fit_transform([[3, 4, 0]]).toarray()
    array([[0.6, 0.8, 0. ]], dtype=float32)
    """

    weighting = "tf"


class TfIdf(Weighting):
    """tf * ln(N / df), with N and df of the training rows, scaled to length 1.

    Examples
    --------
    >>> from harness_representations.weights import TfIdf
    >>> TfIdf().fit_transform([[1, 1, 0], [1, 0, 2]]).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """

    weighting = "tfidf"


class LogTfIdf(Weighting):
    """ln(1 + tf) * ln(N / df), with N and df of the training rows, scaled to length 1.

    Examples
    --------
    >>> from harness_representations.weights import LogTfIdf
    >>> LogTfIdf().fit_transform([[1, 1, 0], [1, 0, 2]]).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """

    weighting = "logtfidf"
