"""LIBLINEAR by its own Python package: one-versus-rest machines, and the machine of Crammer and Singer.

Staged, not timed: the rows in LIBLINEAR's data structure. Timed as training: learning, and copying the weights. Timed
as prediction: one matrix product.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from liblinear.liblinear import parameter, problem
from liblinear.liblinearutil import train
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from harness.sdk.kernels.instances import Labels
from harness_peers.peer import ScoringPeer, seed_c


class _Liblinear(ScoringPeer):
    """Linear weights by a solver of LIBLINEAR; rows are scored by a matrix product.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the training errors (-c).
    eps : float, default=0.1
        Tolerance of the stopping rule (-e).
    bias : float, default=-1.0
        Value of an added constant feature (-B). A value below 0 adds none.
    random_state : int or None, default=None
        Seed of the order of rows.
    """

    solver: ClassVar[int]
    coef_: NDArray[np.float64]
    """Classes x features, with the bias as last column if there is one. The weights of a feature are stored side by
    side."""

    def __init__(
        self, *, C: float = 1.0, eps: float = 0.1, bias: float = -1.0, random_state: int | None = None
    ) -> None:
        self.C = C
        self.eps = eps
        self.bias = bias
        self.random_state = random_state

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        return problem(labels.indices.astype(np.float64), csr_matrix(rows.astype(np.float64)))

    def _train(self, rows: Any) -> None:
        seed_c(self.random_state)
        options = f"-s {self.solver} -c {self.C!r} -e {self.eps!r} -B {self.bias!r} -q"
        model = train(rows, parameter(options))
        n_weights = 1 if model.nr_class == 2 and self.solver != CrammerSinger.solver else model.nr_class
        n_inputs = model.nr_feature + (1 if self.bias >= 0 else 0)
        weights = np.ctypeslib.as_array(model.w, (n_inputs, n_weights)).T
        if n_weights == 1:
            weights = np.vstack([weights, -weights])
        self.coef_ = np.zeros((self.classes_.size, n_inputs), order="F")
        self.coef_[[int(label) for label in model.label[: model.nr_class]]] = weights

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        """Return the scores that LIBLINEAR's own predict computes, as one matrix product."""
        scores: NDArray[np.float64] = rows @ self.coef_[:, : self.n_features_in_].T
        return scores + self.bias * self.coef_[:, -1] if self.bias >= 0 else scores


class L2SVC(_Liblinear):
    """LIBLINEAR's L2-regularised L2-loss support vector machines, one against the rest, in the dual (-s 1).

    When to use
    -----------
    A strong flat baseline, in the implementation of its authors.

    References
    ----------
    Fan, Chang, Hsieh, Wang, Lin, LIBLINEAR: a library for large linear classification, JMLR 9, 2008.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    coef_ : ndarray of shape (n_classes, n_features) or (n_classes, n_features + 1)
        The weights, followed by the biases if there are any.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.linear import L2SVC
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = L2SVC(C=0.01, random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    solver = 1


class CrammerSinger(_Liblinear):
    """LIBLINEAR's multi-class support vector machine of Crammer and Singer (-s 4).

    When to use
    -----------
    The same tasks as `liblinear-l2`, if all classes should be trained in one problem.

    References
    ----------
    Crammer, Singer, On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2,
    2001.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    coef_ : ndarray of shape (n_classes, n_features) or (n_classes, n_features + 1)
        The weights, followed by the biases if there are any.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.linear import CrammerSinger
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = CrammerSinger(C=0.01, random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    solver = 4
