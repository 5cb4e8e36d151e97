"""LibMultiLabel's linear part: a tree over the labels, and a linear model for each label."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from libmultilabel.linear import linear, tree
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from harness.sdk.kernels.instances import Labels
from harness.sdk.threads import allowed_threads
from harness_peers.peer import ScoringPeer, rows_of


class _LibMultiLabel(ScoringPeer):
    """Linear models of LibMultiLabel's, which LIBLINEAR trains."""

    model_: Any
    s: int
    c: float
    e: float
    B: float

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        shape = (rows.shape[0], n_classes)
        indicator = csr_matrix((np.ones(labels.indices.size), labels.indices, labels.indptr), shape)
        return indicator, csr_matrix(rows.astype(np.float64))

    @property
    def _options(self) -> str:
        """What LIBLINEAR would be told on a command line."""
        return f"-s {self.s} -c {self.c!r} -e {self.e!r} -B {self.B!r} -q"


class OneVersusRest(_LibMultiLabel):
    """LibMultiLabel's 1vsrest: a linear model for each label, and all of them asked.

    When to use
    -----------
    To see what LibMultiLabel's tree costs in accuracy.

    References
    ----------
    Fan, Chang, Hsieh, Wang, Lin, LIBLINEAR: a library for large linear classification, JMLR 9, 2008.

    Parameters
    ----------
    s : LIBLINEAR's solver (-s), 0 to 7.
    c : weight of the training errors (-c).
    e : how near to the optimum it stops (-e).
    B : the value of a feature that every row has; below 0 for none (-B).
    """

    def __init__(self, *, s: int = 1, c: float = 1.0, e: float = 0.1, B: float = 1.0) -> None:
        self.s = s
        self.c = c
        self.e = e
        self.B = B

    def _train(self, rows: Any) -> None:
        with _as_told():
            self.model_ = linear.train_1vsrest(*rows, options=self._options, verbose=False)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Rows x classes."""
        return np.asarray(self.model_.predict_values(csr_matrix(rows_of(X))))

    @property
    def index_bytes_(self) -> int:
        """The bytes of the weights."""
        return int(self.model_.weights.nbytes)


class Tree(_LibMultiLabel):
    """LibMultiLabel's tree: labels are clustered as Bonsai does it, and linear models choose among the children.

    When to use
    -----------
    Thousands of classes or more, one label a row or several.

    References
    ----------
    Khandagale, Xiao, Babbar, Bonsai: diverse and shallow trees for extreme multi-label classification,
    Machine Learning 109, 2020.

    Parameters
    ----------
    K : children of a node at most.
    dmax : the depth at most.
    beam_width : nodes that a row follows at once.
    s : LIBLINEAR's solver (-s), 0 to 7.
    c : weight of the training errors (-c).
    e : how near to the optimum it stops (-e).
    B : the value of a feature that every row has; below 0 for none (-B).
    random_state : seed of the clusters.
    """

    def __init__(
        self,
        *,
        K: int = 100,
        dmax: int = 10,
        beam_width: int = 10,
        s: int = 1,
        c: float = 1.0,
        e: float = 0.1,
        B: float = 1.0,
        random_state: int | None = None,
    ) -> None:
        self.K = K
        self.dmax = dmax
        self.beam_width = beam_width
        self.s = s
        self.c = c
        self.e = e
        self.B = B
        self.random_state = random_state

    def _train(self, rows: Any) -> None:
        np.random.seed(self.random_state)  # the chance that its clusters are drawn from
        with _as_told():
            self.model_ = tree.train_tree(*rows, options=self._options, K=self.K, dmax=self.dmax, verbose=False)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Rows x classes; 0 for those that no path led to."""
        rows = csr_matrix(rows_of(X))
        if rows.shape[0] == 0:  # it stacks its answers row by row, and has none to stack
            return np.empty((0, self.classes_.size))
        return np.asarray(self.model_.predict_values(rows, beam_width=self.beam_width))

    @property
    def index_bytes_(self) -> int:
        """The bytes of the weights of all nodes."""
        weights = self.model_.flat_model.weights
        if not issparse(weights):
            return int(weights.nbytes)
        return int(weights.data.nbytes + weights.indices.nbytes + weights.indptr.nbytes)


@contextlib.contextmanager
def _as_told() -> Iterator[None]:
    """As many threads as are allowed, which it asks the machine for and nobody else, and no word on the terminal."""
    asked = linear.psutil
    linear.psutil = SimpleNamespace(cpu_count=lambda logical: allowed_threads())
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        linear.psutil = asked
