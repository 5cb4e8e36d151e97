"""Rankings, outcomes and metric values.

A `Ranking` and the true labels make an `Outcome`, and metrics are computed from outcomes. This is the same for finished
trials, points of learning curves, candidates of tuning, and stored ranks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from harness.data.split import LabelledSplit
from harness.host.catalog import MetricCall
from harness.host.contract import Labels, Outcome, Taxonomy
from harness.host.introspection import import_target
from harness.records.record import Measured


@dataclass(frozen=True)
class Ranking:
    """The best classes of each test row.

    Attributes
    ----------
    ranks : array of int32, rows x depth
        Class positions, best first. Rows with fewer classes are padded with -1.
    places : array of int32, optional
        The rank of each listed class, where tied classes all get the worst rank among them. None without ties or
        without scores.
    known_depth : int, optional
        The number of classes that the learner can rank for each row: 1 if it only has `predict`, None for no limit.
    scores : array of float32, rows x 2, optional
        Scores of the first two classes; None if the learner has no scores.
    confidence : array of float32, optional
        The calibrated confidence of the first class; None unless a metric needs it.
    """

    ranks: NDArray[np.int32]
    places: NDArray[np.int32] | None = None
    known_depth: int | None = None
    scores: NDArray[np.float32] | None = None
    confidence: NDArray[np.float32] | None = None


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Times and sizes of a learner; None where unknown."""

    fit_seconds: float
    fit_cpu_seconds: float
    rank_seconds: float | None = None
    predict_seconds: float | None = None
    index_size: int | None = None
    index_bytes: int | None = None
    edges_per_feature: float | None = None
    rank_edges_per_feature: float | None = None
    peak_bytes: int | None = None


def costs_of(measured: Measured) -> Costs:
    """Return the costs in a measurement or record."""
    return Costs(
        fit_seconds=measured.fit_seconds or 0.0,
        fit_cpu_seconds=measured.fit_cpu_seconds or 0.0,
        rank_seconds=measured.rank_seconds or 0.0,
        predict_seconds=measured.predict_seconds,
        index_size=measured.index_size,
        index_bytes=measured.index_bytes,
        edges_per_feature=measured.edges_per_feature,
        rank_edges_per_feature=measured.rank_edges_per_feature,
        peak_bytes=measured.peak_bytes,
    )


def known_depth(ranked_by: str | None) -> int | None:
    """Return the number of classes that a method of the learner can rank for each row; None for no limit.

    Examples
    --------
    >>> known_depth("predict"), known_depth("decision_function")
    (1, None)
    """
    return 1 if ranked_by == "predict" else None


def make_outcome(
    ranking: Ranking,
    truth: Labels,
    trained: Labels,
    n_classes: int,
    taxonomy: Taxonomy | None,
    costs: Costs,
    single_seconds: NDArray[np.float64] | None = None,
) -> Outcome:
    """Return the outcome of a trial, from which metrics are computed.

    Parameters
    ----------
    ranking : Ranking
        The ranking of the test rows.
    truth, trained : labels
        The labels of the test rows and of the training rows.
    n_classes : int
        The number of classes in the dataset.
    taxonomy : Taxonomy or None
        The class tree of the dataset, if it has one.
    costs : Costs
        Times and sizes of the learner.
    single_seconds : array of float, optional
        Times of predicting rows one at a time.
    """
    return Outcome(
        truth=truth,
        ranks=ranking.ranks,
        n_classes=n_classes,
        train_class_counts=class_counts(trained, n_classes),
        n_train=trained.shape[0],
        taxonomy=taxonomy,
        places=ranking.places,
        known_depth=ranking.known_depth,
        scores=ranking.scores,
        confidence=ranking.confidence,
        single_seconds=single_seconds,
        **vars(costs),
    )


def outcome_of(
    measured: Measured, ranking: Ranking, drawn: LabelledSplit, single_seconds: NDArray[np.float64] | None = None
) -> Outcome:
    """Return the outcome of a finished trial."""
    return make_outcome(
        ranking, drawn.y_test, drawn.y_train, drawn.n_classes, drawn.taxonomy, costs_of(measured), single_seconds
    )


