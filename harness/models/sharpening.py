"""Scores of all classes to shares that add up to 1, of which the first class has the share that its confidence says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STEPS = 60
"""Halvings of the interval in which the sharpness is looked for: more than a float64 can tell apart."""
SHARPEST = 50.0
"""The largest logarithm of a sharpness, by the spread of the row's scores."""


def sharpen(scores: NDArray[np.float64], confidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """A softmax of each row's scores, multiplied by what makes its largest share the confidence.

    A class with the score -inf has no share. The largest share of n classes is never below 1/n, and where m classes
    tie for the first place never above 1/m: there the confidence is met as nearly as can be.
    """
    behind = scores - scores.max(axis=1, keepdims=True)
    taking_part = np.isfinite(behind)
    behind = np.where(taking_part, behind, 0.0)
    spread = np.maximum(-behind.min(axis=1), np.finfo(np.float64).tiny)
    behind = behind / spread[:, np.newaxis]
    low, high = np.full(len(scores), -SHARPEST), np.full(len(scores), SHARPEST)
    for _ in range(STEPS):
        middle = (low + high) / 2
        too_flat = _shares(behind, taking_part, middle).max(axis=1) < confidence
        low, high = np.where(too_flat, middle, low), np.where(too_flat, high, middle)
    return _shares(behind, taking_part, high)


def _shares(
    behind: NDArray[np.float64], taking_part: NDArray[np.bool_], log_sharpness: NDArray[np.float64]
) -> NDArray[np.float64]:
    weights = np.where(taking_part, np.exp(behind * np.exp(log_sharpness)[:, np.newaxis]), 0.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
