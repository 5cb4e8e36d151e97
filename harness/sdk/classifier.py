"""`Classifier`, the base class of learners: everything of a scikit-learn classifier except training and ranking."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, is_multilabel
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from harness.sdk import rules, saving
from harness.sdk.contributions import Contributions
from harness.sdk.kernels.instances import (
    RANKED_ROWS,
    Labels,
    canonical_rows,
    dense_rows,
    frozen,
    pays_as_dense,
    rows_between,
)
from harness.sdk.saving import Saved
from harness.sdk.threads import in_threads, stretches

LEAST_SHARED_ROWS = RANKED_ROWS
"""Rows for which a thread pays. Dense rows are split at multiples of it only."""
MOST_SCORES = 2**27
"""The most scores that `decision_function` returns: 1 GB."""
Matrix = Any
"""A dense or sparse matrix, or a data frame, as for scikit-learn."""
Examples = Any
"""A csr_array of float32 without duplicates; an array for dense rows if the learner takes them."""


def _has_scores(learner: Classifier) -> bool:
    return hasattr(learner, "scores")


def _explains_pairs(learner: SearchScores) -> bool:
    return hasattr(learner, "_explain_pairs")


class Classifier(Saved, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn ships no types
    """Base class of learners.

    A learner implements `_rules`, `fit` and `_rank`. Its `fit` begins with `X, labels = self._begin(X, y)`; its
    `partial_fit`, if any, begins with `_begin_batch`. Fitted attributes end in `_`: arrays, numbers, and named tuples
    of arrays. These are saved, and the next `fit` deletes them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by those of later batches.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X was a data frame.
    """

    takes_several: ClassVar[bool] = False
    """True if rows may have several labels: y may then be an indicator matrix, rows x classes."""
    values: ClassVar[Any] = np.float32
    """The type of the values of X, as for scikit-learn's validation."""
    ranks_in_threads: ClassVar[bool] = True
    """True if rows are ranked on all allowed threads: each of them calls `_rank`."""
    takes_dense: ClassVar[bool] = False
    """True if rows with few zeros are passed as an array of float32, also if X is sparse."""
    learned: ClassVar[str] = "classes_"
    """The attribute that training sets last; it marks a fitted learner."""

    classes_: NDArray[Any]
    n_features_in_: int

    # -- to implement

    @abstractmethod
    def _rules(self) -> dict[str, rules.Rule]:
        """Return the rule of each parameter that is not in `_shared_rules`."""

    @abstractmethod
    def _rank(self, X: Examples, k: int) -> NDArray[np.int32]:
        """Return the positions in `classes_` of the k best classes of each row, best first; -1 pads."""

    def _shared_rules(self) -> dict[str, rules.Rule]:
        """Return the rules of parameters that learners of one kind share."""
        if "random_state" in vars(self):
            return {"random_state": rules.seed(self.random_state)}
        return {}

    def check_params(self) -> None:
        """Raise ValueError for the first invalid parameter; called before training."""
        self._check_parameters()

    # -- training

    def _begin(self, X: Matrix, y: ArrayLike) -> tuple[Examples, Labels]:
        """Start training: return the rows, and their labels as positions in `classes_`."""
        rows, labels, _ = self._begin_weighted(X, y, None)
        return rows, labels

    def _begin_weighted(
        self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Examples, Labels, NDArray[np.float64] | None]:
        """Start training on rows with weights: also return the weights above 0, or None if all weights are 1.

        A row of weight 0 is left out, also from `classes_`.
        """
        X, y = self._start_over(X, y)
        weights = check_sample_weight(sample_weight, X.shape[0])
        if weights is not None and not weights.all():
            kept = np.flatnonzero(weights)
            X, y, weights = X[kept], y[kept], weights[kept]
        starts, names, self.classes_ = name_labels(y)
        return self._as_rows(X), as_labels(starts, names, self.classes_), weights

    def _begin_batch(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> tuple[Examples, Labels, bool]:
        """Start a batch: return the rows, their labels as positions, and whether this is the first batch.

        New classes, from y or from `classes`, get the next positions. New columns of X become new features. A batch
        that is refused changes nothing.
        """
        self._check_parameters()
        first = not self.__sklearn_is_fitted__()
        checked, y = self._check_data(X, y)
        starts, names, known = name_labels(y)
        if classes is not None:
            known = extend(np.unique(np.asarray(classes)), known)
        if not first:
            known = extend(self.classes_, known)
        self._take_features(X, reset=first or self._is_wider(X, checked.shape[1]))
        self.classes_ = known
        return self._as_rows(checked), as_labels(starts, names, known), first

    def _start_over(self, X: Matrix, y: ArrayLike) -> tuple[Any, NDArray[Any]]:
        """Check the parameters, delete fitted attributes, check the data; return it as arrays, dense or sparse."""
        self._check_parameters()
        self._forget()
        checked, y = self._check_data(X, y)
        self._take_features(X, reset=True)
        return checked, y

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _check_parameters(self) -> None:
        rules.enforce({**self._rules(), **self._shared_rules()}, vars(self))

    def _check_data(self, X: Matrix, y: ArrayLike) -> tuple[Any, NDArray[Any]]:
        several = self.takes_several and has_several(y)
        rows, labels = check_X_y(X, y, accept_sparse="csr", dtype=self.values, multi_output=several, estimator=self)
        with warnings.catch_warnings():  # many classes on few rows are normal here
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(labels)
        return rows, labels

    def _take_features(self, X: Matrix, reset: bool) -> None:
        """Store the number and the names of the features, or compare them with the stored ones."""
        validate_data(self, X, reset=reset, skip_check_array=True)

    def _is_wider(self, X: Matrix, n_features: int) -> bool:
        """Return whether X has new features after the known ones."""
        known = self.n_features_in_
        if n_features <= known:
            return False
        names = getattr(self, "feature_names_in_", None)
        if names is not None and list(getattr(X, "columns", names)[:known]) != list(names):
            raise ValueError("new features must come behind those that are known, in the same order")
        return True

    def _as_rows(self, X: Matrix) -> Examples:
        """Return checked data in the form that the learner takes."""
        if self.takes_dense and pays_as_dense(X, self.classes_.size):
            return dense_rows(X)
        return canonical_rows(X)

    def _generator(self) -> np.random.Generator:
        """Return the random generator of training."""
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))

    # -- prediction

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Return the best class of each row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows, dense or sparse.

        Returns
        -------
        ndarray of shape (n_rows,)
            Classes; `classes_[0]` for a row that ranks no class.
        """
        best = self.rank(X, 1)[:, 0]
        return self.classes_[np.maximum(best, 0)]

    def rank(self, X: Matrix, k: int) -> NDArray[np.int32]:
        """Return the best classes of each row.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows, dense or sparse.
        k : int
            Number of classes for each row, at least 1.

        Returns
        -------
        ndarray of int32, shape (n_rows, k)
            Positions in `classes_`, best first; -1 pads.

        Raises
        ------
        ValueError
            If k is not a positive integer, or if X has another number of features.
        """
        rows = self._known(X)
        rules.enforce({"k": rules.count(k)}, {"k": k})
        self._get_ready()
        parts = stretches(rows.shape[0], least=LEAST_SHARED_ROWS) if self.ranks_in_threads else []
        if len(parts) <= 1:
            return self._rank(rows, k)
        return np.concatenate(in_threads(lambda part: self._rank(rows_between(rows, part), k), parts))

    @available_if(_has_scores)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def decision_function(self, X: Matrix) -> NDArray[np.float64]:
        """Return the score of every class, as scikit-learn's classifiers do.

        The class of the highest score is the one that `predict` returns.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes_`. For two classes, an array of shape (n_rows,): the lead of `classes_[1]`.

        Raises
        ------
        ValueError
            If there are more than `MOST_SCORES` scores. `rank(X, k)` and `scores(X, ranks)` have no such limit.
        """
        n_rows, n_classes = self._known(X).shape[0], self.classes_.size
        if n_rows * n_classes > MOST_SCORES:
            raise ValueError(
                f"{n_rows:,} rows x {n_classes:,} classes are more scores than decision_function returns, "
                f"{MOST_SCORES:,}: use rank(X, k) and scores(X, ranks), or fewer rows at a time"
            )
        every = np.tile(np.arange(n_classes, dtype=np.int32), (n_rows, 1))
        scores = with_first_ahead(self.scores(X, every), self.rank(X, 1)[:, 0])
        return scores[:, 1] - scores[:, 0] if n_classes == 2 else scores

    def _get_ready(self) -> None:  # most learners are ready after training
        """Prepare ranking; after it `_rank` changes nothing, in any thread."""

    def _known(self, X: Matrix) -> Examples:
        """Return the rows of X, which must have the features of training."""
        check_is_fitted(self)
        checks = {"accept_sparse": "csr", "dtype": self.values, "reset": False}
        if self.takes_dense and isinstance(X, np.ndarray):
            rows = validate_data(self, X, ensure_all_finite=False, **checks)
            if pays_as_dense(rows, self.classes_.size):  # a finite largest value proves that all are finite
                return dense_rows(rows)
        return self._as_rows(validate_data(self, X, **checks))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self.learned)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- files

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        saving.expect(self.classes_.ndim == 1 and isinstance(self.n_features_in_, int), "classes_")


class SearchScores(ABC):
    """Scores for learners whose ranking is a search or rounds otherwise: a mixin, named before `Classifier`.

    The learner implements `_score_pairs`, and `_explain_pairs` if its scores are sums over features. A greedy search
    may end at a class whose score is not the highest one. So the predicted class gets the highest score of its row, and
    scores never rise along a ranking.
    """

    classes_: NDArray[Any]

    @abstractmethod
    def _score_pairs(self, rows: Examples, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the score of each class in `ranks`; any number beside pads, -inf for classes that are never ranked."""

    def scores(self, X: Matrix, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of the classes in `ranks`; 0 beside pads.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        ranks : ndarray of shape (n_rows, k)
            A ranking, as `rank` returns it; or all classes in the order of `classes_`.

        Returns
        -------
        ndarray of float64, shape (n_rows, k)
            The scores; 0 beside pads.
        """
        rows = self._known(X)  # type: ignore[attr-defined]  # of Classifier
        first = self.rank(X, 1)  # type: ignore[attr-defined]
        found = np.maximum(self._score_pairs(rows, ranks), LOWEST_SCORE)
        found[ranks < 0] = 0.0
        every = np.arange(self.classes_.size)
        if ranks.shape[1] == every.size and bool((ranks == every).all()):
            return with_first_ahead(found, first[:, 0])
        listed = np.where(ranks < 0, -np.inf, found)
        is_first = ranks == first
        found = np.where(is_first, listed.max(axis=1, keepdims=True, initial=LOWEST_SCORE), found)
        falling: NDArray[np.float64] = np.minimum.accumulate(found, axis=1)
        return np.where(ranks < 0, 0.0, falling)

    @available_if(_explains_pairs)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def contributions(self, X: Matrix, ranks: NDArray[np.int32]) -> Contributions:
        """Return the part of each feature in the scores of ranked classes.

        Where the ranking differs from the scores of pairs, the bias holds the difference.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        ranks : ndarray of shape (n_rows, k)
            Positions in `classes_`; -1 pads.

        Returns
        -------
        Contributions
            Parts by feature, and biases.
        """
        rows, scores = self._known(X), self.scores(X, ranks)  # type: ignore[attr-defined]  # of Classifier
        found: Contributions = self._explain_pairs(rows, ranks)  # type: ignore[attr-defined]  # of some learners
        of_pairs = self._score_pairs(rows, ranks)
        is_known = np.isfinite(of_pairs)
        moved = scores - np.where(is_known, of_pairs, 0.0)
        bias = np.where(is_known, found.bias, 0.0) + moved
        return Contributions(found.parts, np.where(ranks < 0, 0.0, bias))


LOWEST_SCORE = float(np.finfo(np.float32).min)


def with_first_ahead(scores: NDArray[np.float64], first: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the scores of all classes, where the first one of each row has the highest score.

    Parameters
    ----------
    scores : ndarray of float64
        Scores of all classes of each row. The array is changed.
    first : ndarray of int32
        Position of the predicted class of each row; -1 for none.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_classes)
        The changed array.
    """
    rows = np.flatnonzero((first >= 0) & (scores.argmax(axis=1) != first)) if scores.size else np.empty(0, np.int64)
    scores[rows, first[rows]] = np.nextafter(scores[rows].max(axis=1, initial=LOWEST_SCORE), np.inf)
    return scores


# -- weights of rows -------------------------------------------------------------------------------------------------


def check_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Return the weights of rows as numbers.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or None
        A weight of at least 0 for each row.
    n_rows : int
        Number of rows.

    Returns
    -------
    ndarray of float64, shape (n_rows,), or None
        The weights; None if there are none, or if all are 1.

    Raises
    ------
    ValueError
        If the shape differs, if a weight is negative or not finite, or if all are zero.

    Examples
    --------
    >>> check_sample_weight([1, 2], 2)
    array([1., 2.])
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n_rows},): one weight for each row")
    if not np.isfinite(weights).all() or weights.min(initial=0.0) < 0:
        raise ValueError("sample_weight has a weight that is negative or not finite")
    if not weights.any():
        raise ValueError("all weights in sample_weight are zero")
    return None if (weights == 1).all() else weights


# -- labels ----------------------------------------------------------------------------------------------------------


def has_several(y: Any) -> bool:
    """Return whether y is an indicator matrix.

    Parameters
    ----------
    y : object
        Labels of any form that scikit-learn takes.

    Returns
    -------
    bool
        True for rows x classes, False for one label a row.
    """
    return issparse(y) or (y is not None and bool(is_multilabel(y)))


def position_labels(y: Any) -> tuple[Labels, NDArray[Any]]:
    """Return the labels of each row as positions, and the classes that these are positions in.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or sparse matrix of shape (n_rows, n_classes)
        One label a row, or an indicator matrix.

    Returns
    -------
    labels : Labels
        Positions of the classes of each row.
    classes : ndarray of shape (n_classes,)
        Sorted labels, or the column numbers of an indicator matrix.
    """
    starts, names, classes = name_labels(y if issparse(y) else np.asarray(y))
    return as_labels(starts, names, classes), classes


def name_labels(y: Any) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """Return the start of each row's labels, the labels, and the sorted classes of y.

    The classes of an indicator matrix are the numbers of its columns.

    Parameters
    ----------
    y : object
        One label for each row, or an indicator matrix.

    Returns
    -------
    starts : ndarray of int64, shape (n_rows + 1,)
        Position of the first label of each row, and the number of labels.
    labels : ndarray
        Labels of all rows, one row after the other.
    classes : ndarray of shape (n_classes,)
        Sorted classes.
    """
    if not has_several(y):
        return np.arange(y.size + 1, dtype=np.int64), y, np.unique(y)
    indicator = csr_array(y, copy=True)
    indicator.sum_duplicates()
    indicator.eliminate_zeros()
    return indicator.indptr.astype(np.int64), indicator.indices.astype(np.int64), np.arange(indicator.shape[1])


def extend(classes: NDArray[Any], found: NDArray[Any]) -> NDArray[Any]:
    """Return the classes, followed by the new ones: no class changes its position.

    Parameters
    ----------
    classes : ndarray
        The known classes, in the order of their positions.
    found : ndarray
        Classes of a batch, known or new.

    Returns
    -------
    ndarray
        The classes by position.

    Raises
    ------
    ValueError
        If one of them has text and the other has numbers.

    Examples
    --------
    >>> extend(np.array([2, 1]), np.array([3, 2])).tolist()
    [2, 1, 3]
    """
    if _is_text(classes) != _is_text(found):
        raise ValueError(f"new classes {found[:3].tolist()} are of another kind than {classes[:3].tolist()}")
    new = np.setdiff1d(found, classes)
    return np.concatenate([classes, new]) if new.size else classes


def as_labels(starts: NDArray[np.int64], labels: NDArray[Any], classes: NDArray[Any]) -> Labels:
    """Return the labels as positions in `classes`, which need not be sorted.

    Parameters
    ----------
    starts : ndarray of int64
        Position of the first label of each row in `labels`, and the number of labels.
    labels : ndarray
        Labels of all rows, one row after the other.
    classes : ndarray
        The classes in the order of their positions.

    Returns
    -------
    Labels
        Positions of the classes of each row.
    """
    by_name = np.argsort(classes, kind="stable")
    places = np.searchsorted(classes, labels, sorter=by_name)
    return Labels(frozen(starts, np.int64), frozen(by_name[places], np.int32))


def _is_text(classes: NDArray[Any]) -> bool:
    return classes.dtype.kind in "OSUT"
