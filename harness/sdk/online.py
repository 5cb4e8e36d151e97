"""An online classifier but for its update: passes and batches, ranking, growing, leaving out the lightest weights."""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from harness.abilities import AfterPass
from harness.sdk import archive, rules
from harness.sdk.estimator import Examples, Matrix
from harness.sdk.index import IndexClassifier
from harness.sdk.kernels.class_scores import score_classes
from harness.sdk.kernels.density import Vectors
from harness.sdk.kernels.edges import Edges, as_edges, as_rows, keep_largest, pack_rows
from harness.sdk.kernels.instances import Instances, Labels, as_instances, positive_only
from harness.sdk.kernels.rows import CACHED_CLASSES, empty_rows, enlarge, widen
from harness.sdk.kernels.vectors import Block, as_matrix, matrix_edges, row_blocks, scored
from harness.sdk.negative import warn_of_negative
from harness.sdk.ranking import are_many, load_kernel, load_kernel_for_many, rank_all_classes, rank_touched_classes
from harness.sdk.threads import one_blas_thread


class OnlineClassifier(IndexClassifier):
    """A classifier that learns instance by instance into an index of feature -> (class, weight) edges.

    A learner says in the class variables how it treats input and ranking, and supplies `_rules` and `_update`; where it
    keeps more than the index, `_arrays`; where rows are scored in part, `_degree`.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions: sorted, then those that later batches brought.
    rows_ : the index.
    base_ : 0 for each class met so far, -inf for the others.
    """

    ignores_not_positive: ClassVar[bool] = False
    """Whether features with x_f <= 0 count as absent; where some are negative, that is said once a fit."""
    ranks_untouched: ClassVar[bool] = True
    """Whether a class that no feature of a row knows takes part with the score 0; else only scores above 0 rank."""

    when_too_large: ClassVar[str] = "scale X down"
    """What to do when float32 cannot hold the weights."""

    passes: int
    random_state: int | np.random.RandomState | None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        load_kernel(cls.ranks_untouched)

    # -- what a learner supplies

    @abstractmethod
    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        """Learn from the instances in this order, in pass `number`, changing `rows_` and the arrays in place.

        Gives how many were done before the arena ran out of room: it is called again for the others in a larger one.
        """

    def _learn_block(self, W: Vectors, block: Block, labels: Labels) -> None:
        """Learn from a block of dense rows, changing the weights in place: for learners that take such rows."""
        raise NotImplementedError(f"{type(self).__name__} takes_dense and has no _learn_block")

    def _arrays(self, n_features: int, n_classes: int) -> dict[str, NDArray[Any]]:
        """What the learner keeps beside the index as it is before training: by feature or by class, names end in _."""
        return {}

    def _degree(self) -> int:
        """How many edges of a row are read while scoring; 0 stands for all."""
        return 0

    def _factors(self) -> NDArray[np.float64]:
        """By what the values of each feature are multiplied while ranking touched classes; empty where by 1."""
        return np.empty(0)

    def _sizes(self, edges: Edges) -> NDArray[Any]:
        """How much each edge weighs when it comes to leaving out the lightest."""
        sizes: NDArray[Any] = np.abs(edges.weights)
        return sizes

    # -- learning

    def fit(self, X: Matrix, y: ArrayLike, *, after_pass: AfterPass | None = None) -> Self:
        """Train from nothing. `after_pass(n)` is called after pass n = 1, 2, ...; the learner may rank meanwhile."""
        rows, labels = self._begin(X, y)
        if self.ignores_not_positive:
            warn_of_negative(rows, self)
        examples = rows if isinstance(rows, np.ndarray) else self._as_instances(rows)
        self._begin_index(n_edges=_n_edges(examples))
        generator = self._generator()
        for number in range(1, self.passes + 1):
            self._train(examples, labels, generator.permutation(rows.shape[0]), number)
            if after_pass is not None:
                after_pass(number)
        # A degree limit reads a row from its front, so there the order of weights must stay.
        by_class = self.classes_.size > CACHED_CLASSES and not self._degree()
        self.rows_ = pack_rows(self.rows_, by_class=by_class)
        return self

    def partial_fit(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go once through a batch in the order given, on top of what was learned so far.

        Classes that are new, from y or from `classes`, get the next positions; columns of X that are new become new
        features. `classes` is never needed.
        """
        rows, labels, first = self._begin_batch(X, y, classes)
        if self.ignores_not_positive and first:  # later batches would repeat it
            warn_of_negative(rows, self)
        examples = rows if isinstance(rows, np.ndarray) else self._as_instances(rows)
        if first:
            self._begin_index(n_edges=_n_edges(examples))
        else:
            self._grow()
        self._train(examples, labels, np.arange(rows.shape[0]), number=1)
        return self

    def keep_largest(self, share: float) -> Self:
        """Keep the floor(share * index_size_) largest weights of the index, ties by feature, then class."""
        check_is_fitted(self)
        rules.enforce({"share": rules.share(share)}, {"share": share})
        edges = as_edges(self.rows_)
        self.rows_ = as_rows(keep_largest(edges, self._sizes(edges), share))
        return self

    def _shared_rules(self) -> dict[str, rules.Rule]:
        return {"passes": rules.count(self.passes), **super()._shared_rules()}

    def _as_instances(self, rows: Examples) -> Instances:
        instances = as_instances(rows)
        return positive_only(instances) if self.ignores_not_positive else instances

    def _train(self, examples: Instances | Vectors, labels: Labels, order: NDArray[np.int64], number: int) -> None:
        if isinstance(examples, np.ndarray):
            self._train_densely(examples, labels, order, number)
        else:
            done = self._update(examples, labels, order, number)
            while done < order.size:
                self.rows_, order = enlarge(self.rows_), order[done:]
                done = self._update(examples, labels, order, number)
        self.base_[labels.indices] = 0.0

    def _train_densely(self, X: Vectors, labels: Labels, order: NDArray[np.int64], number: int) -> None:
        """The same updates, on weights spread out into a matrix, which the index is made of again."""
        W = np.ascontiguousarray(as_matrix(self.rows_, self.classes_.size).T)
        with one_blas_thread():
            for rows in row_blocks(X, order):
                self._learn_block(W, scored(rows, rows.values @ W.T), labels)
        if not np.isfinite(W).all():
            raise ValueError(f"weights outgrew float32 in pass {number}: {self.when_too_large}")
        self.rows_ = as_rows(matrix_edges(np.ascontiguousarray(W.T)))

    # -- what is learned

    def _begin_index(self, n_edges: int) -> None:
        """Nothing learned yet, for the features and classes that are known."""
        if self.ranks_untouched and are_many(self.classes_):
            load_kernel_for_many()
        self.rows_ = empty_rows(self.n_features_in_, n_edges)
        for name, array in self._fresh_arrays().items():
            setattr(self, name, array)

    def _grow(self) -> None:
        """Make room for the features and classes that have come; what is known keeps its place."""
        if (self.rows_.start.size, self.base_.size) == (self.n_features_in_, self.classes_.size):
            return
        self.rows_ = widen(self.rows_, self.n_features_in_)
        for name, array in self._fresh_arrays().items():
            known = getattr(self, name)
            array[: known.size] = known
            setattr(self, name, array)

    def _fresh_arrays(self) -> dict[str, NDArray[Any]]:
        n_classes = self.classes_.size
        return {"base_": np.full(n_classes, -inf), **self._arrays(self.n_features_in_, n_classes)}

    def _take_up(self, fitted: dict[str, Any]) -> None:
        super()._take_up(fitted)
        for name, array in self._fresh_arrays().items():
            archive.expect_array(getattr(self, name), array.shape, array.dtype, name)

    # -- asking

    def _rank_instances(self, instances: Instances, k: int) -> NDArray[np.int32]:
        """A row without a feature ranks no class.

        Where untouched classes take part, they score 0; else only those rank that score above 0.
        """
        if self.ranks_untouched:
            return rank_all_classes(self.rows_, instances, self.base_, k)
        n_classes, degree = self.classes_.size, self._degree()
        return rank_touched_classes(self.rows_, instances, self._factors(), k, n_classes=n_classes, degree=degree)

    def _score_instances(self, instances: Instances, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
        if self.ranks_untouched:
            return super()._score_instances(instances, ranks)
        base, factors, degree = np.zeros(self.classes_.size), self._factors(), self._degree()
        return score_classes(self.rows_, instances, base, ranks, factors=factors, degree=degree)

    def _n_bytes_beside(self) -> int:
        beside = self._arrays(self.n_features_in_, self.classes_.size)
        return sum(array.nbytes for array in beside.values())

    def _n_edges_read(self, features: NDArray[np.int32]) -> NDArray[np.uint32]:
        lengths = super()._n_edges_read(features)
        return np.minimum(lengths, self._degree()) if self._degree() else lengths

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.ignores_not_positive  # on the centred data of scikit-learn's checks
        return tags


def _n_edges(examples: Instances | Vectors) -> int:
    """Room for the edges of training: dense rows need none, for the index is made after each pass."""
    return 0 if isinstance(examples, np.ndarray) else examples.data.size
