"""Calibration: turn a learner's scores into the probability that its first-ranked class is right.

A calibrator reads the scores of the two first-ranked classes of a row. It is fitted on held-out rows, which the learner
was not trained on. `calibrate` fits two kinds and keeps the one with the lower cross-validated Brier score: isotonic
regression on the gap between the two scores, and logistic regression on the first score and the gap. Without scores, or
with too few rows, every row gets the same confidence, which is the accuracy.

`sharpen` extends the confidence of the first class to probabilities of all classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Hits = NDArray[np.bool_]
Kind = Literal["isotonic", "logistic", "constant"]

FOLDS = 5
FEWEST_ROWS = 50
"""Below this number of held-out rows no curve is fitted, and the confidence is constant."""


class Calibrator(Protocol):
    """Maps the scores of the two first-ranked classes to a confidence."""

    @property
    def kind(self) -> Kind:
        """The kind of curve."""

    def confidence(self, scores: Numbers) -> Numbers:
        """Return the confidence of each row.

        Parameters
        ----------
        scores : ndarray of float, shape (n_rows, 2)
            Scores of the two first-ranked classes, best first.

        Returns
        -------
        ndarray of float64, shape (n_rows,)
            Numbers from 0 to 1.
        """


@dataclass(frozen=True)
class Constant:
    """The same confidence for all rows."""

    share: float
    kind: Kind = "constant"

    def confidence(self, scores: Numbers) -> Numbers:
        return np.full(len(scores), self.share)


@dataclass(frozen=True)
class Isotonic:
    """Confidence by linear interpolation between points; it never falls as the gap grows."""

    gaps: tuple[float, ...]
    shares: tuple[float, ...]
    kind: Kind = "isotonic"

    def confidence(self, scores: Numbers) -> Numbers:
        return np.interp(lead_of_first(scores), self.gaps, self.shares)


@dataclass(frozen=True)
class Logistic:
    """Confidence 1 / (1 + exp(-z)), where z is linear in the first score and the gap.

    Both are divided by `scales` first, so that one regularisation strength suits scores of any magnitude.
    """

    scales: tuple[float, float]
    weights: tuple[float, float]
    intercept: float
    kind: Kind = "logistic"

    def confidence(self, scores: Numbers) -> Numbers:
        z = _features(scores) / self.scales @ np.array(self.weights) + self.intercept
        return np.asarray(0.5 * (1 + np.tanh(0.5 * z)))  # the logistic function in a form that cannot overflow


KINDS: Mapping[str, Callable[..., Calibrator]] = {"constant": Constant, "isotonic": Isotonic, "logistic": Logistic}


@dataclass(frozen=True)
class Reliability:
    """The calibration error of a confidence on held-out rows, overall and in bins of equal width."""

    rows: int
    brier: float
    """Mean squared difference between the confidence and the outcome, which is 1 for a right row and 0 otherwise."""
    expected_calibration_error: float
    """Mean over bins, weighted by rows, of the absolute difference between mean confidence and accuracy."""
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Bin:
    """The rows whose confidence lies in one interval."""

    rows: int
    confidence: float
    """Mean confidence of these rows."""
    right: float
    """Accuracy of these rows."""


@dataclass(frozen=True)
class Calibrated:
    """A fitted calibrator with its cross-validated reliability."""

    calibrator: Calibrator
    reliability: Reliability
    tried: Mapping[str, float]
    """Cross-validated Brier score of each kind that was fitted."""


def calibrate(scores: NDArray[np.floating[Any]] | None, right: Hits) -> Calibrated:
    """Fit the kind of calibrator that has the lowest Brier score in cross-validation.

    Parameters
    ----------
    scores : ndarray of float or None
        Scores of the two first-ranked classes of each row, best first; None for a learner without scores.
    right : Hits
        Whether the first-ranked class of each row is a true one.

    Returns
    -------
    Calibrated
        The calibrator is fitted on all rows; its reliability is that of the held-out folds. It is constant without
        scores, with fewer than `FEWEST_ROWS` rows, and if all rows are right or all are wrong.
    """
    usable = scores is not None and len(right) >= FEWEST_ROWS and 0 < right.sum() < len(right)
    fits: dict[str, Fit] = {"isotonic": fit_isotonic, "logistic": fit_logistic}
    if not usable:
        fits = {"constant": _fit_constant}
    known = np.zeros((len(right), 2)) if scores is None else np.asarray(scores, dtype=np.float64)
    held_out = {name: _held_out_confidence(fit, known, right) for name, fit in fits.items()}
    tried = {name: _brier(confidence, right) for name, confidence in held_out.items()}
    best = min(tried, key=lambda name: tried[name])
    return Calibrated(fits[best](known, right), reliability_of(held_out[best], right), tried)


Fit = Callable[[Numbers, Hits], Calibrator]


def _held_out_confidence(fit: Fit, scores: Numbers, right: Hits) -> Numbers:
    """Return the confidence of each row from a calibrator that was fitted on the other folds."""
    confidence = np.empty(len(right))
    fold = np.arange(len(right)) % FOLDS
    for number in range(FOLDS):
        out = fold == number
        confidence[out] = fit(scores[~out], right[~out]).confidence(scores[out])
    return confidence


def fit_isotonic(scores: Numbers, right: Hits) -> Calibrator:
    """Fit isotonic regression on the gap between the two scores.

    The confidence is kept away from 0 and 1: no number of rows can prove certainty.

    Parameters
    ----------
    scores : Numbers
        Scores of the two first-ranked classes of each row, best first.
    right : Hits
        Whether the first-ranked class of each row is a true one.

    Returns
    -------
    Calibrator
        The fitted curve.
    """
    from sklearn.isotonic import IsotonicRegression  # noqa: PLC0415 (reading a model does not need scikit-learn)

    least = _least_share(right)
    curve = IsotonicRegression(y_min=least, y_max=1 - least).fit(lead_of_first(scores), right)
    return Isotonic(tuple(curve.X_thresholds_.tolist()), tuple(curve.y_thresholds_.tolist()))


def fit_logistic(scores: Numbers, right: Hits) -> Calibrator:
    """Fit logistic regression on the first score and the gap, each divided by its standard deviation.

    Returns a constant calibrator if all rows are right or all are wrong.

    Parameters
    ----------
    scores : Numbers
        Scores of the two first-ranked classes of each row, best first.
    right : Hits
        Whether the first-ranked class of each row is a true one.

    Returns
    -------
    Calibrator
        The fitted curve.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 (reading a model does not need scikit-learn)

    if right.all() or not right.any():  # possible in a single fold
        return _fit_constant(scores, right)
    features = _features(scores)
    spread = features.std(axis=0)
    scales = np.where(spread > 0, spread, 1.0)
    curve = LogisticRegression().fit(features / scales, right)
    weights = curve.coef_[0].tolist()
    return Logistic((float(scales[0]), float(scales[1])), (weights[0], weights[1]), float(curve.intercept_[0]))


