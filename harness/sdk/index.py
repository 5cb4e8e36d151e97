"""Learners whose model is an index of feature -> (class, weight) edges, and ranking with such an index.

Ranking chooses the fastest kernel. All kernels return the same ranks and the same bits of each score.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from harness.sdk import saving
from harness.sdk.classifier import LEAST_SHARED_ROWS, Classifier, Examples, Matrix
from harness.sdk.contributions import Contributions, collect_parts, linear_parts, rows_of_index
from harness.sdk.kernels.class_scores import score_classes
from harness.sdk.kernels.dense import pays, rank_dense
from harness.sdk.kernels.edges import Edges, as_edges, as_rows, check_edges
from harness.sdk.kernels.instances import Instances, Vectors, as_instances, rows_between
from harness.sdk.kernels.rows import CACHED_CLASSES, Rows, known_to_most
from harness.sdk.kernels.vectors import as_matrix, rank_vectors, score_vectors
from harness.sdk.threads import in_threads, stretches

KNOWN_SHARE = 0.3
"""Share of classes from which on a feature is stored in a matrix (measured)."""
KNOWN_SHARE_OF_MANY = 0.5
"""The same for k > 1: bounds then exclude fewer classes."""
LEAST_READS = 4
"""Number of times that the matrix must be read to pay for its construction."""


def _scores_by_index(learner: IndexClassifier) -> bool:
    return learner.scores_by_index


def _ranks_with_scores(learner: IndexClassifier) -> bool:
    return learner.ranks_with_scores


class IndexClassifier(Classifier):
    """A classifier that scores class c of an instance x by sum_f x_f W[f, c] + base_c.

    Attributes
    ----------
    rows_ : Rows
        The index, W.
    base_ : ndarray of float64
        The score of each class without any feature; -inf for classes that are never ranked.
    """

    learned: ClassVar[str] = "rows_"
    records: ClassVar[Mapping[str, saving.RecordClass]] = {"rows_": Edges}
    scores_by_index: ClassVar[bool] = True
    """True if classes are ranked by the sum above; `scores` needs it."""
    ranks_with_scores: ClassVar[bool] = False
    """True if the learner does not override `_rank_instances`; `rank_scored` needs it."""

    rows_: Rows
    base_: NDArray[np.float64]

    # -- to override

    def _as_instances(self, rows: Examples) -> Instances:
        """Return the rows as the kernels take them."""
        return as_instances(rows)

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        return rank_all_classes(self.rows_, instances, self.base_, k)

    def _score_instances(self, instances: Instances, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        return score_classes(self.rows_, instances, self.base_, ranks)

    def _weights_of(self, features: NDArray[Any]) -> csr_array:
        """Return what a unit of each of these features adds to the score of each class."""
        return rows_of_index(self.rows_, features, self._n_columns())

    def _biases(self) -> NDArray[np.float64]:
        """Return the score of each class without any feature."""
        return self.base_

    def _n_columns(self) -> int:
        """Return the number of columns of the index: one for each class."""
        return self.classes_.size

    def _n_bytes_beside(self) -> int:
        """Return the bytes of the arrays for ranking other than `rows_`."""
        return self.base_.nbytes

    # -- prediction

    def _rank(self, X: Examples, k: int) -> NDArray[np.int32]:
        if isinstance(X, np.ndarray):
            return self._rank_vectors(X, k)
        return self._rank_instances(self._as_instances(X), k)

    def _rank_vectors(self, X: Vectors, k: int) -> NDArray[np.int32]:
        return rank_vectors(as_matrix(self.rows_, self._n_columns()), X, self.base_, k)

    @available_if(_scores_by_index)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def scores(self, X: Matrix, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of ranked classes.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows.
        ranks : ndarray of int32, shape (n_rows, k)
            Positions in `classes_`; -1 pads.

        Returns
        -------
        ndarray of float64, shape (n_rows, k)
            Scores; 0 beside pads.
        """
        rows = self._known(X)
        if isinstance(rows, np.ndarray):
            return score_vectors(as_matrix(self.rows_, self._n_columns()), rows, self.base_, ranks)
        return self._score_instances(self._as_instances(rows), ranks)

    @available_if(_scores_by_index)  # type: ignore[untyped-decorator]  # the same
    def contributions(self, X: Matrix, ranks: NDArray[np.int32]) -> Contributions:
        """Return the part of each feature in the scores of ranked classes: x_f W[f, c].

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows.
        ranks : ndarray of int32, shape (n_rows, k)
            Positions in `classes_`; -1 pads.

        Returns
        -------
        Contributions
            The parts, and the bias of each class.
        """
        return self._explain_pairs(self._known(X), ranks)

    def _explain_pairs(self, rows: Examples, ranks: NDArray[np.int32]) -> Contributions:
        instances = self._as_instances(csr_array(rows))
        parts_of = linear_parts(self._weights_of, self._biases())
        return collect_parts(instances, self.n_features_in_, ranks, parts_of)

    @available_if(_ranks_with_scores)  # type: ignore[untyped-decorator]  # the same
    def rank_scored(self, X: Matrix, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return ranks and scores with one computation for both.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows.
        k : int
            Number of classes for each row.

        Returns
        -------
        ranks : ndarray of int32, shape (n_rows, k)
            The same as by `rank`, to the last bit.
        scores : ndarray of float64, shape (n_rows, k)
            The same as by `scores`, to the last bit.
        """
        rows = self._known(X)
        if isinstance(rows, np.ndarray):
            ranks = self.rank(X, k)
            return ranks, self.scores(X, ranks)
        parts = stretches(rows.shape[0], least=LEAST_SHARED_ROWS)
        found = in_threads(lambda part: self._rank_scored(rows_between(rows, part), k), parts)
        pieces = list(zip(*found, strict=True))
        return np.concatenate(pieces[0]), np.concatenate(pieces[1])

    def _rank_scored(self, rows: Examples, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        return rank_and_score_all(self.rows_, self._as_instances(rows), self.base_, k)

    def _known_instances(self, X: Matrix) -> Instances:
        return self._as_instances(self._known(X))

    @property
    def index_size_(self) -> int:
        """The number of stored weights that are not 0."""
        check_is_fitted(self)
        return self.rows_.n_edges

    @property
    def index_bytes_(self) -> int:
        """The bytes of the index and of the other arrays for ranking."""
        check_is_fitted(self)
        return self.rows_.n_bytes + self._n_bytes_beside()

    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Return the number of edges read per active feature while X is scored, for any k.

        Parameters
        ----------
        X : matrix of shape (n_rows, n_features)
            Rows. Features that did not occur in training count, with no edges.
        k : int, default=1
            Number of classes; this learner reads the same edges for every k.

        Returns
        -------
        float
            Mean over the active features of all rows; 0 without any.
        """
        instances = self._known_instances(X)
        active = instances.indices[instances.data != 0]
        if not active.size:
            return 0.0
        return float(self._n_edges_read(active).mean())

    def _n_edges_read(self, features: NDArray[np.int32]) -> NDArray[np.uint32]:
        """Return the number of edges of each of these features that scoring reads."""
        return self.rows_.length[features]

    # -- files

    def _fitted(self) -> dict[str, Any]:
        return {**super()._fitted(), "rows_": as_edges(self.rows_)}  # without the gaps of its arena

    def _take_up(self, fitted: dict[str, Any]) -> None:
        edges: Edges = fitted.pop("rows_")
        super()._take_up(fitted)
        check_edges(edges, self.n_features_in_, self._n_columns())
        saving.expect_array(self.base_, self.classes_.shape, np.float64, "base_")
        self.rows_ = as_rows(edges)


# -- ranking ---------------------------------------------------------------------------------------------------------


def rank_all_classes(rows: Rows, instances: Instances, base: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Return the k best of all classes, by sum_f x_f W[f, c] + base_c.

    Parameters
    ----------
    rows : Rows
        The index, W.
    instances : Instances
        Rows to rank.
    base : ndarray of float64, shape (n_classes,)
        Score of each class without any feature; -inf for classes that are never ranked.
    k : int
        Number of classes for each row.

    Returns
    -------
    ndarray of int32, shape (n_rows, k)
        Classes, best first; -1 pads.
    """
    if pays(rows, instances, base.size):
        return rank_dense(rows, instances, base, k)
    features = worth_a_matrix(rows, instances, base.size, k)
    if features.size:
        from harness.sdk.kernels.bounded_rank import rank_bounded  # noqa: PLC0415 (as below)

        return rank_bounded(rows, features, instances, base, k)
    from harness.sdk.kernels.rank import rank_by_index  # noqa: PLC0415 (compiles what not every learner needs)

    return rank_by_index(rows, instances, base, k)


def rank_and_score_all(
    rows: Rows, instances: Instances, base: NDArray[np.float64], k: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the k best of all classes and their scores.

    Parameters
    ----------
    rows : Rows
        The index.
    instances : Instances
        Rows to rank.
    base : ndarray of float64, shape (n_classes,)
        Score of each class without features.
    k : int
        Number of classes for each row.

    Returns
    -------
    ranks : ndarray of int32, shape (n_rows, k)
        Classes, best first; -1 pads.
    scores : ndarray of float64, shape (n_rows, k)
        Their scores; 0 beside pads.
    """
    if pays(rows, instances, base.size):
        ranks = rank_dense(rows, instances, base, k)
        return ranks, score_classes(rows, instances, base, ranks)
    from harness.sdk.kernels.rank import rank_and_score  # noqa: PLC0415 (compiles what not every learner needs)

    return rank_and_score(rows, instances, base, k)


def rank_by_biases(base: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Return the ranking of a row without features, by the biases of the classes.

    Parameters
    ----------
    base : ndarray of float64, shape (n_classes,)
        Score of each class without any feature; -inf for classes that are never ranked.
    k : int
        Number of classes.

    Returns
    -------
    ndarray of int32, shape (k,)
        Classes, best first; -1 pads.
    """
    n_ranked = int(np.isfinite(base).sum())
    order = np.argsort(-base, kind="stable")[: min(n_ranked, k)]
    return np.pad(order, (0, k - order.size), constant_values=-1).astype(np.int32)


def rank_touched_classes(
    rows: Rows, instances: Instances, factors: NDArray[np.float64], k: int, *, n_classes: int, degree: int
) -> NDArray[np.int32]:
    """Return the k best of the classes with a score above 0, by sum_f factor_f x_f W[f, c].

    Parameters
    ----------
    rows : Rows
        The index, W, with weights above 0.
    instances : Instances
        Rows to rank, with values above 0.
    factors : ndarray of float64, shape (n_features,)
        Factor of each feature; empty for factors of 1.
    k : int
        Number of classes for each row.
    n_classes : int
        Number of classes.
    degree : int
        Number of edges read per feature, from the front of its row; 0 for all.

    Returns
    -------
    ndarray of int32, shape (n_rows, k)
        Classes, best first; -1 pads.
    """
    if pays(rows, instances, n_classes):
        return rank_dense(rows, instances, np.zeros(n_classes), k, factors=factors, degree=degree, least=0.0)
    from harness.sdk.kernels import touched  # noqa: PLC0415 (compiles what not every learner needs)

    return touched.rank_touched(rows, instances, factors, k, n_classes=n_classes, degree=degree)


def worth_a_matrix(rows: Rows, instances: Instances, n_classes: int, k: int) -> NDArray[np.int64]:
    """Return the features to store in a matrix while rows are ranked; none if it does not pay.

    Parameters
    ----------
    rows : Rows
        The index.
    instances : Instances
        Rows to rank.
    n_classes : int
        Number of classes.
    k : int
        Number of classes for each row.

    Returns
    -------
    ndarray of int64
        Features that most classes have a weight for.
    """
    share = KNOWN_SHARE if k == 1 else KNOWN_SHARE_OF_MANY
    features = known_to_most(rows.length, share, n_classes)
    if features.size:
        met = np.bincount(instances.indices, minlength=rows.start.size)[features]
        if met.sum() < LEAST_READS * features.size:
            return features[:0]
    return features


def are_many(classes: NDArray[Any]) -> bool:
    """Return whether the classes, or their largest number, call for the kernels for many classes.

    The largest number shows it on a few rows too: warming up on these, before the clock starts, compiles all kernels.

    Parameters
    ----------
    classes : ndarray
        The classes of the training rows.

    Returns
    -------
    bool
        True if there are more than `CACHED_CLASSES`.
    """
    numbered = classes.dtype.kind in "iu" and classes.size > 0 and int(classes.max()) >= CACHED_CLASSES
    return classes.size > CACHED_CLASSES or numbered


def load_kernel(ranks_untouched: bool) -> None:
    """Compile the kernels that a learner ranks with, and no others.

    Parameters
    ----------
    ranks_untouched : bool
        Whether the learner also ranks classes without a feature of the row.
    """
    import_module("harness.sdk.kernels.rank" if ranks_untouched else "harness.sdk.kernels.touched")


def load_kernel_for_many() -> None:
    """Compile the kernels for many classes."""
    import_module("harness.sdk.kernels.bounded_rank")
