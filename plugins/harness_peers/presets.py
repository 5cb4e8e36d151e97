"""Classifiers of scikit-learn by short names, set up for many classes and sparse rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import dummy, linear_model, naive_bayes, neighbors, svm
from sklearn.utils.validation import check_is_fitted, validate_data

from harness.sdk.threads import allowed_threads

ClassWeight = Literal["balanced"] | None


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
    C : weight of the training errors.
    loss : squared_hinge or hinge.
    tol : how near to the optimum it stops.
    max_iter : passes at most, for each class.
    class_weight : None, or balanced for weights by the rarity of classes.
    random_state : seed of the order of rows.
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
    """Stochastic gradient descent with a loss of its own, and as many threads as are allowed."""

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
        self.n_jobs = allowed_threads()
        return super().fit(X, y)


class SGDHinge(_SGD):
    """scikit-learn's SGDClassifier with the hinge loss: a linear support vector machine for each class, online.

    When to use
    -----------
    More rows than a support vector machine can be waited for, and room for a dense table of weights.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.

    Parameters
    ----------
    alpha : weight of the penalty.
    penalty : l2, l1 or elasticnet.
    max_iter : passes at most.
    tol : how little a pass may bring before it stops.
    average : whether weights are averaged over all steps.
    random_state : seed of the order of rows.
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

    Parameters
    ----------
    alpha : weight of the penalty.
    penalty : l2, l1 or elasticnet.
    max_iter : passes at most.
    tol : how little a pass may bring before it stops.
    average : whether weights are averaged over all steps.
    random_state : seed of the order of rows.
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
    alpha : smoothing.
    norm : whether the weights of a class are normalised a second time.
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
    C : weight of the training errors.
    solver : lbfgs, newton-cg, sag or saga.
    tol : how near to the optimum it stops.
    max_iter : steps at most.
    class_weight : None, or balanced for weights by the rarity of classes.
    random_state : seed of the order of rows, for sag and saga.
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
    shrink_threshold : how far class means are drawn to that of all rows, for dense rows; None for not at all.
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
        """Rows x classes: the higher, the nearer the mean.

        scikit-learn's own divides by how much features vary, and so ranks otherwise than `predict` chooses.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", reset=False)
        squares = np.einsum("ij,ij->i", self.centroids_, self.centroids_)
        return np.asarray(2 * (rows @ self.centroids_.T) - squares)


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
    n_neighbors : how many rows have a say.
    weights : distance, by which nearer ones have more of it, or uniform.
    metric : cosine, euclidean, or another that scikit-learn has for sparse rows.
    """

    def __init__(self, *, n_neighbors: int = 5, weights: str = "distance", metric: str = "cosine") -> None:
        super().__init__(n_neighbors=n_neighbors, weights=weights, metric=metric, algorithm="brute")

    def fit(self, X: Any, y: Any) -> Any:
        """Keep the rows."""
        self.n_jobs = allowed_threads()
        return super().fit(X, y)


class Dummy(dummy.DummyClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's DummyClassifier: ranks classes by how many rows they have, whatever the row.

    When to use
    -----------
    To see what a number is worth: whoever is not better has learned nothing.

    References
    ----------
    Pedregosa and others, Scikit-learn: machine learning in Python, JMLR 12, 2011.
    """

    def __init__(self) -> None:
        super().__init__(strategy="prior")
