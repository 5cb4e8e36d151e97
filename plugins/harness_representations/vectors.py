"""Rows of numbers to vectors: with fewer dimensions, centred and scaled, or scaled to non-negative values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD

from harness.sdk import rules, saving
from harness.sdk.saving import Saved

Vectors = NDArray[np.float32]


class Reduced(Saved, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The d directions in which the training rows vary most, by scikit-learn's TruncatedSVD.

    Parameters
    ----------
    d : int, default=100
        Number of dimensions, from 1 to the number of columns.
    random_state : int, default=0
        Seed of the randomised search for directions.

    Attributes
    ----------
    components_ : ndarray of float32
        The directions.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_representations.vectors import Reduced
    >>> X, _ = load_digits(return_X_y=True)
    >>> Reduced(d=10).fit_transform(X).shape
    (1797, 10)
    """

    components_: NDArray[np.float32]

    def __init__(self, *, d: int = 100, random_state: int = 0) -> None:
        self.d = d
        self.random_state = random_state

    def _check_parameters(self) -> None:
        rules.enforce({"d": rules.count(self.d), "random_state": rules.seed(self.random_state)}, vars(self))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions.

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
        self._check_parameters()
        search = TruncatedSVD(n_components=min(self.d, X.shape[1]), random_state=self.random_state)
        self.components_ = search.fit(X).components_.astype(np.float32)
        return self

    def transform(self, X: Any) -> Vectors:
        """Return the rows along these directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        matrix of shape (n_rows, n_columns)
            The transformed rows.
        """
        return np.asarray(X @ self.components_.T, dtype=np.float32)

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        saving.expect(self.components_.ndim == 2 and len(self.components_) <= self.d, "components_")


class Standard(Saved, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Standardise each feature by its mean and standard deviation in the training rows. Constant features become 0.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_features,)
        Mean and standard deviation of each feature.

    Examples
    --------
    >>> from harness_representations.vectors import Standard
    >>> Standard().fit_transform([[1.0], [3.0]])
    array([[-1.],
           [ 1.]], dtype=float32)
    """

    mean_: NDArray[np.float64]
    scale_: NDArray[np.float64]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn mean and standard deviation of each feature.

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
        rows = _dense(X)
        self.mean_ = rows.mean(axis=0)
        deviation = rows.std(axis=0)
        self.scale_ = np.where(deviation > 0, deviation, 1.0)
        return self

    def transform(self, X: Any) -> Vectors:
        """Return the rows, centred and scaled.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        matrix of shape (n_rows, n_columns)
            The transformed rows.
        """
        return np.asarray((_dense(X) - self.mean_) / self.scale_, dtype=np.float32)


class Scaled(Saved, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Scale each feature to the range from 0 to 1, for learners such as `ooz` that ignore negative values.

    0 is the minimum and 1 the maximum in the training rows. Other values are clipped, so no row is ever negative.

    Attributes
    ----------
    least_, range_ : ndarray of shape (n_features,)
        Minimum of each feature, and the distance to its maximum.

    Examples
    --------
    >>> from harness_representations.vectors import Scaled
    >>> Scaled().fit_transform([[1.0], [3.0], [5.0]])
    array([[0. ],
           [0.5],
           [1. ]], dtype=float32)
    """

    least_: NDArray[np.float64]
    range_: NDArray[np.float64]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the range of each feature.

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
        rows = _dense(X)
        self.least_ = rows.min(axis=0)
        spread = rows.max(axis=0) - self.least_
        self.range_ = np.where(spread > 0, spread, 1.0)
        return self

    def transform(self, X: Any) -> Vectors:
        """Return the rows, scaled and clipped.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        matrix of shape (n_rows, n_columns)
            The transformed rows.
        """
        return np.asarray(np.clip((_dense(X) - self.least_) / self.range_, 0.0, 1.0), dtype=np.float32)


class Frequent(Saved, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Keep only the features that occur in enough training rows, unchanged.

    Parameters
    ----------
    min_df : int, default=2
        Minimum number of training rows with a feature, at least 1.

    Attributes
    ----------
    kept_ : ndarray of int
        Numbers of the features that are kept.

    Examples
    --------
    >>> from harness_representations.vectors import Frequent
    >>> Frequent(min_df=2).fit_transform([[1, 0, 2], [3, 4, 0]]).toarray()
    array([[1],
           [3]])
    """

    kept_: NDArray[np.int64]

    def __init__(self, *, min_df: int = 2) -> None:
        self.min_df = min_df

    def _check_parameters(self) -> None:
        rules.enforce({"min_df": rules.count(self.min_df)}, vars(self))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which features are frequent.

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
        self._check_parameters()
        rows = csr_array(X)
        df = np.bincount(rows.indices, minlength=rows.shape[1])
        self.kept_ = np.flatnonzero(df >= self.min_df)
        return self

    def transform(self, X: Any) -> csr_array:
        """Return the rows with only the frequent features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        csr_array of shape (n_rows, n_columns)
            The transformed rows.
        """
        return csr_array(X)[:, self.kept_]

    def get_support(self, indices: bool = False) -> NDArray[np.int64]:
        """Return the columns that are kept, as scikit-learn's selectors do with `indices=True`."""
        if not indices:
            raise ValueError("indices=False: only indices=True is supported, since the number of columns is not stored")
        return self.kept_


def _dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
