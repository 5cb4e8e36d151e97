"""PECOS: a tree of label clusters with linear rankers, and linear rankers without a tree.

Staged, not timed: the rows and labels as matrices. Timed as training: clustering the labels, learning, and saving and
loading the model, since only a loaded model predicts at full speed. Timed as prediction: `predict`.
"""

from __future__ import annotations

import shutil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy.sparse import csc_matrix, csr_array, csr_matrix

from harness.sdk.kernels.instances import Labels
from harness.sdk.threads import allowed_threads
from harness.sdk.wrappers import rank_scores
from harness_peers.peer import ModelFolder, RankingPeer, bytes_in


class _Pecos(RankingPeer):
    """A linear model of PECOS, with or without a chain of clusters.

    Parameters
    ----------
    Cp : float, default=1.0
        Weight of errors on rows of a label.
    Cn : float, default=1.0
        Weight of errors on the other rows.
    bias : float, default=1.0
        Value of an added constant feature.
    threshold : float, default=0.1
        Smaller weights are dropped.
    max_iter : int, default=100
        Maximum number of passes of a linear model.
    eps : float, default=0.1
        Tolerance of the stopping rule.
    """

    tool_attributes: ClassVar[frozenset[str]] = frozenset({"model_", "_files"})
    model_: Any
    _files: ModelFolder
    index_bytes_: int
    """The bytes of the model as PECOS writes it."""

    def __init__(
        self,
        *,
        Cp: float = 1.0,
        Cn: float = 1.0,
        bias: float = 1.0,
        threshold: float = 0.1,
        max_iter: int = 100,
        eps: float = 0.1,
    ) -> None:
        self.Cp = Cp
        self.Cn = Cn
        self.bias = bias
        self.threshold = threshold
        self.max_iter = max_iter
        self.eps = eps

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        shape = (rows.shape[0], n_classes)
        indicator = csr_matrix((np.ones(labels.indices.size, np.float32), labels.indices, labels.indptr), shape)
        return csr_matrix(rows), csc_matrix(indicator)

    def _train(self, rows: Any) -> None:
        X, Y = rows
        trained = XLinearModel.train(
            X,
            Y,
            C=self._clusters(X, Y),
            Cp=self.Cp,
            Cn=self.Cn,
            bias=self.bias,
            threshold=self.threshold,
            max_iter=self.max_iter,
            eps=self.eps,
            threads=allowed_threads(),
        )
        # The trained model predicts several times slower than the same model loaded for prediction only.
        self._files = ModelFolder()
        trained.save(self._files.path)
        self.index_bytes_ = bytes_in(self._files.path)
        self.model_ = XLinearModel.load(self._files.path, is_predict_only=True)

    def _save_model(self, path: str) -> None:
        shutil.copytree(self._files.path, path)

    def _load_model(self, path: str) -> None:
        self._files = ModelFolder.copy_of(path)
        self.model_ = XLinearModel.load(self._files.path, is_predict_only=True)

    def _clusters(self, X: csr_matrix, Y: csc_matrix) -> Any:
        """Return the chain of label clusters; None for a flat model."""
        return None

    def _beam(self, k: int) -> int:
        """Return the number of clusters that a row follows at once."""
        return k

    def _rank(self, rows: csr_array, k: int) -> NDArray[np.int32]:
        found = self.model_.predict(csr_matrix(rows), only_topk=k, beam_size=self._beam(k), threads=allowed_threads())
        return rank_scores(csr_array(found), k)


class XRLinear(_Pecos):
    """PECOS's XR-Linear: labels are clustered into a tree, and a linear model ranks the children of each node.

    When to use
    -----------
    Thousands of classes or more, with one or several labels per row.

    References
    ----------
    Yu, Zhong, Zhang, Chang, Dhillon, PECOS: prediction for enormous and correlated output spaces, JMLR 23,
    2022.

    Parameters
    ----------
    nr_splits : int, default=16
        Number of children of a node.
    max_leaf_size : int, default=100
        Maximum number of labels of a leaf.
    kmeans_max_iter : int, default=20
        Maximum number of passes of the clustering.
    beam_size : int, default=10
        Number of paths followed at once.
    random_state : int or None, default=None
        Seed of the clustering.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of PECOS.
    index_bytes_ : int
        Bytes of the model as PECOS writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> from harness_peers.pecos_linear import XRLinear
    >>> X, y = load_digits(return_X_y=True)
    >>> X = normalize(X)
    >>> learner = XRLinear(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def __init__(
        self,
        *,
        nr_splits: int = 16,
        max_leaf_size: int = 100,
        kmeans_max_iter: int = 20,
        Cp: float = 1.0,
        Cn: float = 1.0,
        bias: float = 1.0,
        threshold: float = 0.1,
        max_iter: int = 100,
        eps: float = 0.1,
        beam_size: int = 10,
        random_state: int | None = None,
    ) -> None:
        self.nr_splits = nr_splits
        self.max_leaf_size = max_leaf_size
        self.kmeans_max_iter = kmeans_max_iter
        super().__init__(Cp=Cp, Cn=Cn, bias=bias, threshold=threshold, max_iter=max_iter, eps=eps)
        self.beam_size = beam_size
        self.random_state = random_state

    def _clusters(self, X: csr_matrix, Y: csc_matrix) -> Any:
        features = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=allowed_threads())
        return Indexer.gen(
            features,
            nr_splits=self.nr_splits,
            max_leaf_size=self.max_leaf_size,
            kmeans_max_iter=self.kmeans_max_iter,
            seed=self.random_state or 0,
            threads=allowed_threads(),
        )

    def _beam(self, k: int) -> int:
        return max(k, self.beam_size)


class OneVersusRest(_Pecos):
    """PECOS without a tree: a linear model for each label, all of which are evaluated.

    When to use
    -----------
    Finding out how much accuracy the tree of PECOS costs.

    References
    ----------
    Yu, Zhong, Zhang, Chang, Dhillon, PECOS: prediction for enormous and correlated output spaces, JMLR 23,
    2022.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of PECOS.
    index_bytes_ : int
        Bytes of the model as PECOS writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> from harness_peers.pecos_linear import OneVersusRest
    >>> X, y = load_digits(return_X_y=True)
    >>> X = normalize(X)
    >>> learner = OneVersusRest().fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """
