"""napkinXC: probabilistic label trees, hierarchical softmax, and a linear classifier for each class.

Staged, not timed: the rows as a matrix and the labels as lists. Timed as training: learning, including the files that
napkinXC writes, and loading them for prediction. Timed as prediction: `predict`.
"""

from __future__ import annotations

import shutil
from typing import Any, ClassVar

import numpy as np
from napkinxc import models
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from harness.sdk.kernels.instances import Labels
from harness.sdk.threads import allowed_threads
from harness_peers.peer import ModelFolder, RankingPeer, bytes_in, ranks_of, seed_c


class _NapkinXC(RankingPeer):
    """A model of napkinXC, which is written to a folder during training and then read for prediction.

    Parameters
    ----------
    norm : bool, default=True
        If True, rows are scaled to length 1 first.
    bias : float, default=1.0
        Value of an added constant feature.
    optimizer : str, default="liblinear"
        Optimiser: liblinear, sgd or adagrad.
    loss : str, default="log"
        Loss: log, squaredHinge, unLog or another loss of napkinXC.
    weights_threshold : float, default=0.1
        Smaller weights are dropped.
    liblinear_c : float, default=10.0
        Weight of the training errors.
    liblinear_eps : float, default=0.1
        Tolerance of a classifier's stopping rule.
    random_state : int or None, default=None
        Seed.
    """

    model: ClassVar[Any]
    tool_attributes: ClassVar[frozenset[str]] = frozenset({"model_", "_files"})
    model_: Any
    _files: ModelFolder
    index_bytes_: int
    """The bytes of the model as napkinXC writes it."""

    def __init__(
        self,
        *,
        norm: bool = True,
        bias: float = 1.0,
        optimizer: str = "liblinear",
        loss: str = "log",
        weights_threshold: float = 0.1,
        liblinear_c: float = 10.0,
        liblinear_eps: float = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.norm = norm
        self.bias = bias
        self.optimizer = optimizer
        self.loss = loss
        self.weights_threshold = weights_threshold
        self.liblinear_c = liblinear_c
        self.liblinear_eps = liblinear_eps
        self.random_state = random_state

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        bounds = zip(labels.indptr[:-1], labels.indptr[1:], strict=True)
        several = [labels.indices[start:stop].tolist() for start, stop in bounds]
        return csr_matrix(rows), several

    def _train(self, rows: Any) -> None:
        X, Y = rows
        given = {name: value for name, value in self.get_params().items() if name != "random_state"}
        seed_c(self.random_state)
        self._files = ModelFolder()
        folder = self._files.path
        self.model_ = self.model(folder, threads=allowed_threads(), seed=self.random_state or 0, **given)
        self.model_.fit(X, Y)
        self.model_.load()
        self.index_bytes_ = bytes_in(folder)

    def _save_model(self, path: str) -> None:
        shutil.copytree(self._files.path, path)

    def _load_model(self, path: str) -> None:
        self._files = ModelFolder.copy_of(path)
        self.model_ = self.model(self._files.path, threads=allowed_threads())
        self.model_.load()

    def _rank(self, rows: csr_array, k: int) -> NDArray[np.int32]:
        found = self.model_.predict(csr_matrix(rows), top_k=min(k, self.classes_.size))
        return ranks_of(found, k)


class _Tree(_NapkinXC):
    """A tree over the labels.

    Parameters
    ----------
    tree_type : str, default="hierarchicalKmeans"
        Kind of tree: hierarchicalKmeans, balancedInOrder, balancedRandom, completeKaryInOrder, completeKaryRandom or
        huffman.
    arity : int, default=2
        Number of children of a node.
    max_leaves : int, default=100
        Maximum number of labels below a node of the second-last layer.
    ensemble : int, default=1
        Number of trees, whose predictions are averaged.
    """

    def __init__(
        self,
        *,
        tree_type: str = "hierarchicalKmeans",
        arity: int = 2,
        max_leaves: int = 100,
        norm: bool = True,
        bias: float = 1.0,
        optimizer: str = "liblinear",
        loss: str = "log",
        weights_threshold: float = 0.1,
        liblinear_c: float = 10.0,
        liblinear_eps: float = 0.1,
        ensemble: int = 1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            norm=norm,
            bias=bias,
            optimizer=optimizer,
            loss=loss,
            weights_threshold=weights_threshold,
            liblinear_c=liblinear_c,
            liblinear_eps=liblinear_eps,
            random_state=random_state,
        )
        self.tree_type = tree_type
        self.arity = arity
        self.max_leaves = max_leaves
        self.ensemble = ensemble


class PLT(_Tree):
    """napkinXC's PLT: a tree over the labels; each node has the probability that one of its labels belongs to the row.

    When to use
    -----------
    Thousands of classes or more, with one or several labels per row, if probabilities are needed.

    References
    ----------
    Jasinska-Kobus, Wydmuch, Dembczynski, Kuznetsov, Busa-Fekete, Probabilistic label trees for extreme
    multi-label classification, arXiv 2009.11218, 2020.

    Parameters
    ----------
    tree_search_type : {"exact", "beam"}, default="exact"
        Search: exact, or beam for the most probable paths only.
    beam_search_width : int, default=10
        Number of paths followed at once by the beam search.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of napkinXC.
    index_bytes_ : int
        Bytes of the model as napkinXC writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.napkinxc_models import PLT
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = PLT(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    model = models.PLT

    def __init__(
        self,
        *,
        tree_type: str = "hierarchicalKmeans",
        arity: int = 2,
        max_leaves: int = 100,
        norm: bool = True,
        bias: float = 1.0,
        optimizer: str = "liblinear",
        loss: str = "log",
        weights_threshold: float = 0.1,
        liblinear_c: float = 10.0,
        liblinear_eps: float = 0.1,
        tree_search_type: str = "exact",
        beam_search_width: int = 10,
        ensemble: int = 1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            tree_type=tree_type,
            arity=arity,
            max_leaves=max_leaves,
            norm=norm,
            bias=bias,
            optimizer=optimizer,
            loss=loss,
            weights_threshold=weights_threshold,
            liblinear_c=liblinear_c,
            liblinear_eps=liblinear_eps,
            ensemble=ensemble,
            random_state=random_state,
        )
        self.tree_search_type = tree_search_type
        self.beam_search_width = beam_search_width


class HSM(_Tree):
    """napkinXC's HSM: hierarchical softmax, a tree over the classes with a choice at each node.

    When to use
    -----------
    The same tasks as `napkinxc-plt`, with one label per row.

    References
    ----------
    Morin, Bengio, Hierarchical probabilistic neural network language model, AISTATS 2005.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of napkinXC.
    index_bytes_ : int
        Bytes of the model as napkinXC writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.napkinxc_models import HSM
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = HSM(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    model = models.HSM


class OneVersusRest(_NapkinXC):
    """napkinXC's OVR: a linear classifier for each class, all of which are evaluated.

    When to use
    -----------
    Finding out how much accuracy the trees of napkinXC cost.

    References
    ----------
    Jasinska-Kobus, Wydmuch, Dembczynski, Kuznetsov, Busa-Fekete, Probabilistic label trees for extreme
    multi-label classification, arXiv 2009.11218, 2020.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of napkinXC.
    index_bytes_ : int
        Bytes of the model as napkinXC writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.napkinxc_models import OneVersusRest
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = OneVersusRest(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    model = models.OVR
