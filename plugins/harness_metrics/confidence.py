"""Metrics of confidence: the share of rows that can be decided automatically, and calibration.

`automatic` and `aurc` need only an order of the rows. They use the gap between the scores of the first two classes, and
nothing is fitted. `ece` needs probabilities, which the trial calibrates on training rows held out for this purpose.
"""

from __future__ import annotations

import numpy as np

from harness import Outcome
from harness.sdk.outcomes import RiskCurve, gaps_of, risk_curve
from harness_metrics.truth import compare


def automatic(outcome: Outcome, *, accuracy: float = 0.95) -> float | None:
    """Return the largest share of rows, the most confident first, with at least this accuracy.

    Rows with equal confidence are kept together, since no threshold separates them.

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
    """Return the area under the risk-coverage curve: the error of the most confident n rows, averaged over all n."""
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
