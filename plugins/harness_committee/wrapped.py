"""What the wrappers share: a learner inside that they seed and fit, and sizes that are its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import Perceptron
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from harness_committee import files

BLOCK_VALUES = 4_000_000
"""Scores held at once when a learner without `rank` is asked for ranks."""


def seeds(random_state: Any, count: int) -> list[int]:
    """Seeds for the learners inside, all different from each other with the same generator."""
    return [int(seed) for seed in check_random_state(random_state).randint(2**31 - 1, size=count)]


def fresh(learner: Any, seed: int) -> Any:
    """A copy of the learner inside, unfitted, with this seed; scikit-learn's perceptron where none was given."""
    copy = clone(learner) if learner is not None else Perceptron()
    if "random_state" in copy.get_params(deep=False) and copy.get_params(deep=False)["random_state"] is None:
        copy.set_params(random_state=seed)
    return copy


def tells_passes(learner: Any) -> bool:
    """Whether its fit calls back after each pass."""
    return "after_pass" in inspect.signature(learner.fit).parameters


def tells_edges(wrapper: Any) -> bool:
    """Whether the learner inside counts the edges it reads."""
    return hasattr(wrapper.learner, "edges_touched")


def learns_in_batches(wrapper: Any) -> bool:
    """Whether the learner inside does."""
    return hasattr(Perceptron if wrapper.learner is None else wrapper.learner, "partial_fit")


def ranks_of(learner: Any, X: Any, k: int) -> NDArray[np.int32]:
    """The k best classes of each row by position in `classes_`, from whatever the learner has; -1 pads."""
    if hasattr(learner, "rank"):
        ranks: NDArray[np.int32] = learner.rank(X, k)
        return ranks
    kept = min(k, len(learner.classes_))
    blocks = [np.argsort(-scores, axis=1, kind="stable")[:, :kept] for scores in _scores(learner, X)]
    return np.pad(np.concatenate(blocks).astype(np.int32), ((0, 0), (0, k - kept)), constant_values=-1)


def _scores(learner: Any, X: Any) -> Iterator[NDArray[Any]]:
    method = "decision_function" if hasattr(learner, "decision_function") else "predict_proba"
    step = max(1, BLOCK_VALUES // len(learner.classes_))
    for start in range(0, X.shape[0], step):
        scores = np.asarray(getattr(learner, method)(X[start : start + step]))
        yield np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def index_size(learner: Any) -> int | None:
    """Non-zero weights of a fitted learner; None where it does not tell."""
    if hasattr(learner, "index_size_"):
        return int(learner.index_size_)
    return int(np.count_nonzero(learner.coef_)) if hasattr(learner, "coef_") else None


class OneInside(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier that trains one learner in its own way and answers as that one does: `learner_`."""

    def predict(self, X: Any) -> NDArray[Any]:
        """What the learner inside predicts."""
        check_is_fitted(self)
        return np.asarray(self.learner_.predict(X))

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """Positions in `classes_` of the k best classes of each row, best first, -1 pads."""
        check_is_fitted(self)
        return ranks_of(self.learner_, X, k)

    @available_if(tells_edges)  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def edges_touched(self, X: Any) -> float:
        """Edges read per active feature; there where the learner inside tells its own."""
        check_is_fitted(self)
        return float(self.learner_.edges_touched(X))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted learner to a numpy archive without pickle; the learner inside must have `save` itself."""
        check_is_fitted(self)
        names = {"feature_names_in_": self.feature_names_in_} if hasattr(self, "feature_names_in_") else {}
        files.save(path, self, names, [self.learner_])

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A learner as `save` wrote it; ValueError when the file is damaged, foreign or another learner's."""
        wrapper, fitted, models = files.load(path, cls)
        if len(models) != 1 or fitted.keys() - {"feature_names_in_"}:
            raise ValueError(f"{path}: damaged (it holds something else than one learner)")
        wrapper._take_over(models[0])
        for name, value in fitted.items():
            setattr(wrapper, name, value)
        own: Self = wrapper
        return own

    def _fit_inside(self, learner: Any, X: Any, y: Any, after_pass: Callable[[int], None]) -> None:
        """Train it; where it does not tell its passes, the whole training counts as one."""
        if tells_passes(learner):
            learner.fit(X, y, after_pass=after_pass)
        else:
            learner.fit(X, y)
            after_pass(1)

    def _take_over(self, learner: Any) -> None:
        """What scikit-learn and the host ask a fitted learner for."""
        self.learner_ = learner
        self.classes_ = learner.classes_
        self.n_features_in_ = learner.n_features_in_
        if hasattr(learner, "feature_names_in_"):
            self.feature_names_in_ = learner.feature_names_in_
        size = index_size(learner)
        if size is not None:
            self.index_size_ = size

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
