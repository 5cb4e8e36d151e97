"""Base classes of the wrappers: they seed and fit the inner learners, and add up their sizes."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Perceptron
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from harness import AfterPass
from harness.sdk import Contributions
from harness.sdk.classifier import Classifier, Matrix
from harness.sdk.wrappers import fresh, index_size, pack_models, positions_by, scores_by, tells_scores, unpack_models


def seeded(learner: Any, seed: int) -> Any:
    """Return an unfitted copy of the learner with this seed; scikit-learn's Perceptron if `learner` is None."""
    return fresh(Perceptron() if learner is None else learner, seed)


def reports_passes(learner: Any) -> bool:
    """Return whether the learner's `fit` calls `after_pass`."""
    return "after_pass" in inspect.signature(learner.fit).parameters


def has_edges(wrapper: Wrapper) -> bool:
    """Return whether the inner learner counts the edges that it reads."""
    return hasattr(wrapper.learner, "edges_touched")


def learns_in_batches(wrapper: Wrapper) -> bool:
    """Return whether the inner learner has `partial_fit`."""
    inside = Perceptron if wrapper.learner is None else wrapper.learner
    return hasattr(inside, "partial_fit")


def _inside_has_scores(wrapper: Wrapper) -> bool:
    return wrapper.learner is None or tells_scores(wrapper.learner)


def _inside_explains(wrapper: Wrapper) -> bool:
    return hasattr(wrapper.learner, "contributions")


class Wrapper(Classifier):
    """A classifier that trains other classifiers of one kind.

    Parameters
    ----------
    learner : estimator, default=None
        Any learner. None means scikit-learn's Perceptron.

    Attributes
    ----------
    models_ : list of estimators
        The fitted inner learners.
    index_size_ : int
        Number of non-zero weights of all models; present if each model has it.
    """

    values: ClassVar[Any] = "numeric"  # the learner inside converts them
    ranks_in_threads: ClassVar[bool] = False  # the learner inside may, and knows how
    learned: ClassVar[str] = "models_"

    learner: Any
    random_state: int | np.random.RandomState | None
    models_: list[Any]
    index_size_: int

    def _measure(self) -> None:
        sizes = [index_size(model) for model in self.models_]
        known = [size for size in sizes if size is not None]
        if len(known) == len(sizes):  # a sum of what is known would pass for the whole
            self.index_size_ = sum(known)

    @available_if(has_edges)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Return the edges read per active feature by all models together; present if the inner learner has it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        k : int, default=1
            Number of classes for each row, at least 1.

        Returns
        -------
        float
            Mean over the active features of all rows.
        """
        check_is_fitted(self)
        return float(sum(model.edges_touched(X, k) for model in self.models_))

    # -- files

    def _fitted(self) -> dict[str, Any]:
        fitted = super()._fitted()
        fitted.update(pack_models(fitted.pop("models_")))
        return fitted

    def _take_up(self, fitted: dict[str, Any]) -> None:
        models = unpack_models(fitted)
        super()._take_up(fitted)
        alike = all(np.array_equal(model.classes_, self.classes_) for model in models)
        if not (models and alike):
            raise ValueError("its members do not belong together")
        self.models_ = models


class OneInside(Wrapper):
    """A classifier that trains a single inner learner and predicts like it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    models_ : list of estimators
        The fitted inner learner, as the only element.
    index_size_ : int
        Number of non-zero weights; present if the inner learner has it.
    """

    @property
    def learner_(self) -> Any:
        """The fitted inner learner."""
        check_is_fitted(self)
        (learner,) = self.models_
        return learner

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Return the predictions of the inner learner.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The best class of each row.
        """
        return np.asarray(self.learner_.predict(X))

    def _known(self, X: Matrix) -> Matrix:
        check_is_fitted(self)
        return X  # which the learner inside checks

    def _rank(self, X: Matrix, k: int) -> NDArray[np.int32]:
        return positions_by(self.learner_, X, k)

    @available_if(_inside_has_scores)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def scores(self, X: Matrix, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of the inner learner for the classes in `ranks`; 0 for pads.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        ranks : ndarray of int32, shape (n_rows, k)
            Positions in `classes_`; -1 pads.

        Returns
        -------
        ndarray of float64, shape (n_rows, k)
            The scores; 0 beside pads.
        """
        return scores_by(self.learner_, X, ranks)

    @available_if(_inside_explains)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def contributions(self, X: Matrix, ranks: NDArray[np.int32]) -> Contributions:
        """Return the parts of the scores as the learner inside does.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        ranks : ndarray of int32, shape (n_rows, k)
            Positions in `classes_`; -1 pads.

        Returns
        -------
        Contributions
            Parts by feature, and biases.
        """
        found: Contributions = self.learner_.contributions(X, ranks)
        return found

    def _fit_inside(self, learner: Any, X: Matrix, y: Any, after_pass: AfterPass) -> None:
        """Train the inner learner; if it does not report passes, its training counts as one pass."""
        if reports_passes(learner):
            learner.fit(X, y, after_pass=after_pass)
        else:
            learner.fit(X, y)
            after_pass(1)

    def _take_over(self, learner: Any) -> None:
        """Set the fitted attributes from those of the inner learner."""
        self.models_ = [learner]
        self.classes_ = learner.classes_
        self.n_features_in_ = learner.n_features_in_
        if hasattr(learner, "feature_names_in_"):
            self.feature_names_in_ = learner.feature_names_in_
        self._measure()