def _fit_constant(scores: Numbers, right: Hits) -> Calibrator:
    return Constant(float((right.sum() + 1) / (len(right) + 2)))


def _least_share(right: Hits) -> float:
    """Return the probability of an event that was never seen, by Laplace's rule of succession."""
    return 1 / (len(right) + 2)


def lead_of_first(scores: Numbers) -> Numbers:
    """Return the gap of each row: the score of the first-ranked class minus that of the second.

    Parameters
    ----------
    scores : ndarray of float, shape (n_rows, 2)
        Scores of the two first-ranked classes, best first.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        At least 0 for sorted scores.
    """
    return np.asarray(scores[:, 0] - scores[:, 1], dtype=np.float64)


def _features(scores: Numbers) -> Numbers:
    return np.column_stack([scores[:, 0], lead_of_first(scores)])


def _brier(confidence: Numbers, right: Hits) -> float:
    return float(((confidence - right) ** 2).mean()) if right.size else 0.0


def reliability_of(confidence: Numbers, right: Hits, bins: int = 10) -> Reliability:
    """Measure the calibration error of a confidence.

    Parameters
    ----------
    confidence : Numbers
        A number from 0 to 1 for each row.
    right : Hits
        Whether the first-ranked class of each row is a true one.
    bins : int, default=10
        Number of intervals of equal width between 0 and 1. Intervals without rows are left out of the result.

    Returns
    -------
    Reliability
        Error over all rows, and accuracy in each bin.
    """
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    found = []
    for number in range(bins):
        inside = place == number
        if inside.any():
            found.append(Bin(int(inside.sum()), float(confidence[inside].mean()), float(right[inside].mean())))
    off = sum(one.rows * abs(one.confidence - one.right) for one in found)
    return Reliability(len(right), _brier(confidence, right), off / max(len(right), 1), tuple(found))


