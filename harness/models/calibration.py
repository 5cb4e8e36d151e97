"""Confidence that means something: from the scores of the first two classes to the share of such rows that are right.

A calibrator is fitted on rows that the learner was not trained on. Two kinds compete, by their Brier score on rows that
they were not fitted on either: isotonic regression on the gap between the two scores, and logistic regression on the
first score and the gap. Where no scores are known, or hardly a row, all rows have the same confidence: the accuracy.
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
"""With fewer held-out rows there is nothing to fit a curve to."""


class Calibrator(Protocol):
    """What turns the scores of the first two classes, a row each, into a confidence."""

    @property
    def kind(self) -> Kind: ...

    def confidence(self, scores: Numbers) -> Numbers: ...


@dataclass(frozen=True)
class Constant:
    """The same confidence for all rows."""

    share: float
    kind: Kind = "constant"

    def confidence(self, scores: Numbers) -> Numbers:
        return np.full(len(scores), self.share)


@dataclass(frozen=True)
class Isotonic:
    """Straight lines between points, never falling as the gap grows."""

    gaps: tuple[float, ...]
    shares: tuple[float, ...]
    kind: Kind = "isotonic"

    def confidence(self, scores: Numbers) -> Numbers:
        return np.interp(gaps_of(scores), self.gaps, self.shares)


@dataclass(frozen=True)
class Logistic:
    """1 / (1 + exp(-z)), z linear in the score and the gap, each divided by a scale."""

    scales: tuple[float, float]
    weights: tuple[float, float]
    intercept: float
    kind: Kind = "logistic"

    def confidence(self, scores: Numbers) -> Numbers:
        z = _features(scores) / self.scales @ np.array(self.weights) + self.intercept
        return np.asarray(0.5 * (1 + np.tanh(0.5 * z)))  # the same curve, which overflows nowhere


KINDS: Mapping[str, Callable[..., Calibrator]] = {"constant": Constant, "isotonic": Isotonic, "logistic": Logistic}


@dataclass(frozen=True)
class Reliability:
    """How far a confidence can be trusted, found on rows that it was not fitted on: by bins of equal width."""

    rows: int
    brier: float
    """Mean squared difference between the confidence and what came true."""
    expected_calibration_error: float
    """Mean difference between the confidence and the share that is right, over the bins by their rows."""
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Bin:
    """The rows whose confidence lies in a stretch."""

    rows: int
    confidence: float
    """Their mean."""
    right: float
    """The share of them that is right."""


@dataclass(frozen=True)
class Calibrated:
    """A calibrator and what is known of it."""

    calibrator: Calibrator
    reliability: Reliability
    tried: Mapping[str, float]
    """The Brier score of each kind that was tried."""


def calibrate(scores: NDArray[np.floating[Any]] | None, right: Hits) -> Calibrated:
    """The better kind of calibrator, fitted on all of these rows; its reliability comes from cross-validation."""
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
    """The confidence of each row by a calibrator that was fitted without it."""
    confidence = np.empty(len(right))
    fold = np.arange(len(right)) % FOLDS
    for number in range(FOLDS):
        out = fold == number
        confidence[out] = fit(scores[~out], right[~out]).confidence(scores[out])
    return confidence


def fit_isotonic(scores: Numbers, right: Hits) -> Calibrator:
    """Isotonic regression on the gap; no share is 0 or 1, which no number of rows can prove."""
    from sklearn.isotonic import IsotonicRegression  # noqa: PLC0415 (who only reads a model needs no scikit-learn)

    least = _least_share(right)
    curve = IsotonicRegression(y_min=least, y_max=1 - least).fit(gaps_of(scores), right)
    return Isotonic(tuple(curve.X_thresholds_.tolist()), tuple(curve.y_thresholds_.tolist()))


def fit_logistic(scores: Numbers, right: Hits) -> Calibrator:
    """Logistic regression on the score and the gap, each divided by its spread."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 (who only reads a model needs no scikit-learn)

    if right.all() or not right.any():  # as may be within a fold
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
    """Laplace's rule of succession for an event that was never seen."""
    return 1 / (len(right) + 2)


def gaps_of(scores: Numbers) -> Numbers:
    """How far the first class is ahead of the second."""
    return np.asarray(scores[:, 0] - scores[:, 1], dtype=np.float64)


def _features(scores: Numbers) -> Numbers:
    return np.column_stack([scores[:, 0], gaps_of(scores)])


def _brier(confidence: Numbers, right: Hits) -> float:
    return float(((confidence - right) ** 2).mean()) if right.size else 0.0


def reliability_of(confidence: Numbers, right: Hits, bins: int = 10) -> Reliability:
    """What a confidence was worth on rows whose truth is known; bins without a row are left out."""
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    found = []
    for number in range(bins):
        inside = place == number
        if inside.any():
            found.append(Bin(int(inside.sum()), float(confidence[inside].mean()), float(right[inside].mean())))
    off = sum(one.rows * abs(one.confidence - one.right) for one in found)
    return Reliability(len(right), _brier(confidence, right), off / max(len(right), 1), tuple(found))


def calibrator_to_plain(calibrator: Calibrator) -> dict[str, Any]:
    """A calibrator as JSON can hold it."""
    return asdict(calibrator)  # type: ignore[call-overload, no-any-return]  # every kind is a dataclass


def calibrator_from_plain(plain: Mapping[str, Any]) -> Calibrator:
    """The calibrator that was written; ValueError where it makes no sense."""
    try:
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}
        calibrator = KINDS[plain["kind"]](**values)
        trial = calibrator.confidence(np.array([[1.0, 0.0]]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"no calibration: {type(error).__name__}: {error}") from error
    if not (0 <= trial[0] <= 1):
        raise ValueError(f"no calibration: it gives {trial[0]}, expected a share")
    return calibrator
