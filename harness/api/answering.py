"""A fitted learner as people ask it: classes by name, best first, with scores and a calibrated confidence.

It takes rows as the learner sees them; `harness.api.model` puts the representation before it. To scikit-learn it is a
classifier that is fitted already, such as the last step of a pipeline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin

from harness.errors import ModelError
from harness.models.calibration import Calibrator
from harness.models.sharpening import sharpen
from harness.trials.ranking import KEPT_SCORES
from harness.trials.scoring import all_scores, rank_with_scores

NO_CLASS = ""
"""What stands where a row has no class: it has nothing that the model knows."""


@dataclass(frozen=True)
class Answers:
    """What a model says of some rows."""

    positions: NDArray[np.int32]
    """The k best classes of each row by their positions, best first, -1 pads."""
    scores: NDArray[np.float64] | None
    """What they score, in the same shape; None where the learner does not tell."""
    confidence: NDArray[np.float64]
    """How likely the first one is right; 0 where there is none."""
    classes: NDArray[Any]
    """All class names, by position."""

    @property
    def names(self) -> NDArray[Any]:
        """The k best classes of each row by name; an empty text pads."""
        padded = np.append(self.classes, NO_CLASS)
        return padded[self.positions]  # -1 is the last one


class NamedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A learner that was trained on class positions, with the names of these and a calibrated confidence.

    Attributes
    ----------
    classes_ : the class names, by position.
    """

    def __init__(self, learner: Any, class_names: tuple[str, ...], calibrator: Calibrator) -> None:
        self.learner = learner
        self.class_names = class_names
        self.calibrator = calibrator
        self.classes_ = np.array([*class_names, None], dtype=object)[:-1]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing: it is fitted. `harness.fit` makes another one."""
        return self

    def answer(self, X: Any, k: int) -> Answers:
        """The k best classes of each row, their scores and the confidence. A row without a feature gets no class."""
        if not X.shape[0]:  # which many learners refuse
            return Answers(np.empty((0, k), np.int32), np.empty((0, k)), np.empty(0), self.classes_)
        positions, scores = rank_with_scores(self.learner, X, max(k, KEPT_SCORES), len(self.classes_))
        known = _has_features(X)
        if not known.all():
            positions[~known] = -1
            if scores is not None:
                scores[~known] = 0.0
        first = np.zeros((len(positions), KEPT_SCORES)) if scores is None else scores[:, :KEPT_SCORES]
        confidence = np.where(positions[:, 0] >= 0, self.calibrator.confidence(first), 0.0)
        return Answers(positions[:, :k], None if scores is None else scores[:, :k], confidence, self.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The best class of each row by name; an empty text for a row without a feature."""
        return self.answer(X, 1).names[:, 0]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of every class, rows x classes; -inf for classes that training never met."""
        scores = all_scores(self.learner, X)
        if scores is None:
            raise ModelError(f"{type(self.learner).__name__} tells no scores: ask for predict, rank or confidence")
        whole = np.full((X.shape[0], len(self.classes_)), -np.inf)
        whole[:, np.asarray(self.learner.classes_)] = scores
        return whole

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Shares that add up to 1: those of a softmax over the scores, as sharp as the confidence of the row says."""
        return sharpen(self.decision_function(X), self.answer(X, 1).confidence)


def _has_features(X: Any) -> NDArray[np.bool_]:
    """Which rows have anything that the model knows; texts and dense rows always do."""
    if issparse(X):
        return np.asarray(np.diff(csr_array(X).indptr) > 0)
    return np.ones(X.shape[0], np.bool_)