def first_is_true(ranks: NDArray[np.int32], truth: Labels) -> NDArray[np.bool_]:
    """Return for each row whether its first class is the true class, or one of several true classes.

    Parameters
    ----------
    ranks : ndarray of int32
        Class positions, best first; -1 for a row without any.
    truth : Labels
        Class positions, or an indicator matrix for multi-label data.
    """
    first = ranks[:, 0].astype(np.int64)
    if not issparse(truth):
        return np.asarray(first == truth)
    listed = csr_array((np.ones(len(first)), (np.arange(len(first)), np.maximum(first, 0))), shape=truth.shape)
    return np.asarray((listed.multiply(truth).sum(axis=1) > 0) & (first >= 0))


def class_counts(y: Labels, classes: int) -> NDArray[np.int64]:
    """Return the number of rows of each class."""
    return np.bincount(y.indices if issparse(y) else y, minlength=classes)


def count_unseen(y: Labels, counts: NDArray[np.int64]) -> int:
    """Return the number of test rows none of whose classes occurs in the training set.

    Examples
    --------
    >>> count_unseen(np.array([0, 1, 1, 2]), np.array([5, 0, 3]))
    2
    """
    if issparse(y):
        return int(((y @ (counts > 0).astype(np.int64)) == 0).sum())
    return int((counts[y] == 0).sum())


# -- metrics ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MetricValues:
    """The values of metrics, and the errors of those that failed."""

    values: dict[str, float | None] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def describe_errors(self) -> str:
        """Return the errors in one line; empty if there are none."""
        return "; ".join(f"metric {name!r} failed: {error}" for name, error in self.errors.items())


def compute_scores(metrics: Iterable[MetricCall], outcome: Outcome) -> MetricValues:
    """Compute metrics in this process.

    A metric that fails has the value None and an error; the other metrics are still computed. A metric that needs more
    ranks than the learner supports has the value None and no error.
    """
    scores = MetricValues()
    for call in metrics:
        if outcome.known_depth is not None and call.depth > outcome.known_depth:
            scores.values[call.name] = None  # such as R5 for a learner that only predicts one class
            continue
        try:
            scores.values[call.name] = checked_value(import_target(call.compute)(outcome, **call.params))
        except Exception as error:  # a metric is a plugin's code, and may fail in any way
            scores.values[call.name] = None
            scores.errors[call.name] = f"{type(error).__name__}: {error}"
    return scores


def checked_value(value: Any) -> float | None:
    """Return the value of a metric as a float, or None.

    Raises
    ------
    ValueError
        If the value is not finite or no number.
    """
    if value is None:
        return None
    score = float(value)
    if not math.isfinite(score):
        raise ValueError(f"it returned {score}")
    return score


@dataclass(frozen=True)
class MetricJob:
    """A metric to compute for some outcomes: the payload of its process."""

    metric: MetricCall
    outcomes: tuple[Outcome, ...]


def run_metric_job(job: MetricJob, send: Callable[[str], None]) -> tuple[list[list[Any]], None]:
    """Return the value and the error of a metric for each outcome; the target of a job.

    Parameters
    ----------
    job : MetricJob
        The metric and the outcomes.
    send : callable
        Receives the name of the metric before it is computed.
    """
    send(f"metric {job.metric.name}")
    found = []
    for outcome in job.outcomes:
        scores = compute_scores([job.metric], outcome)
        found.append([scores.values[job.metric.name], scores.errors.get(job.metric.name, "")])
    return found, None


# -- results of a trial's process -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PointResult:
    """A point of a learning curve: the learner after some passes. Measuring it does not count as fit time."""

    passes: int
    costs: Costs
    n_bytes: int
    """The size of its ranking among the bytes that the trial returns."""


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """The result of a trial, without the bytes of its rankings."""

    measured: Measured
    points: tuple[PointResult, ...] = ()
    single_seconds: tuple[float, ...] | None = None
    """Times of predicting rows one at a time; None unless a metric needs them."""


def result_as_plain(result: TrialResult) -> dict[str, Any]:
    """Return a result as JSON values."""
    return asdict(result)
