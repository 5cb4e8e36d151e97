"""Classifiers of scikit-learn by short names, set up for many classes and sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.special import log_softmax, softmax
from sklearn import dummy, linear_model, naive_bayes, neighbors, svm
from sklearn.utils.validation import check_is_fitted, validate_data

from harness.sdk.classifier import check_sample_weight
from harness.sdk.threads import allowed_threads

ClassWeight = Literal["balanced"] | None


@contextmanager
def _allowed_jobs(learner: Any) -> Iterator[None]:
    """Set `n_jobs` to the allowed threads, and restore it afterwards, since training must not change a parameter."""
    before = learner.n_jobs
    learner.n_jobs = allowed_threads()
    try:
        yield
    finally:
        learner.n_jobs = before


class LinearSVC(svm.LinearSVC):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's LinearSVC: LIBLINEAR's one-versus-rest support vector machines.

    When to use
    -----------
    A strong flat baseline, if the number of rows times the number of classes is affordable.

    References
    ----------
    Fan, Chang, Hsieh, Wang, Lin, LIBLINEAR: a library for large linear classification, JMLR 9, 2008.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the training errors, above 0.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss function.
    tol : float, default=0.0001
        Tolerance of the stopping rule, above 0.
    max_iter : int, default=1000
        Maximum number of passes for each class.
    class_weight : "balanced" or None, default=None
        "balanced" weights classes by the inverse of their frequency.
    random_state : int or None, default=None
        Seed of the order of rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of each class.
    intercept_ : ndarray of shape (n_classes,)
        Bias of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_sklearn.presets import LinearSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = LinearSVC(C=0.01, random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        tol: float = 1e-4,
        max_iter: int = 1000,
        class_weight: ClassWeight = None,
        random_state: int | None = None,
    ) -> None:
        # Always the dual: its cost depends on the number of non-zero values.
        super().__init__(
            C=C,
            loss=loss,
            tol=tol,
            max_iter=max_iter,
            class_weight=class_weight,
            dual=True,
            random_state=random_state,
        )

    def fit(self, X: Any, y: Any) -> Any:
        """Train one machine for each class.

        There is no `sample_weight`: weights equal repeated rows at the optimum only, which `tol` and the random order
        of rows miss. `svm` has them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.

        Returns
        -------
        self
            The fitted estimator.
        """
        return super().fit(X, y)


class _SGD(linear_model.SGDClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """Stochastic gradient descent with a fixed loss, on the allowed number of threads.

    Parameters
    ----------
    alpha : float, default=0.0001
        Weight of the penalty, at least 0.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        Penalty.
    max_iter : int, default=20
        Maximum number of passes.
    tol : float or None, default=0.001
        Training stops when a pass improves the loss by less. None means never.
    average : bool, default=False
        If True, weights are averaged over all steps.
    random_state : int or None, default=None
        Seed of the order of rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of each class.
    intercept_ : ndarray of shape (n_classes,)
        Bias of each class.
    """

    LOSS: str

    def __init__(
        self,
        *,
        alpha: float = 0.0001,
        penalty: str = "l2",
        max_iter: int = 20,
        tol: float | None = 1e-3,
        average: bool = False,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            loss=self.LOSS,
            alpha=alpha,
            penalty=penalty,
            max_iter=max_iter,
            tol=tol,
            average=average,
            random_state=random_state,
        )

    def fit(self, X: Any, y: Any) -> Any:
        """Train one classifier for each class."""
        with _allowed_jobs(self):
            return super().fit(X, y)


class SGDHinge(_SGD):
    """scikit-learn's SGDClassifier with the hinge loss: a linear support vector machine for each class, online.

    When to use
    -----------
    Too many rows for a support vector machine, if a dense table of weights fits into memory.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_sklearn.presets import SGDHinge
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = SGDHinge(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    LOSS = "hinge"


class SGDLog(_SGD):
    """scikit-learn's SGDClassifier with the logistic loss: a logistic regression for each class, online.

    When to use
    -----------
    The same tasks as `sgd-hinge`, if probabilities are needed.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_sklearn.presets import SGDLog
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = SGDLog(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    LOSS = "log_loss"


class ComplementNB(naive_bayes.ComplementNB):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's ComplementNB: naive Bayes from the rows outside each class, for classes of unequal size.

    When to use
    -----------
    A first baseline within seconds, on word counts.

    References
    ----------
    Rennie, Shih, Teevan, Karger, Tackling the poor assumptions of naive Bayes text classifiers, ICML 2003.

    Parameters
    ----------
    alpha : float, default=1.0
        Smoothing, at least 0.
    norm : bool, default=False
        If True, the weights of a class are normalised a second time.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weights of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_sklearn.presets import ComplementNB
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = ComplementNB().fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 1])
    """

    def __init__(self, *, alpha: float = 1.0, norm: bool = False) -> None:
        super().__init__(alpha=alpha, norm=norm)


class Logistic(linear_model.LogisticRegression):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's LogisticRegression: one softmax over all classes.

    When to use
    -----------
    Few classes, if reliable probabilities are needed.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the training errors, above 0.
    solver : {"lbfgs", "newton-cg", "sag", "saga"}, default="lbfgs"
        Solver.
    tol : float, default=0.0001
        Tolerance of the stopping rule, above 0.
    max_iter : int, default=100
        Maximum number of steps.
    class_weight : "balanced" or None, default=None
        "balanced" weights classes by the inverse of their frequency.
    random_state : int or None, default=None
        Seed of the order of rows, for sag and saga.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of each class.
    intercept_ : ndarray of shape (n_classes,)
        Bias of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_sklearn.presets import Logistic
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Logistic(C=0.01, max_iter=500).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        solver: str = "lbfgs",
        tol: float = 1e-4,
        max_iter: int = 100,
        class_weight: ClassWeight = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            C=C, solver=solver, tol=tol, max_iter=max_iter, class_weight=class_weight, random_state=random_state
        )


