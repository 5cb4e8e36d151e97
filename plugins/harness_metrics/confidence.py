"""Metrics of confidence: the share of rows that can be decided automatically, and calibration.

`automatic` and `aurc` need an order alone, and take the gap between the scores of the first two classes: nothing is
fitted. `ece` needs a share, which the trial calibrates on training rows that it held out.
"""

from __future__ import annotations

import numpy as np

from harness import Outcome
from harness.sdk.outcomes import RiskCurve, gaps_of, risk_curve
from harness_metrics.truth import compare


def automatic(outcome: Outcome, *, accuracy: float = 0.95) -> float | None:
    """The largest share of rows, the surest first, of which at least this share is right; None without scores.

    Rows that are equally sure go together: no threshold parts them.
    """
    curve = _curve(outcome)
    if curve is None:
        return None
    right_enough = 1 - curve.risk >= accuracy - 1e-12  # 19 of 20 are 0.95, despite rounding
    return float(curve.coverage[curve.is_threshold & right_enough].max(initial=0.0))


def aurc(outcome: Outcome) -> float | None:
    """The area under the curve of risk and coverage: the mean error of the surest n rows, over all n."""
    curve = _curve(outcome)
    return None if curve is None else float(curve.risk.mean())


def _curve(outcome: Outcome) -> RiskCurve | None:
    """The error among the surest rows. Rows without a true class do not count."""
    if outcome.scores is None:
        return None
    labelled, right = compare(outcome, outcome.ranks[:, :1])
    if not labelled.any():
        return None
    gaps = gaps_of(outcome.ranks, outcome.scores)
    return risk_curve(gaps[labelled], ~right[labelled, 0])


def ece(outcome: Outcome, *, bins: int = 15) -> float | None:
    """The expected calibration error: over bins of equal width, how far the mean confidence is from the share right."""
    if outcome.confidence is None:
        return None
    labelled, right = compare(outcome, outcome.ranks[:, :1])
    confidence = outcome.confidence[labelled].astype(np.float64)
    if not confidence.size:
        return None
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    off = np.bincount(place, weights=confidence - right[labelled, 0], minlength=bins)
    return float(np.abs(off).sum() / confidence.size)
