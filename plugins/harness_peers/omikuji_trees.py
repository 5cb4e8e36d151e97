"""Omikuji: forests of label trees, in the settings of Parabel and Bonsai.

Staged, not timed: writing the rows to a file and loading them with Omikuji. Timed as training: learning. Timed as
prediction: a call of Omikuji for each row.
"""

from __future__ import annotations

import io
import tempfile
from typing import Any, ClassVar

import numpy as np
import omikuji
from numpy.typing import NDArray
from omikuji import ffi, lib
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from harness.sdk.kernels.instances import Labels
from harness.sdk.threads import allowed_threads
from harness_peers.peer import RankingPeer, bytes_saved


class Parabel(RankingPeer):
    """Omikuji's Parabel: balanced binary trees over the labels, a linear classifier at each node.

    When to use
    -----------
    Thousands of classes or more, with one or several labels per row.

    References
    ----------
    Prabhu, Kag, Harsola, Agrawal, Varma, Parabel: partitioned label trees for extreme classification, WWW
    2018.

    Parameters
    ----------
    n_trees : int, default=3
        Number of trees.
    max_depth : int, default=20
        Maximum depth.
    min_branch_size : int, default=100
        A node with fewer labels is a leaf.
    cluster_k : int, default=2
        Number of children of a node.
    cluster_balanced : bool, default=True
        If True, children have the same number of labels.
    collapse_every_n_layers : int, default=0
        Number of layers collapsed into one, 0 for none.
    centroid_threshold : float, default=0.0
        Smaller weights of label centroids are dropped.
    linear_eps : float, default=0.1
        Tolerance of a classifier's stopping rule.
    linear_c : float, default=1.0
        Weight of the training errors.
    linear_weight_threshold : float, default=0.1
        Smaller weights are dropped.
    linear_max_iter : int, default=20
        Maximum number of passes of a classifier.
    beam_size : int, default=10
        Number of paths followed at once.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of Omikuji.
    index_bytes_ : int
        Bytes of the model as Omikuji writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.omikuji_trees import Parabel
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Parabel().fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    tool_attributes: ClassVar[frozenset[str]] = frozenset({"model_"})
    model_: Any

    def __init__(
        self,
        *,
        n_trees: int = 3,
        max_depth: int = 20,
        min_branch_size: int = 100,
        cluster_k: int = 2,
        cluster_balanced: bool = True,
        collapse_every_n_layers: int = 0,
        centroid_threshold: float = 0.0,
        linear_eps: float = 0.1,
        linear_c: float = 1.0,
        linear_weight_threshold: float = 0.1,
        linear_max_iter: int = 20,
        beam_size: int = 10,
    ) -> None:
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.min_branch_size = min_branch_size
        self.cluster_k = cluster_k
        self.cluster_balanced = cluster_balanced
        self.collapse_every_n_layers = collapse_every_n_layers
        self.centroid_threshold = centroid_threshold
        self.linear_eps = linear_eps
        self.linear_c = linear_c
        self.linear_weight_threshold = linear_weight_threshold
        self.linear_max_iter = linear_max_iter
        self.beam_size = beam_size

    def _convert(self, rows: csr_array, labels: Labels, n_classes: int) -> Any:
        """Return the rows in Omikuji's data structure, which it can only read from a file."""
        indicator = csr_array((np.ones(labels.indices.size), labels.indices, labels.indptr), (rows.shape[0], n_classes))
        lines = io.BytesIO()
        dump_svmlight_file(rows, indicator, lines, multilabel=True)
        with tempfile.NamedTemporaryFile(prefix="omikuji-") as file:
            file.write(f"{rows.shape[0]} {rows.shape[1]} {n_classes}\n".encode())
            file.write(lines.getvalue().replace(b" \n", b"\n"))  # Omikuji's format of a row without features
            file.flush()
            path = ffi.new("char[]", file.name.encode())
            loaded = lib.load_omikuji_data_set(path, _threads().ptr)
        if loaded == ffi.NULL:
            raise ValueError("Omikuji cannot read these rows")
        return ffi.gc(loaded, lib.free_omikuji_data_set)

    def _train(self, rows: Any) -> None:
        settings = omikuji.Model.default_hyper_param()
        for name, value in self.get_params().items():
            if name != "beam_size":
                setattr(settings, name, value)
        threads = _threads()
        trained = lib.train_omikuji_model(rows, settings, threads.ptr)
        if trained == ffi.NULL:
            raise ValueError("Omikuji cannot train with these parameters")
        self.model_ = omikuji.Model(trained, threads)

    def _rank(self, rows: csr_array, k: int) -> NDArray[np.int32]:
        indices, values = rows.indices.astype(np.uint32), rows.data
        ranks = np.full((rows.shape[0], k), -1, np.int32)
        found, scores = np.zeros(k, np.uint32), np.zeros(k, np.float32)
        places = [ffi.cast("uint32_t *", ffi.from_buffer(found)), ffi.cast("float *", ffi.from_buffer(scores))]
        model, pool = self.model_._model_ptr, self.model_._thread_pool.ptr
        for row, (start, stop) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
            features = ffi.cast("uint32_t *", ffi.from_buffer(indices[start:stop]))
            weights = ffi.cast("float *", ffi.from_buffer(values[start:stop]))
            beam = max(self.beam_size, 1)
            n_found = lib.omikuji_predict(model, beam, stop - start, features, weights, k, *places, pool)
            ranks[row, :n_found] = found[:n_found]
        return ranks

    def _save_model(self, path: str) -> None:
        self.model_.save(path)

    def _load_model(self, path: str) -> None:
        self.model_ = omikuji.Model.load(path)
        self.model_._thread_pool = _threads()

    @property
    def index_bytes_(self) -> int:
        """The bytes of the model as Omikuji writes it."""
        return bytes_saved(self.model_.save)


class Bonsai(Parabel):
    """Omikuji's Bonsai: shallow, unbalanced trees with many children, in the settings of its authors.

    When to use
    -----------
    The same tasks as `omikuji-parabel`, if rare classes matter.

    References
    ----------
    Khandagale, Xiao, Babbar, Bonsai: diverse and shallow trees for extreme multi-label classification,
    Machine Learning 109, 2020.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position.
    model_ : object
        The model of Omikuji.
    index_bytes_ : int
        Bytes of the model as Omikuji writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_peers.omikuji_trees import Bonsai
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = Bonsai().fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 2])
    """

    def __init__(
        self,
        *,
        n_trees: int = 3,
        max_depth: int = 3,
        min_branch_size: int = 100,
        cluster_k: int = 100,
        cluster_balanced: bool = False,
        collapse_every_n_layers: int = 0,
        centroid_threshold: float = 0.0,
        linear_eps: float = 0.1,
        linear_c: float = 1.0,
        linear_weight_threshold: float = 0.1,
        linear_max_iter: int = 20,
        beam_size: int = 10,
    ) -> None:
        super().__init__(
            n_trees=n_trees,
            max_depth=max_depth,
            min_branch_size=min_branch_size,
            cluster_k=cluster_k,
            cluster_balanced=cluster_balanced,
            collapse_every_n_layers=collapse_every_n_layers,
            centroid_threshold=centroid_threshold,
            linear_eps=linear_eps,
            linear_c=linear_c,
            linear_weight_threshold=linear_weight_threshold,
            linear_max_iter=linear_max_iter,
            beam_size=beam_size,
        )


def _threads() -> Any:
    """Return a pool of as many threads as are allowed."""
    return omikuji._ThreadPoolHandle(allowed_threads())
