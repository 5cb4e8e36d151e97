"""The base of a learner: what scikit-learn and the host ask of a classifier, but for its training and its scores."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from harness.sdk import archive, rules
from harness.sdk.kernels.density import RANKED_ROWS, dense_rows, pays_as_dense
from harness.sdk.kernels.instances import Labels, canonical_rows, rows_between
from harness.sdk.labels import as_labels, extend, has_several, name_labels
from harness.sdk.saving import Saved
from harness.sdk.threads import in_threads, stretches

LEAST_SHARED_ROWS = RANKED_ROWS
"""Fewer rows than that a thread are not worth starting one; and dense rows must not be parted elsewhere."""

Matrix = Any
"""A dense or sparse matrix, or a data frame: whatever scikit-learn's validation takes."""
Examples = Any
"""A csr_array of float32 with each feature once in a row; an array where rows are dense and the learner takes such."""


class Classifier(Saved, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier but for its training and its ranking.

    A learner supplies `_rules`, `fit` and `_rank`. Its `fit` begins with `X, labels = self._begin(X, y)`; where it has
    a `partial_fit`, that begins with `_begin_batch`. All that it learns is in attributes that end in `_`: arrays,
    numbers, and named tuples of arrays. These are what is saved, and what the next `fit` forgets.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions: sorted, then those that later batches brought.
    n_features_in_ : the number of features.
    """

    takes_several: ClassVar[bool] = False
    """Whether a row may have any number of labels: y is then an indicator matrix, rows x classes."""
    values: ClassVar[Any] = np.float32
    """The type of X's values in training and ranking, as scikit-learn's validation takes it."""
    ranks_in_threads: ClassVar[bool] = True
    """Whether rows are shared out among the threads that are allowed: `_rank` is then called in each of them."""
    takes_dense: ClassVar[bool] = False
    """Whether rows of which few values are 0 come as an array of float32, in whichever form they were given."""
    learned: ClassVar[str] = "classes_"
    """The attribute that training sets last: who has it is fitted."""

    classes_: NDArray[Any]
    n_features_in_: int

    # -- what a learner supplies

    @abstractmethod
    def _rules(self) -> dict[str, rules.Rule]:
        """The rule of each parameter but those of `_shared_rules`."""

    @abstractmethod
    def _rank(self, X: Examples, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first; -1 pads."""

    def _shared_rules(self) -> dict[str, rules.Rule]:
        """The rules of parameters that learners of one kind have in common."""
        if "random_state" in vars(self):
            return {"random_state": rules.seed(self.random_state)}
        return {}

    def check_params(self) -> None:
        """Raise ValueError for the first parameter that `fit` would refuse: the host asks before any training."""
        self._check_parameters()

    # -- learning

    def _begin(self, X: Matrix, y: ArrayLike) -> tuple[Examples, Labels]:
        """Begin to train from nothing; gives the rows, and their labels as positions in `classes_`."""
        X, y = self._start_over(X, y)
        starts, names, self.classes_ = name_labels(y)
        return self._as_rows(X), as_labels(starts, names, self.classes_)

    def _begin_batch(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> tuple[Examples, Labels, bool]:
        """Begin to learn from a batch; gives the rows, their labels by position, and whether this is the first batch.

        Classes that are new, from y or from `classes`, get the next positions; columns of X that are new become new
        features: `classes_` and `n_features_in_` have grown. A batch that is refused changes nothing.
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
        """Check the parameters, forget what was learned, check the data; gives these as arrays, dense or sparse."""
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
        with warnings.catch_warnings():  # many classes on few rows are nothing to be warned of
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(labels)
        return rows, labels

    def _take_features(self, X: Matrix, reset: bool) -> None:
        """Note the number and the names of the features, or see that they are those that were noted."""
        validate_data(self, X, reset=reset, skip_check_array=True)

    def _is_wider(self, X: Matrix, n_features: int) -> bool:
        """Whether X brings new features behind those that are known."""
        known = self.n_features_in_
        if n_features <= known:
            return False
        names = getattr(self, "feature_names_in_", None)
        if names is not None and list(getattr(X, "columns", names)[:known]) != list(names):
            raise ValueError("new features must come behind those that are known, in the same order")
        return True

    def _as_rows(self, X: Matrix) -> Examples:
        """Checked data as the learner takes them."""
        if self.takes_dense and pays_as_dense(X, self.classes_.size):
            return dense_rows(X)
        return canonical_rows(X)

    def _generator(self) -> np.random.Generator:
        """What training draws from: equal seeds give equal draws."""
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))

    # -- asking

    def predict(self, X: Matrix) -> NDArray[Any]:
        """The best class of each row. A row that ranks no class, as one without features may, gets `classes_[0]`."""
        best = self.rank(X, 1)[:, 0]
        return self.classes_[np.maximum(best, 0)]

    def rank(self, X: Matrix, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first; -1 pads."""
        rows = self._known(X)
        rules.enforce({"k": rules.count(k)}, {"k": k})
        self._get_ready()
        parts = stretches(rows.shape[0], least=LEAST_SHARED_ROWS) if self.ranks_in_threads else []
        if len(parts) <= 1:
            return self._rank(rows, k)
        return np.concatenate(in_threads(lambda part: self._rank(rows_between(rows, part), k), parts))

    def _get_ready(self) -> None:  # most learners are ready once they are trained
        """Make what ranking needs and training has left to do: after it `_rank` changes nothing, in any thread."""

    def _known(self, X: Matrix) -> Examples:
        """The rows of X, which has the features of training."""
        check_is_fitted(self)
        checks = {"accept_sparse": "csr", "dtype": self.values, "reset": False}
        if self.takes_dense and isinstance(X, np.ndarray):
            rows = validate_data(self, X, ensure_all_finite=False, **checks)
            if pays_as_dense(rows, self.classes_.size):  # who knows the largest value knows that all are finite
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
        archive.expect(self.classes_.ndim == 1 and isinstance(self.n_features_in_, int), "classes_")
