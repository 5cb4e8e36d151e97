"""Measurements of a learner on the held-out rows: accuracy, calibration, errors by class, nodes and sets of labels.

`harness fit` takes them once and stores them in the manifest, whose checksum covers them. The model card shows them;
`--backoff` and `--threshold` use the calibrators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from harness.errors import ModelError
from harness.host.contract import Dataset, Labels, Taxonomy
from harness.models.back_off import BackOff, fit_back_off, node_depth
from harness.models.label_sets import fit_label_calibrator
from harness.sdk.outcomes import ByClass, FrequencyBin, by_class
from harness.stats.calibration import (
    FEWEST_ROWS,
    Calibrated,
    Calibrator,
    calibrate,
    calibrator_from_plain,
    calibrator_to_plain,
)
from harness.text import counted, in_a_line
from harness.trials.outcome import Costs, Ranking, first_is_true, make_outcome
from harness.trials.predict import rank_with_scores

MOST_CONFUSIONS, LONGEST_NAME = 10, 120
ENOUGH_ROWS = 500
"""With fewer held-out rows, `harness fit` warns that accuracy and confidence are rough."""


@dataclass(frozen=True, kw_only=True)
class ConfusedClass:
    """A class that was taken for another one."""

    truth: str
    answer: str
    """Empty if no class was predicted."""
    rows: int
    of: int
    """Number of held-out rows of the true class."""


@dataclass(frozen=True, kw_only=True)
class CalibratedLevel:
    """A level of the taxonomy, or the labels of a row: its calibrator, and how good its best answers were."""

    calibrator: Mapping[str, Any]
    accuracy: float
    """Share of right answers on the held-out rows."""
    expected_calibration_error: float


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Results on the held-out rows, besides the accuracy and the reliability of the confidence."""

    has_scores: bool
    """False for a learner without scores, whose predictions have no confidence."""
    by_frequency: tuple[FrequencyBin, ...] = ()
    """Accuracy by the number of training rows of the class; empty for several labels a row."""
    confusions: tuple[ConfusedClass, ...] = ()
    """The most frequent confusions."""
    levels: tuple[CalibratedLevel, ...] = ()
    """Back-off at each level of the taxonomy, from below the root; empty without a taxonomy or without scores."""
    labels: CalibratedLevel | None = None
    """Confidence of each class of a row; None for one label a row, and without scores."""


@dataclass(frozen=True)
class Measurements:
    """The calibration of the first class, its accuracy, and all other measurements."""

    calibrated: Calibrated
    accuracy: float | None
    held_out: HeldOut


def measure(
    learner: Any, rows: Any, data: Dataset, trained: NDArray[np.int64], held_out: NDArray[np.int64], kept: int
) -> Measurements:
    """Measure a learner on rows that it was not trained on.

    Parameters
    ----------
    learner : object
        The fitted learner.
    rows : object
        The held-out rows in the form that the learner takes.
    data : Dataset
        The dataset.
    trained, held_out : ndarray of int64
        Positions of the training rows and of the held-out rows.
    kept : int
        Number of scores of a row that the confidence reads.
    """
    truth, n_classes = data.y[held_out], len(data.class_names)
    ranks, scores = rank_with_scores(learner, rows, kept, n_classes)
    right = first_is_true(ranks, truth)
    calibrated = calibrate(scores, right)
    levels: tuple[CalibratedLevel, ...] = ()
    labels = None
    if scores is not None and data.taxonomy is not None:
        fitted = fit_back_off(learner, rows, truth, data.taxonomy, n_classes, calibrated.calibrator)
        levels = tuple(map(_level, fitted))
    if scores is not None and issparse(truth):
        labels = _level(fit_label_calibrator(learner, rows, truth, n_classes))
    errors = _errors(ranks, truth, data, data.y[trained])
    return Measurements(
        calibrated,
        float(right.mean()) if right.size else None,
        HeldOut(
            has_scores=scores is not None,
            by_frequency=() if errors is None else errors.by_frequency,
            confusions=() if errors is None else worst_confusions(errors),
            levels=levels,
            labels=labels,
        ),
    )


def _level(fitted: tuple[Calibrated, float]) -> CalibratedLevel:
    calibrated, accuracy = fitted
    return CalibratedLevel(
        calibrator=calibrator_to_plain(calibrated.calibrator),
        accuracy=accuracy,
        expected_calibration_error=calibrated.reliability.expected_calibration_error,
    )


def _errors(ranks: NDArray[np.int32], truth: Labels, data: Dataset, trained: Labels) -> ByClass | None:
    """Return the errors by class; None for several labels a row, and without held-out rows."""
    no_costs = Costs(fit_seconds=0.0, fit_cpu_seconds=0.0, rank_seconds=0.0)
    outcome = make_outcome(Ranking(ranks), truth, trained, len(data.class_names), None, no_costs)
    return by_class(outcome, data.class_names)


def worst_confusions(errors: ByClass) -> tuple[ConfusedClass, ...]:
    """Return the most frequent confusions; names are shortened to one line."""
    worst = sorted(errors.confusions, key=lambda one: -one.rows)[:MOST_CONFUSIONS]
    found = []
    for one in worst:
        truth, answer = in_a_line(one.truth, LONGEST_NAME), in_a_line(one.answer, LONGEST_NAME)
        found.append(ConfusedClass(truth=truth, answer=answer, rows=one.rows, of=errors.class_rows[one.truth]))
    return tuple(found)


