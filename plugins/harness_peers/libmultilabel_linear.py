"""The linear part of LibMultiLabel: a tree over the labels, and a linear model for each label.

Staged, not timed: the rows in 64 bits and the matrix of labels. Timed as training: clustering the labels and learning.
Timed as prediction: the scores of all labels, arranged in the order of all classes.
"""

from __future__ import annotations

import contextlib
import io
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from libmultilabel.linear import linear, tree
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_array, csr_matrix, issparse

from harness.sdk.kernels.instances import Labels
from harness.sdk.saving import NamedArrays, class_name, read_model, write_model
from harness.sdk.threads import allowed_threads
from harness_peers.peer import ScoringPeer, seed_c


@dataclass(frozen=True)
class _Rows:
    """Training rows, their labels as a matrix of the labels that occur, and the classes of these labels."""

    indicator: csr_matrix
    features: csr_matrix
    known: NDArray[np.int32]


class _LibMultiLabel(ScoringPeer):
    """Linear models of LibMultiLabel, trained by LIBLINEAR.

    Parameters
    ----------
    s : int, default=1
        LIBLINEAR's solver (-s), 0 to 7.
    c : float, default=1.0
        Weight of the training errors (-c).
    e : float, default=0.1
        Tolerance of the stopping rule (-e).
    B : float, default=1.0
        Value of an added constant feature (-B). 0 or below means none.
    random_state : int or None, default=None
        Seed of LIBLINEAR's order of rows.
    """

    tool_attributes: ClassVar[frozenset[str]] = frozenset({"model_", "_met"})
    model_: Any
    _met: NDArray[np.int32]

    def __init__(
        self, *, s: int = 1, c: float = 1.0, e: float = 0.1, B: float = 1.0, random_state: int | None = None
    ) -> None:
        self.s = s
        self.c = c
        self.e = e
        self.B = B
        self.random_state = random_state

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        # A label without rows cannot be clustered, and LibMultiLabel's own reader of files never has such labels.
        known, columns = np.unique(labels.indices, return_inverse=True)
        shape = (rows.shape[0], known.size)
        indicator = csr_matrix((np.ones(columns.size), columns, labels.indptr), shape)
        return _Rows(indicator, csr_matrix(rows.astype(np.float64)), known)

    @property
    def _options(self) -> str:
        """Return LIBLINEAR's command line options."""
        bias = f" -B {self.B!r}" if self.B > 0 else ""  # below 0, training would use one, prediction not
        return f"-s {self.s} -c {self.c!r} -e {self.e!r}{bias} -q"

    def _train(self, rows: _Rows) -> None:
        self._met = rows.known
        seed_c(self.random_state)
        with _as_told():
            self.model_ = self._learn(rows.indicator, rows.features)

    @abstractmethod
    def _learn(self, indicator: csr_matrix, features: csr_matrix) -> Any:
        """Return a model of LibMultiLabel."""

    @property
    def _flat(self) -> Any:
        """The model with the weights, as LibMultiLabel names it."""
        return self.model_

    def _save_model(self, path: str) -> None:
        """Write the arrays of the model: LibMultiLabel's own files are pickles."""
        flat = self._flat
        header = {"learner": class_name(type(self)), "name": flat.name, "bias": flat.bias, "sums": flat.multiclass}
        arrays = {"known": self._met, "thresholds": np.asarray(flat.thresholds), **_weights_as_arrays(flat.weights)}
        write_model(f"{path}.npz", header, arrays | self._tree_as_arrays())

    def _load_model(self, path: str) -> None:
        header, arrays = read_model(f"{path}.npz")
        thresholds = arrays["thresholds"] if arrays["thresholds"].ndim else arrays["thresholds"].item()
        weights = _weights_from(arrays)
        flat = linear.FlatModel(header["name"], weights, header["bias"], thresholds, header["sums"])
        self._met = arrays["known"]
        self.model_ = self._model_from(flat, arrays)

    def _tree_as_arrays(self) -> NamedArrays:
        """Return the tree of the model as arrays; nothing without a tree."""
        return {}

    def _model_from(self, flat: Any, arrays: NamedArrays) -> Any:
        """Return the model with these weights, and with the tree in the arrays."""
        return flat

    def _spread(self, scores: Any) -> NDArray[np.float64]:
        """Return the scores of the labels that occur in training, arranged as scores of all classes."""
        everywhere = np.full((scores.shape[0], self.classes_.size), -np.inf)
        everywhere[:, self._met] = scores
        return everywhere


