"""napkinXC: probabilistic label trees, hierarchical softmax, and a linear classifier for each class."""

from __future__ import annotations

import tempfile
from typing import Any, ClassVar

import numpy as np
from napkinxc import models
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from harness.sdk.kernels.instances import Labels
from harness.sdk.threads import allowed_threads
from harness_peers.peer import RankingPeer, bytes_in, ranks_of, rows_of, seed_c


class _NapkinXC(RankingPeer):
    """A model of napkinXC's, which it writes to a folder while it learns and then reads back to answer."""

    model: ClassVar[Any]
    model_: Any
    index_bytes_: int
    """The bytes of the model as napkinXC writes it."""

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        bounds = zip(labels.indptr[:-1], labels.indptr[1:], strict=True)
        several = [labels.indices[start:stop].tolist() for start, stop in bounds]
        return csr_matrix(rows), several

    def _train(self, rows: Any) -> None:
        X, Y = rows
        given = {name: value for name, value in self.get_params().items() if name != "random_state"}
        seed_c(self.random_state)
        with tempfile.TemporaryDirectory(prefix="napkinxc-") as folder:
            self.model_ = self.model(folder, threads=allowed_threads(), seed=self.random_state or 0, **given)
            self.model_.fit(X, Y)
            self.model_.load()
            self.index_bytes_ = bytes_in(folder)

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first; -1 pads."""
        found = self.model_.predict(csr_matrix(rows_of(X)), top_k=min(k, self.classes_.size))
        return ranks_of(found, k)


class PLT(_NapkinXC):
    """napkinXC's PLT: a tree over the labels, and at each node the chance that a label below it is the row's.

    When to use
    -----------
    Thousands of classes or more, one label a row or several, and probabilities.

    References
    ----------
    Jasinska-Kobus, Wydmuch, Dembczynski, Kuznetsov, Busa-Fekete, Probabilistic label trees for extreme
    multi-label classification, arXiv 2009.11218, 2020.

    Parameters
    ----------
    tree_type : hierarchicalKmeans, balancedInOrder, balancedRandom, completeKaryInOrder, completeKaryRandom or
        huffman.
    arity : children of a node.
    max_leaves : labels below a node of the last layer but one at most.
    norm : whether rows are brought to length 1 first.
    bias : the value of a feature that every row has.
    optimizer : liblinear, sgd or adagrad.
    loss : log, squaredHinge, unLog or another of its own.
    weights_threshold : weights below it are dropped.
    liblinear_c : weight of the training errors.
    liblinear_eps : how near to the optimum a classifier stops.
    tree_search_type : exact, or beam for the most likely paths only.
    beam_search_width : how many paths these are.
    ensemble : trees whose answers are averaged.
    random_state : its seed.
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
        self.tree_type = tree_type
        self.arity = arity
        self.max_leaves = max_leaves
        self.norm = norm
        self.bias = bias
        self.optimizer = optimizer
        self.loss = loss
        self.weights_threshold = weights_threshold
        self.liblinear_c = liblinear_c
        self.liblinear_eps = liblinear_eps
        self.tree_search_type = tree_search_type
        self.beam_search_width = beam_search_width
        self.ensemble = ensemble
        self.random_state = random_state


class HSM(_NapkinXC):
    """napkinXC's HSM: hierarchical softmax, a tree over the classes with a choice at each node.

    When to use
    -----------
    As napkinxc-plt, for one label a row.

    References
    ----------
    Morin, Bengio, Hierarchical probabilistic neural network language model, AISTATS 2005.

    Parameters
    ----------
    tree_type : hierarchicalKmeans, balancedInOrder, balancedRandom, completeKaryInOrder, completeKaryRandom or
        huffman.
    arity : children of a node.
    max_leaves : labels below a node of the last layer but one at most.
    norm : whether rows are brought to length 1 first.
    bias : the value of a feature that every row has.
    optimizer : liblinear, sgd or adagrad.
    loss : log, squaredHinge, unLog or another of its own.
    weights_threshold : weights below it are dropped.
    liblinear_c : weight of the training errors.
    liblinear_eps : how near to the optimum a classifier stops.
    ensemble : trees whose answers are averaged.
    random_state : its seed.
    """

    model = models.HSM

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
        self.tree_type = tree_type
        self.arity = arity
        self.max_leaves = max_leaves
        self.norm = norm
        self.bias = bias
        self.optimizer = optimizer
        self.loss = loss
        self.weights_threshold = weights_threshold
        self.liblinear_c = liblinear_c
        self.liblinear_eps = liblinear_eps
        self.ensemble = ensemble
        self.random_state = random_state


class OneVersusRest(_NapkinXC):
    """napkinXC's OVR: a linear classifier for each class, and all of them asked.

    When to use
    -----------
    To see what napkinXC's trees cost in accuracy.

    References
    ----------
    Jasinska-Kobus, Wydmuch, Dembczynski, Kuznetsov, Busa-Fekete, Probabilistic label trees for extreme
    multi-label classification, arXiv 2009.11218, 2020.

    Parameters
    ----------
    norm : whether rows are brought to length 1 first.
    bias : the value of a feature that every row has.
    optimizer : liblinear, sgd or adagrad.
    loss : log, squaredHinge, unLog or another of its own.
    weights_threshold : weights below it are dropped.
    liblinear_c : weight of the training errors.
    liblinear_eps : how near to the optimum a classifier stops.
    random_state : its seed.
    """

    model = models.OVR

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