# -- calibrators of a loaded model -----------------------------------------------------------------------------------

FIT_AGAIN = "Fit it again with this release."
LARGEST = 1e15
"""Bound of the numbers in a manifest."""


def read_back_off(held_out: HeldOut | None, taxonomy: Taxonomy | None) -> BackOff:
    """Return the calibrated levels of a model.

    Raises
    ------
    ModelError
        If the model has no taxonomy or no scores, if an older release fitted it, or if the levels are damaged.
    """
    if taxonomy is None:
        raise ModelError(
            "the classes of the model have no taxonomy",
            next_step="Fit it on data with one, such as --data 'titles.csv(taxonomy=tree.csv)', or use --review.",
        )
    held_out = _known(held_out, "back-off")
    if not held_out.has_scores:
        raise ModelError("the model has no scores, so no node has a confidence", next_step=OTHER_LEARNER)
    return BackOff(taxonomy, _calibrators(held_out.levels))


def read_label_calibrator(held_out: HeldOut | None) -> Calibrator:
    """Return the calibrator for the classes of a row.

    Raises
    ------
    ModelError
        If the model has one label a row or no scores, if an older release fitted it, or if the calibrator is damaged.
    """
    held_out = _known(held_out, "a threshold")
    if not held_out.has_scores:
        raise ModelError("the model has no scores, so no class has a confidence", next_step=OTHER_LEARNER)
    if held_out.labels is None:
        raise ModelError(
            "the model was trained on one label a row",
            next_step="Use --top for more classes, or --review to set uncertain rows aside.",
        )
    return _calibrators([held_out.labels])[0]


OTHER_LEARNER = "Fit a learner with scores, such as pa: `harness list learners` shows all."


def _known(held_out: HeldOut | None, purpose: str) -> HeldOut:
    if held_out is None:
        raise ModelError(f"an older release fitted the model, without calibration for {purpose}", next_step=FIT_AGAIN)
    return held_out


def _calibrators(levels: Sequence[CalibratedLevel]) -> tuple[Calibrator, ...]:
    try:
        return tuple(calibrator_from_plain(level.calibrator) for level in levels)
    except ValueError as error:
        raise ModelError(str(error), next_step=FIT_AGAIN) from error


def check_figures(reliability: Mapping[str, Any], held_out: HeldOut | None, taxonomy: Taxonomy | None) -> None:
    """Raise ModelError if a number of the reliability or a calibrator is damaged, or if a level has no calibrator."""
    _check_reliability(reliability)
    if held_out is not None:
        _check_held_out(held_out, taxonomy)


def _check_reliability(reliability: Mapping[str, Any]) -> None:
    try:
        numbers = [reliability[name] for name in ("rows", "brier", "expected_calibration_error")]
        for one in reliability["bins"]:
            numbers += [one[name] for name in ("rows", "confidence", "right")]
    except (KeyError, TypeError):
        numbers = [None]
    for number in numbers:
        if type(number) not in (int, float) or not abs(number) < LARGEST:
            raise ModelError(f"the reliability in its manifest is damaged: {number!r}", next_step=FIT_AGAIN)


def _check_held_out(held_out: HeldOut, taxonomy: Taxonomy | None) -> None:
    depth = node_depth(taxonomy) if taxonomy is not None and held_out.has_scores else 0
    if len(_calibrators(held_out.levels)) != depth:
        raise ModelError(f"has {counted(len(held_out.levels), 'calibrated level')}, expected {depth}")
    if held_out.labels is not None:
        _calibrators([held_out.labels])


# -- sentences -------------------------------------------------------------------------------------------------------


def describe_confidence(calibrator: Mapping[str, Any], reliability: Mapping[str, Any], held_out: HeldOut | None) -> str:
    """Return a sentence on the confidence of a model: its kind and error, or why it is constant or missing."""
    if held_out is not None and not held_out.has_scores:
        return "no confidence: the learner has no scores"
    if calibrator.get("kind") != "constant":
        error = reliability["expected_calibration_error"]
        return f"confidence: {calibrator['kind']} regression, mean calibration error {error:.3f}"
    reason = _reason_for_constant(reliability)
    return f"confidence: {calibrator['share']:.3f} for every row, {reason}"


def _reason_for_constant(reliability: Mapping[str, Any]) -> str:
    rows = reliability["rows"]
    if rows < FEWEST_ROWS:
        return f"since {counted(rows, 'held-out row is', 'held-out rows are')} too few for a confidence of each row"
    right = sum(one["rows"] * one["right"] for one in reliability["bins"])
    if round(right) == rows:
        return f"since all {rows:,} held-out rows were right"
    if round(right) == 0:
        return f"since all {rows:,} held-out rows were wrong"
    return "since the learner has no scores"  # a model of an older release


def describe_few_rows(reliability: Mapping[str, Any]) -> str:
    """Return a warning if fewer than `ENOUGH_ROWS` rows were held out; else an empty text."""
    rows = reliability["rows"]
    if rows >= ENOUGH_ROWS:
        return ""
    return f"{counted(rows, 'held-out row')}, fewer than {ENOUGH_ROWS}: accuracy and confidence are rough."
