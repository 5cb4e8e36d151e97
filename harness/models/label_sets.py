"""Sets of labels: all classes of a row whose confidence passes a threshold, for models with several labels a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.host.contract import Labels
from harness.stats.calibration import Calibrated, Calibrator, calibrate
from harness.trials.predict import KEPT_SCORES, rank_with_scores

LABEL_SCORES = 10
"""Number of best classes of each held-out row that calibrate the confidence of a label."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class LabelPredictions:
    """The classes of each row whose confidence passes the threshold, the most confident first."""

    positions: NDArray[np.int32]
    """Positions of these classes, rows x k; padded with -1."""
    scores: Numbers
    """Their scores; 0 for pads."""
    confidence: Numbers
    """The calibrated probability of each that it is a true class of the row; 0 for pads."""
    names: NDArray[Any]
    """Their names; pads are empty strings."""


def label_scores(scores: Numbers) -> Numbers:
    """Return the scores of all ranked classes in the form that a calibrator reads.

    The second number of each is the score of the row's first class: the calibrator sees the score and the distance from
    the best.
    """
    return np.column_stack([scores.ravel(), np.repeat(scores[:, 0], scores.shape[1])])


def fit_label_calibrator(learner: Any, rows: Any, truth: Labels, n_classes: int) -> tuple[Calibrated, float]:
    """Fit the calibrator for classes of a row, and return it with the share of true classes among those ranked.

    Parameters
    ----------
    learner : object
        The fitted learner, which has scores.
    rows, truth : object
        Held-out rows in the form that the learner takes, and their indicator matrix.
    n_classes : int
        Number of classes of the dataset.
    """
    ranks, scores = rank_with_scores(learner, rows, max(min(LABEL_SCORES, n_classes), KEPT_SCORES), n_classes)
    assert scores is not None  # the caller has checked it
    is_class = (ranks >= 0).ravel()
    row = np.arange(len(ranks), dtype=np.int64)[:, np.newaxis]
    pairs = csr_array(truth).tocoo()
    true_pairs = pairs.row.astype(np.int64) * n_classes + pairs.col
    right = np.isin((row * n_classes + ranks).ravel()[is_class], true_pairs)
    return calibrate(label_scores(scores)[is_class], right), float(right.mean()) if right.size else 0.0


def choose_labels(
    ranks: NDArray[np.int32], scores: Numbers, calibrator: Calibrator, threshold: float, names: NDArray[Any]
) -> LabelPredictions:
    """Return the ranked classes of each row whose confidence is at least `threshold`.

    Parameters
    ----------
    ranks, scores : ndarray
        The best classes of each row, best first, and their scores.
    calibrator : Calibrator
        The result of `fit_label_calibrator`.
    threshold : float
        The least confidence.
    names : ndarray
        Class names by position, followed by the name of a pad.
    """
    confidence = calibrator.confidence(label_scores(scores)).reshape(ranks.shape)
    passes = (ranks >= 0) & (confidence >= threshold)
    order = np.argsort(np.where(passes, -confidence, 1.0), axis=1, kind="stable")
    passes = np.take_along_axis(passes, order, axis=1)
    positions = np.where(passes, np.take_along_axis(ranks, order, axis=1), -1).astype(np.int32)
    return LabelPredictions(
        positions,
        np.where(passes, np.take_along_axis(scores, order, axis=1), 0.0),
        np.where(passes, np.take_along_axis(confidence, order, axis=1), 0.0),
        names[positions],
    )
