"""Metrics of confidence: the share of rows that can be decided automatically, and calibration.

`automatic` and `aurc` need only an order of the rows. They use the gap between the scores of the first two classes, and
nothing is fitted. `ece` and `log_loss` need probabilities, which the trial calibrates on training rows held out for
this purpose.
"""

from __future__ import annotations

import numpy as np

from harness import Outcome
from harness.sdk.outcomes import RiskCurve, gaps_of, risk_curve
from harness_metrics.truth import compare


def automatic(outcome: Outcome, *, accuracy: float = 0.95) -> float | None:
    """Return the largest share of rows, the most confident first, with at least this accuracy.

    Rows with equal confidence are kept together, since no threshold separates them.

    Formula
    -------
    automatic = largest share of rows, most confident first, whose accuracy is at least that required

    When to use
    -----------
    Where sure rows are decided by the learner and the others by people.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    accuracy : float, default=0.95
        Required share of correct rows.

    Returns
    -------
    float or None
        None without scores.
    """
    curve = _curve(outcome)
    if curve is None:
        return None
    right_enough = 1 - curve.risk >= accuracy - 1e-12  # 19 of 20 count as 0.95, despite rounding
    return float(curve.coverage[curve.is_threshold & right_enough].max(initial=0.0))


def aurc(outcome: Outcome) -> float | None:
    """Return the area under the risk-coverage curve.

    Formula
    -------
    AURC = error of the n most confident rows, mean over n = 1 to all rows

    When to use
    -----------
    To compare how well learners know which rows they get right, without a required accuracy.
    """
    curve = _curve(outcome)
    return None if curve is None else float(curve.risk.mean())


def _curve(outcome: Outcome) -> RiskCurve | None:
    """Return the error among the most confident rows. Rows without a true class do not count."""
    if outcome.scores is None:
        return None
    labelled, right = compare(outcome, outcome.ranks[:, :1])
    if not labelled.any():
        return None
    gaps = gaps_of(outcome.ranks, outcome.scores)
    return risk_curve(gaps[labelled], ~right[labelled, 0])


def ece(outcome: Outcome, *, bins: int = 15) -> float | None:
    """Return the expected calibration error: the distance of mean confidence and accuracy, over bins of equal width.

    Formula
    -------
    ECE = |mean confidence - accuracy| in each bin of confidence, mean over bins weighted by their rows

    When to use
    -----------
    Where a confidence of 0.9 must mean right in 9 of 10 rows.

    Parameters
    ----------
    outcome : Outcome
        Results of a trial.
    bins : int, default=15
        Number of bins.

    Returns
    -------
    float or None
        None without calibrated confidences.
    """
    if outcome.confidence is None:
        return None
    labelled, right = compare(outcome, outcome.ranks[:, :1])
    confidence = outcome.confidence[labelled].astype(np.float64)
    if not confidence.size:
        return None
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    off = np.bincount(place, weights=confidence - right[labelled, 0], minlength=bins)
    return float(np.abs(off).sum() / confidence.size)


def log_loss(outcome: Outcome) -> float | None:
    """Return the mean of -ln p of the true class, for one label a row.

    The probability of the first class is its calibrated confidence c. The other classes share 1 - c evenly.

    Formula
    -------
    log loss = -ln p(label), mean over rows; p = c for the first class, (1 - c) / (classes - 1) for each other class

    When to use
    -----------
    To compare confidences where a sure error is much worse than an unsure one.

    Returns
    -------
    float or None
        None without calibrated confidences, and for data with several labels a row.
    """
    truth = outcome.truth
    if outcome.confidence is None or not isinstance(truth, np.ndarray):
        return None
    labelled, right = compare(outcome, outcome.ranks[:, :1])
    if not labelled.any():
        return None
    confidence = outcome.confidence.astype(np.float64)
    each_other = (1 - confidence) / max(outcome.n_classes - 1, 1)
    p = np.where(right[:, 0], confidence, each_other)[labelled]
    return float(-np.log(np.maximum(p, np.finfo(np.float64).eps)).mean())
