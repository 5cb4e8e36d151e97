"""LIBLINEAR by its own Python package: one-versus-rest machines, and Crammer and Singer's."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

import numpy as np
from liblinear.liblinear import parameter, problem
from liblinear.liblinearutil import train
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from harness.sdk.kernels.instances import Labels
from harness_peers.peer import Peer, pad, rows_of

MOST_VALUES = 4_000_000
"""Scores held at once."""


class _Liblinear(Peer):
    """Linear weights by one of LIBLINEAR's solvers; rows are scored as a product of matrices."""

    solver: ClassVar[int]
    coef_: NDArray[np.float64]
    """Classes x features, the bias behind them where there is one."""

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
        if self.random_state is not None:
            ctypes.CDLL(None).srand(ctypes.c_uint(self.random_state))  # the chance that LIBLINEAR draws from
        options = f"-s {self.solver} -c {self.C!r} -e {self.eps!r} -B {self.bias!r} -q"
        model = train(rows, parameter(options))
        n_weights = 1 if model.nr_class == 2 and self.solver != CrammerSinger.solver else model.nr_class
        n_inputs = model.nr_feature + (1 if self.bias >= 0 else 0)
        weights = np.ctypeslib.as_array(model.w, (n_inputs, n_weights)).T
        if n_weights == 1:
            weights = np.vstack([weights, -weights])
        self.coef_ = np.zeros((self.classes_.size, n_inputs))
        self.coef_[[int(label) for label in model.label[: model.nr_class]]] = weights

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first; -1 pads."""
        rows = rows_of(X)
        step = max(1, MOST_VALUES // self.classes_.size)
        blocks = [np.empty((0, k), np.int32)]
        for start in range(0, rows.shape[0], step):
            scores = self._scores(rows[start : start + step])
            blocks.append(pad(np.argsort(-scores, axis=1, kind="stable"), k))
        return np.concatenate(blocks)

    def _scores(self, rows: csr_array) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = rows @ self.coef_[:, : self.n_features_in_].T
        return scores + self.bias * self.coef_[:, -1] if self.bias >= 0 else scores


class L2SVC(_Liblinear):
    """LIBLINEAR's L2-regularised L2-loss support vector machines, one against the rest, in the dual (-s 1).

    Parameters
    ----------
    C : weight of the training errors (-c).
    eps : how near to the optimum it stops (-e).
    bias : the value of a feature that every row has; below 0 for none (-B).
    random_state : seed of the order of rows.

    References: Fan, Chang, Hsieh, Wang, Lin, LIBLINEAR: a library for large linear classification, JMLR 9, 2008.
    """

    solver = 1


class CrammerSinger(_Liblinear):
    """LIBLINEAR's multi-class support vector machine of Crammer and Singer (-s 4).

    Parameters
    ----------
    C : weight of the training errors (-c).
    eps : how near to the optimum it stops (-e).
    bias : the value of a feature that every row has; below 0 for none (-B).
    random_state : seed of the order of rows.

    References: Crammer, Singer, On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2,
    2001.
    """

    solver = 4
