"""Classifiers of scikit-learn by short names, set up for many classes and sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn import dummy, linear_model, naive_bayes, neighbors, svm
from sklearn.utils.validation import check_is_fitted, validate_data

from harness.sdk.threads import allowed_threads

ClassWeight = Literal["balanced"] | None


@contextmanager
def _allowed_jobs(learner: Any) -> Iterator[None]:
    """Set `n_jobs` to the allowed threads, and back afterwards: training and prediction must not change a parameter."""
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
    The flat method to beat, where rows times classes can be waited for.

    References
    ----------
    Fan, Chang, Hsieh, Wang, Lin, LIBLINEAR: a library for large linear classification, JMLR 9, 2008.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the training errors.
    loss : str, default="squared_hinge"
        Loss function: squared_hinge or hinge.
    tol : float, default=0.0001
        Tolerance of the stopping rule.
    max_iter : int, default=1000
        Maximum number of passes for each class.
    class_weight : "balanced" or None, default=None
        "balanced" weights classes by the inverse of their frequency.
    random_state : int or None, default=None
        Seed of the order of rows.
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
        # The dual, whatever there are more of: its cost goes with the values that are not 0.
        super().__init__(
            C=C,
            loss=loss,
            tol=tol,
            max_iter=max_iter,
            class_weight=class_weight,
            dual=True,
            random_state=random_state,
        )


class _SGD(linear_model.SGDClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """Stochastic gradient descent with a fixed loss, on as many threads as are allowed.

    Parameters
    ----------
    alpha : float, default=0.0001
        Weight of the penalty.
    penalty : str, default="l2"
        Penalty: l2, l1 or elasticnet.
    max_iter : int, default=20
        Maximum number of passes.
    tol : float or None, default=0.001
        Training stops when a pass improves the loss by less.
    average : bool, default=False
        If True, weights are averaged over all steps.
    random_state : int or None, default=None
        Seed of the order of rows.
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
    More rows than a support vector machine can be waited for, and room for a dense table of weights.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.
    """

    LOSS = "hinge"


class SGDLog(_SGD):
    """scikit-learn's SGDClassifier with the logistic loss: a logistic regression for each class, online.

    When to use
    -----------
    As sgd-hinge, where probabilities are wanted.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.
    """

    LOSS = "log_loss"


class ComplementNB(naive_bayes.ComplementNB):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's ComplementNB: naive Bayes from the rows that a class does not have, for uneven classes.

    When to use
    -----------
    A first number within seconds, on counts of words.

    References
    ----------
    Rennie, Shih, Teevan, Karger, Tackling the poor assumptions of naive Bayes text classifiers, ICML 2003.

    Parameters
    ----------
    alpha : float, default=1.0
        Smoothing.
    norm : bool, default=False
        If True, the weights of a class are normalised a second time.
    """

    def __init__(self, *, alpha: float = 1.0, norm: bool = False) -> None:
        super().__init__(alpha=alpha, norm=norm)


class Logistic(linear_model.LogisticRegression):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's LogisticRegression: one softmax over all classes.

    When to use
    -----------
    Few classes, and probabilities that come true.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the training errors.
    solver : str, default="lbfgs"
        Solver: lbfgs, newton-cg, sag or saga.
    tol : float, default=0.0001
        Tolerance of the stopping rule.
    max_iter : int, default=100
        Maximum number of steps.
    class_weight : "balanced" or None, default=None
        "balanced" weights classes by the inverse of their frequency.
    random_state : int or None, default=None
        Seed of the order of rows, for sag and saga.
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
    To see how far one mean a class goes.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.

    Parameters
    ----------
    shrink_threshold : float or None, default=None
        Amount by which class means are shrunk to the mean of all rows, for dense rows. None means no shrinking.
    """

    centroids_: NDArray[np.float64]
    """Classes x features; a feature's values lie together, as products with rows ask."""

    def __init__(self, *, shrink_threshold: float | None = None) -> None:
        super().__init__(shrink_threshold=shrink_threshold)

    def fit(self, X: Any, y: Any) -> Any:
        """Find the means."""
        super().fit(X, y)
        self.centroids_ = np.asfortranarray(self.centroids_)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return how near the mean of each class is, rows x classes; for two classes, the lead of the second.

        scikit-learn's own divides by how much features vary, and so ranks otherwise than `predict` chooses.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", reset=False)
        squares = np.einsum("ij,ij->i", self.centroids_, self.centroids_)
        nearness = np.asarray(2 * (rows @ self.centroids_.T) - squares)
        return nearness[:, 1] - nearness[:, 0] if nearness.shape[1] == 2 else nearness

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the softmax of how near the means are: rows x classes, not calibrated."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(softmax(scores, axis=1))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of `predict_proba`."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(log_softmax(scores, axis=1))


class KNN(neighbors.KNeighborsClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's KNeighborsClassifier: the classes of the rows that are nearest by cosine, all rows looked at.

    When to use
    -----------
    Few rows a class, and time when asked rather than before.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours.
    weights : str, default="distance"
        Weight of a neighbour: distance, more for nearer ones, or uniform.
    metric : str, default="cosine"
        Distance: cosine, euclidean, or another one of scikit-learn for sparse rows.
    """

    def __init__(self, *, n_neighbors: int = 5, weights: str = "distance", metric: str = "cosine") -> None:
        super().__init__(n_neighbors=n_neighbors, weights=weights, metric=metric, algorithm="brute")

    def kneighbors(self, *given: Any, **more: Any) -> Any:
        """Find the nearest rows, on as many threads as are allowed."""
        with _allowed_jobs(self):
            return super().kneighbors(*given, **more)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most weight among the neighbours of each row."""
        with _allowed_jobs(self):
            return np.asarray(super().predict(X))

    def predict_proba(self, X: Any) -> Any:
        """Return the share of each class in the weight of the neighbours of each row."""
        with _allowed_jobs(self):
            return super().predict_proba(X)


class Dummy(dummy.DummyClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's DummyClassifier: ranks classes by how many rows they have, whatever the row.

    When to use
    -----------
    As a lower bound: a learner that is not better has learned nothing.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.
    """

    def __init__(self) -> None:
        super().__init__(strategy="prior")