class Centroid(neighbors.NearestCentroid):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's NearestCentroid: the class whose mean row is nearest.

    When to use
    -----------
    A simple baseline with a single mean per class.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.

    Parameters
    ----------
    shrink_threshold : float or None, default=None
        Amount by which class means are shrunk towards the mean of all rows, for dense rows. None means no shrinking.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    centroids_ : ndarray of shape (n_classes, n_features)
        The mean row of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_sklearn.presets import Centroid
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Centroid().fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 1])
    """

    centroids_: NDArray[np.float64]
    """Classes x features, with the values of a feature side by side for fast products with rows."""

    def __init__(self, *, shrink_threshold: float | None = None) -> None:
        super().__init__(shrink_threshold=shrink_threshold)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Compute the class means.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Class of each row.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights in the mean: a row of weight 2 counts as two rows, a row of weight 0 as none. Not with
            `shrink_threshold`.

        Returns
        -------
        self
            The fitted estimator.
        """
        if sample_weight is None:
            super().fit(X, y)
        else:
            self._fit_weighted(X, y, sample_weight)
        self.centroids_ = np.asfortranarray(self.centroids_)
        return self

    def _fit_weighted(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Compute weighted means; rows of weight 0 are left out."""
        if self.shrink_threshold:
            raise ValueError("sample_weight and shrink_threshold: expected one of them")
        rows, labels = validate_data(self, X, y, accept_sparse="csr")
        weights = check_sample_weight(sample_weight, rows.shape[0])
        weights = np.ones(rows.shape[0]) if weights is None else weights
        kept = np.flatnonzero(weights)
        rows, labels, weights = rows[kept], labels[kept], weights[kept]
        super().fit(rows, labels)
        validate_data(self, X, skip_check_array=True)  # the names of the features, which `rows` has lost
        places = np.searchsorted(self.classes_, labels)
        shares = csr_array((weights, (places, np.arange(weights.size))), shape=(self.classes_.size, weights.size))
        sums = shares @ rows
        totals = np.bincount(places, weights)[:, np.newaxis]
        self.centroids_ = (sums.toarray() if issparse(sums) else np.asarray(sums)) / totals
        del self.deviations_, self.within_class_std_dev_  # those of rows without weights, which nothing here reads

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return how near the mean of each class is, as rows x classes; for two classes, the lead of the second.

        scikit-learn's own method divides by the variance of features, so its order differs from the choice of
        `predict`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The scores, in the order of `classes_`.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", reset=False)
        squares = np.einsum("ij,ij->i", self.centroids_, self.centroids_)
        nearness = np.asarray(2 * (rows @ self.centroids_.T) - squares)
        return nearness[:, 1] - nearness[:, 0] if nearness.shape[1] == 2 else nearness

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the softmax of the negative distances, rows x classes; not calibrated.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(softmax(scores, axis=1))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(log_softmax(scores, axis=1))


class KNN(neighbors.KNeighborsClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's KNeighborsClassifier: the classes of the nearest rows by cosine, by exhaustive search.

    When to use
    -----------
    Few rows per class, if slow predictions are acceptable in exchange for fast training.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours, at least 1.
    weights : {"distance", "uniform"}, default="distance"
        Weight of a neighbour: "distance" weighs nearer ones more.
    metric : str, default="cosine"
        Distance: cosine, euclidean, or another one of scikit-learn for sparse rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_sklearn.presets import KNN
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = KNN().fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def __init__(self, *, n_neighbors: int = 5, weights: str = "distance", metric: str = "cosine") -> None:
        super().__init__(n_neighbors=n_neighbors, weights=weights, metric=metric, algorithm="brute")

    def kneighbors(self, *given: Any, **more: Any) -> Any:
        """Find the nearest rows, on the allowed number of threads."""
        with _allowed_jobs(self):
            return super().kneighbors(*given, **more)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most weight among the neighbours of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The best class of each row.
        """
        with _allowed_jobs(self):
            return np.asarray(super().predict(X))

    def predict_proba(self, X: Any) -> Any:
        """Return the share of each class in the weight of the neighbours of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows.
        """
        with _allowed_jobs(self):
            return super().predict_proba(X)


class Dummy(dummy.DummyClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's DummyClassifier: ranks classes by their number of training rows, the same for all rows.

    When to use
    -----------
    A lower bound: a learner that is not better has learned nothing.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    class_prior_ : ndarray of shape (n_classes,)
        Share of the training rows of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_sklearn.presets import Dummy
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Dummy().fit(X, y)
    >>> learner.predict(X[:3])
    array([3, 3, 3])
    """

    def __init__(self) -> None:
        super().__init__(strategy="prior")