def calibrator_to_plain(calibrator: Calibrator) -> dict[str, Any]:
    """Return a calibrator as a mapping for JSON.

    Parameters
    ----------
    calibrator : Calibrator
        A fitted calibrator.

    Returns
    -------
    dict of str to object
        The kind and its numbers; `calibrator_from_plain` reads them.
    """
    return asdict(calibrator)  # type: ignore[call-overload, no-any-return]  # every kind is a dataclass


def calibrator_from_plain(plain: Mapping[str, Any]) -> Calibrator:
    """Return the calibrator that a mapping describes.

    Parameters
    ----------
    plain : mapping of str to object
        A mapping from `calibrator_to_plain`, after a round trip through JSON.

    Returns
    -------
    Calibrator
        The calibrator.

    Raises
    ------
    ValueError
        If the mapping has an unknown kind, a number that is not finite, shares outside of 0 to 1, or unsorted points.
    """
    try:
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}
        calibrator = KINDS[plain["kind"]](**values)
        _check_calibrator(calibrator)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ValueError(f"no calibration: {type(error).__name__}: {error}") from error
    return calibrator


def _check_calibrator(calibrator: Calibrator) -> None:
    """Raise ValueError unless the calibrator gives a confidence from 0 to 1 for all scores."""
    if isinstance(calibrator, Isotonic):
        gaps, shares = _numbers(*calibrator.gaps), _numbers(*calibrator.shares)
        sound = gaps.shape == shares.shape and gaps.size > 0 and bool(np.isfinite(gaps).all())
        sound = sound and bool((np.diff(gaps) >= 0).all() and (np.diff(shares) >= 0).all())
        sound = sound and bool(((shares >= 0) & (shares <= 1)).all())
    elif isinstance(calibrator, Logistic):
        numbers = _numbers(*calibrator.scales, *calibrator.weights, calibrator.intercept)
        sound = numbers.shape == (5,) and len(calibrator.scales) == 2 and bool(np.isfinite(numbers).all())
        sound = sound and min(calibrator.scales) > 0
    else:
        assert isinstance(calibrator, Constant)
        sound = 0 <= _numbers(calibrator.share)[0] <= 1
    if not sound:
        raise ValueError(f"invalid {calibrator.kind} calibrator")


def _numbers(*values: Any) -> Numbers:
    """Return values as an array; TypeError for a value that is not a float.

    A whole number is refused too: numpy computes with Python objects if one is beyond 64 bits.
    """
    for value in values:
        if not isinstance(value, float):
            raise TypeError(f"{value!r} is not a floating-point number")
    return np.array(values, np.float64)


STEPS = 60
"""Number of bisection steps of `sharpen`: enough to reach the precision of float64."""
SHARPEST = 50.0
"""Bound of the search: the logarithm of the sharpness lies between -SHARPEST and SHARPEST."""


def sharpen(scores: NDArray[np.float64], confidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities of all classes in which the first class of each row has the given confidence.

    The probabilities are a softmax of the row's scores times a factor, the sharpness, which bisection finds for each
    row. Scores are divided by their range first, so that the search does not depend on their magnitude.

    Parameters
    ----------
    scores : ndarray of float64
        One row of class scores for each test row. A class with the score -inf gets the probability 0.
    confidence : ndarray of float64
        The wanted largest probability of each row.

    Returns
    -------
    ndarray
        Of the shape of `scores`; rows add up to 1. The largest of n probabilities is at least 1/n, and at most 1/m if
        m classes tie for the first place. A confidence beyond these limits is met as closely as possible.
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