class OneVersusRest(_LibMultiLabel):
    """LibMultiLabel's 1vsrest: a linear model for each label, all of which are evaluated.

    When to use
    -----------
    Finding out how much accuracy the tree of LibMultiLabel costs.

    References
    ----------
    Fan, Chang, Hsieh, Wang, Lin, LIBLINEAR: a library for large linear classification, JMLR 9, 2008.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of LibMultiLabel.
    index_bytes_ : int
        Bytes of the weights.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.libmultilabel_linear import OneVersusRest
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = OneVersusRest(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def _learn(self, indicator: csr_matrix, features: csr_matrix) -> Any:
        return linear.train_1vsrest(indicator, features, options=self._options, verbose=False)

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        """Return the scores; a class without training rows scores below all others."""
        return self._spread(self.model_.predict_values(csr_matrix(rows)))

    @property
    def index_bytes_(self) -> int:
        """The bytes of the weights."""
        return int(self.model_.weights.nbytes)


class Tree(_LibMultiLabel):
    """LibMultiLabel's tree: labels are clustered as in Bonsai, and linear models choose among the children.

    When to use
    -----------
    Thousands of classes or more, with one or several labels per row.

    References
    ----------
    Khandagale, Xiao, Babbar, Bonsai: diverse and shallow trees for extreme multi-label classification,
    Machine Learning 109, 2020.

    Parameters
    ----------
    K : int, default=100
        Maximum number of children of a node.
    dmax : int, default=10
        Maximum depth.
    beam_width : int, default=10
        Number of paths followed at once.
    random_state : int or None, default=None
        Seed of the clusters, and of LIBLINEAR's order of rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of LibMultiLabel.
    index_bytes_ : int
        Bytes of the weights of all nodes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.libmultilabel_linear import Tree
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Tree(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
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
        super().__init__(s=s, c=c, e=e, B=B, random_state=random_state)

    def _learn(self, indicator: csr_matrix, features: csr_matrix) -> Any:
        np.random.seed(self.random_state)  # the generator that draws the clusters
        settings = {"options": self._options, "K": self.K, "dmax": self.dmax}
        return tree.train_tree(indicator, features, **settings, verbose=False)

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        """Return the scores; 0 for classes that no path reached, and less for a class without training rows."""
        return self._spread(self.model_.predict_values(csr_matrix(rows), beam_width=self.beam_width))

    @property
    def _flat(self) -> Any:
        return self.model_.flat_model

    def _tree_as_arrays(self) -> NamedArrays:
        nodes: list[Any] = []
        self.model_.root.dfs(nodes.append)
        labels = [np.asarray(node.label_map, dtype=np.int64) for node in nodes]
        return {
            "children": np.array([len(node.children) for node in nodes]),
            "labels": np.concatenate(labels),
            "bounds": np.cumsum([0, *map(len, labels)]),
            "node_ptr": np.asarray(self.model_.node_ptr),
        }

    def _model_from(self, flat: Any, arrays: NamedArrays) -> Any:
        root = _tree_from(arrays)
        root.is_root, root.model = True, SimpleNamespace(bias=flat.bias)
        return tree.TreeModel(root, flat, arrays["node_ptr"])

    @property
    def index_bytes_(self) -> int:
        """The bytes of the weights of all nodes."""
        weights = self.model_.flat_model.weights
        if not issparse(weights):
            return int(weights.nbytes)
        return int(weights.data.nbytes + weights.indices.nbytes + weights.indptr.nbytes)


def _weights_as_arrays(weights: Any) -> NamedArrays:
    if not issparse(weights):
        return {"weights": np.asarray(weights)}
    by_column = csc_matrix(weights)
    shape = np.array([*weights.shape, weights.format == "csr"])
    return {"data": by_column.data, "indices": by_column.indices, "starts": by_column.indptr, "shape": shape}


def _weights_from(arrays: NamedArrays) -> Any:
    if "weights" in arrays:
        return np.asmatrix(arrays["weights"])
    n_rows, n_columns, by_row = arrays["shape"].tolist()
    weights = csc_matrix((arrays["data"], arrays["indices"], arrays["starts"]), (n_rows, n_columns))
    return weights.tocsr() if by_row else weights


def _tree_from(arrays: NamedArrays) -> Any:
    """Return the root of a tree whose nodes are given from the root down, each before its children."""
    counts, bounds = arrays["children"].tolist(), arrays["bounds"].tolist()
    waiting: list[Any] = []
    for index in reversed(range(len(counts))):
        children = [waiting.pop() for _ in range(counts[index])]
        node = tree.Node(arrays["labels"][bounds[index] : bounds[index + 1]], children)
        node.index = index
        waiting.append(node)
    (root,) = waiting
    return root


@contextlib.contextmanager
def _as_told() -> Iterator[None]:
    """Run LibMultiLabel on the allowed number of threads instead of all cores, without output on the terminal."""
    threads = allowed_threads()
    clusterers = {name: partial(getattr(tree, name), n_threads=threads) for name in ("LloydKmeans", "ElkanKmeans")}
    machine = SimpleNamespace(cpu_count=lambda logical: threads)
    with _holding(linear, psutil=machine), _holding(tree, **clusterers), contextlib.redirect_stdout(io.StringIO()):
        yield


@contextlib.contextmanager
def _holding(module: ModuleType, **others: object) -> Iterator[None]:
    """Replace parts of the module during the block."""
    before = {name: vars(module)[name] for name in others}
    vars(module).update(others)
    try:
        yield
    finally:
        vars(module).update(before)
