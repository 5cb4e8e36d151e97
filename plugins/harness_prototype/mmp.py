"""MMP: the multi-class multi-label perceptron. An update moves all prototypes that are ordered wrongly."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier, rules
from harness.sdk.classifier import Examples, Matrix
from harness.sdk.kernels.instances import Instances, Labels, Vectors, canonical_rows
from harness.sdk.kernels.moves import no_moves
from harness.sdk.kernels.vectors import Block
from harness_prototype.kernels.dense_updates import learn_mmp
from harness_prototype.kernels.mmp import update_mmp
from harness_prototype.limits import check_finite


class MMP(OnlineClassifier):
    """Multi-class multi-label perceptron of Crammer and Singer: uniform update, IsErr loss.

    E holds the pairs of a true class r of x and another class s seen so far with s_s >= s_r. Each pair moves
    W[:, r] += x / |E| and W[:, s] -= x / |E|. Classes without a weight for any feature of x score 0 and take part, so
    the index gets dense.

    When to use
    -----------
    Rows with several labels and few classes. With many classes its prototypes get dense and slow.

    References
    ----------
    Crammer and Singer, A family of additive online algorithms for category ranking, JMLR 2003.

    Parameters
    ----------
    passes : int, default=10
        Number of passes over the training rows, at least 1, each in a new random order.
    touched_only : bool, default=False
        If True, E excludes classes without a weight for any feature of x, which is faster with many classes. If E would
        be empty without them, the first of them represents all.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of rows. Equal seeds give equal bits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    rows_ : Rows
        The index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes, with the weights W.
    base_ : ndarray of shape (n_classes,)
        0 for each class that has occurred, -inf for the others.
    index_size_, index_bytes_ : int
        Number of non-zero weights, and bytes of the index.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harness_prototype import MMP
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = MMP(random_state=0).fit(X, y)
    >>> learner.predict(X[:3])
    array([0, 1, 1])
    """

    takes_several: ClassVar[bool] = True
    takes_dense: ClassVar[bool] = True

    def __init__(
        self,
        *,
        passes: int = 10,
        touched_only: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.passes = passes
        self.touched_only = touched_only
        self.random_state = random_state

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        base, moves = self.base_, no_moves(self.base_.size)
        scores, held = np.empty_like(base), np.empty_like(base)
        done = update_mmp(
            self.rows_, instances, labels, order, base, scores, held, moves, bool(self.touched_only)
        )  # fmt: skip
        check_finite(self.rows_, number)
        return done

    def _learn_block(self, W: Vectors, block: Block, labels: Labels) -> None:
        base = self.base_
        learn_mmp(W, block, labels, base, np.empty_like(base), np.empty_like(base), no_moves(base.size))

    def _as_rows(self, X: Matrix) -> Examples:
        """Keep rows sparse with `touched_only`, which needs the features of a row."""
        return canonical_rows(X) if self.touched_only else super()._as_rows(X)

    def _rules(self) -> dict[str, rules.Rule]:
        return {"touched_only": rules.flag(self.touched_only)}
