"""Learners that are an index once they are fitted: feature -> (class, weight) edges, to rank by, count and save."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from harness.sdk import archive
from harness.sdk.estimator import LEAST_SHARED_ROWS, Classifier, Examples, Matrix
from harness.sdk.kernels.class_scores import score_classes
from harness.sdk.kernels.density import Vectors
from harness.sdk.kernels.edges import Edges, as_edges, as_rows, check_edges
from harness.sdk.kernels.instances import Instances, as_instances, rows_between
from harness.sdk.kernels.rows import Rows
from harness.sdk.kernels.vectors import as_matrix, rank_vectors, score_vectors
from harness.sdk.ranking import rank_all_classes, rank_and_score_all
from harness.sdk.threads import in_threads, stretches


def _scores_by_index(learner: IndexClassifier) -> bool:
    return learner.scores_by_index


def _ranks_with_scores(learner: IndexClassifier) -> bool:
    return learner.ranks_with_scores


class IndexClassifier(Classifier):
    """A classifier that scores class c of an instance x by sum_f x_f W[f, c] + base_c.

    Attributes
    ----------
    rows_ : the index, W.
    base_ : what each class scores before any feature counts; -inf for those that take no part.
    """

    learned: ClassVar[str] = "rows_"
    records: ClassVar[Mapping[str, archive.RecordClass]] = {"rows_": Edges}
    scores_by_index: ClassVar[bool] = True
    """Whether classes are ranked by the sum above and nothing else: only then are there `scores`."""
    ranks_with_scores: ClassVar[bool] = False
    """Whether `_rank_instances` is left as it is here, for all classes: only then is there `rank_scored`."""

    rows_: Rows
    base_: NDArray[np.float64]

    # -- what a learner may change

    def _as_instances(self, rows: Examples) -> Instances:
        """The rows as the kernels want them, with the features that count."""
        return as_instances(rows)

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        return rank_all_classes(self.rows_, instances, self.base_, k)

    def _score_instances(self, instances: Instances, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        return score_classes(self.rows_, instances, self.base_, ranks)

    def _n_columns(self) -> int:
        """How many columns the index has: one for each class."""
        return self.classes_.size

    def _n_bytes_beside(self) -> int:
        """The bytes of what ranking needs beside `rows_`."""
        return self.base_.nbytes

    # -- asking

    def _rank(self, X: Examples, k: int) -> NDArray[np.int32]:
        if isinstance(X, np.ndarray):
            return self._rank_vectors(X, k)
        return self._rank_instances(self._as_instances(X), k)

    def _rank_vectors(self, X: Vectors, k: int) -> NDArray[np.int32]:
        return rank_vectors(as_matrix(self.rows_, self._n_columns()), X, self.base_, k)

    @available_if(_scores_by_index)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def scores(self, X: Matrix, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        """What the classes at these positions, such as `rank` gives them, score in each row; 0 beside pads."""
        rows = self._known(X)
        if isinstance(rows, np.ndarray):
            return score_vectors(as_matrix(self.rows_, self._n_columns()), rows, self.base_, ranks)
        return self._score_instances(self._as_instances(rows), ranks)

    @available_if(_ranks_with_scores)  # type: ignore[untyped-decorator]  # the same
    def rank_scored(self, X: Matrix, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """What `rank` and `scores` give, to the last bit, from sums that are made once for both."""
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
        """The number of stored weights, none of them 0."""
        check_is_fitted(self)
        return self.rows_.n_edges

    @property
    def index_bytes_(self) -> int:
        """The bytes that the index takes, with what the learner keeps beside it."""
        check_is_fitted(self)
        return self.rows_.n_bytes + self._n_bytes_beside()

    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Edges read per active feature while scoring X, however many classes are asked for.

        Features that training never met count, with no edge.
        """
        instances = self._known_instances(X)
        active = instances.indices[instances.data != 0]
        if not active.size:
            return 0.0
        return float(self._n_edges_read(active).mean())

    def _n_edges_read(self, features: NDArray[np.int32]) -> NDArray[np.uint32]:
        """How many edges of each of these features are read while scoring."""
        return self.rows_.length[features]

    # -- files

    def _fitted(self) -> dict[str, Any]:
        return {**super()._fitted(), "rows_": as_edges(self.rows_)}  # without the gaps of its arena

    def _take_up(self, fitted: dict[str, Any]) -> None:
        edges: Edges = fitted.pop("rows_")
        super()._take_up(fitted)
        check_edges(edges, self.n_features_in_, self._n_columns())
        archive.expect_array(self.base_, self.classes_.shape, np.float64, "base_")
        self.rows_ = as_rows(edges)
