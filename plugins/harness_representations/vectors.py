"""Rows of numbers to vectors: fewer dimensions, centred and scaled ones, and ones that are never negative."""

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
    """The d directions in which the training rows differ most, as scikit-learn's TruncatedSVD finds them.

    Parameters
    ----------
    d : int, default=100
        Number of dimensions, at most the number of columns.
    random_state : int, default=0
        Seed of the randomised search for directions.
    """

    components_: NDArray[np.float32]

    def __init__(self, *, d: int = 100, random_state: int = 0) -> None:
        self.d = d
        self.random_state = random_state

    def _check_parameters(self) -> None:
        rules.enforce({"d": rules.count(self.d), "random_state": rules.seed(self.random_state)}, vars(self))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions."""
        self._check_parameters()
        search = TruncatedSVD(n_components=min(self.d, X.shape[1]), random_state=self.random_state)
        self.components_ = search.fit(X).components_.astype(np.float32)
        return self

    def transform(self, X: Any) -> Vectors:
        """The rows along these directions."""
        return np.asarray(X @ self.components_.T, dtype=np.float32)

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        saving.expect(self.components_.ndim == 2 and len(self.components_) <= self.d, "components_")


class Standard(Saved, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Each feature less its mean in the training rows, by its standard deviation; one that never changes becomes 0."""

    mean_: NDArray[np.float64]
    scale_: NDArray[np.float64]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn mean and standard deviation of each feature."""
        rows = _dense(X)
        self.mean_ = rows.mean(axis=0)
        deviation = rows.std(axis=0)
        self.scale_ = np.where(deviation > 0, deviation, 1.0)
        return self

    def transform(self, X: Any) -> Vectors:
        """The rows, centred and scaled."""
        return np.asarray((_dense(X) - self.mean_) / self.scale_, dtype=np.float32)


class Scaled(Saved, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Each feature from 0, its least value in the training rows, to 1, its greatest: what `ooz` and friends can take.

    Values outside of what training met are cut off, so no row is ever negative.
    """

    least_: NDArray[np.float64]
    range_: NDArray[np.float64]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the range of each feature."""
        rows = _dense(X)
        self.least_ = rows.min(axis=0)
        spread = rows.max(axis=0) - self.least_
        self.range_ = np.where(spread > 0, spread, 1.0)
        return self

    def transform(self, X: Any) -> Vectors:
        """The rows from 0 to 1."""
        return np.asarray(np.clip((_dense(X) - self.least_) / self.range_, 0.0, 1.0), dtype=np.float32)


class Frequent(Saved, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The features that enough training rows have, unchanged.

    Parameters
    ----------
    min_df : int, default=2
        Features of fewer training rows are left out.
    """

    kept_: NDArray[np.int64]

    def __init__(self, *, min_df: int = 2) -> None:
        self.min_df = min_df

    def _check_parameters(self) -> None:
        rules.enforce({"min_df": rules.count(self.min_df)}, vars(self))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which features are frequent."""
        self._check_parameters()
        rows = csr_array(X)
        df = np.bincount(rows.indices, minlength=rows.shape[1])
        self.kept_ = np.flatnonzero(df >= self.min_df)
        return self

    def transform(self, X: Any) -> csr_array:
        """The rows with these features alone."""
        return csr_array(X)[:, self.kept_]

    def get_support(self, indices: bool = False) -> NDArray[np.int64]:
        """Return the columns that are kept, as scikit-learn's selectors do with `indices=True`."""
        if not indices:
            raise ValueError("indices=False: only indices=True is supported, since the number of columns is not stored")
        return self.kept_


def _dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
