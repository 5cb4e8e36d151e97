"""Score trials outside of the learner's process.

The process of a trial returns rankings and never has the labels of the test rows. The host checks the rankings and
computes the metrics. Metrics of this project run in the host's process. Metrics of other plugins run in a separate
process, with the time and memory limits of a trial.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from scipy.sparse import issparse

from harness.data.split import LabelledSplit
from harness.errors import ContractError
from harness.executors.base import Executor, Job
from harness.host.catalog import Entry, MetricCall, call_of, is_foreign
from harness.host.contract import MetricSpec, Outcome
from harness.records.record import CurvePoint, Measured, measured_from_plain
from harness.trials.outcome import (
    Costs,
    MetricJob,
    MetricValues,
    PointResult,
    Ranking,
    TrialResult,
    checked_value,
    class_counts,
    compute_scores,
    count_unseen,
    known_depth,
    make_outcome,
    outcome_of,
    run_metric_job,
)
from harness.trials.predict import check_ranks, ranking_from_bytes

METRIC_TARGET = f"{run_metric_job.__module__}:{run_metric_job.__name__}"
METRIC_SECONDS = 60.0
"""The time limit of a metric's process, unless trials have a limit."""


@dataclass(frozen=True)
class Scorer:
    """Computes the metrics of trials.

    Parameters
    ----------
    metrics : sequence of Entry
        The metrics, each with the distribution that registers it.
    executor : Executor, optional
        Runs the metrics of other distributions in separate processes. Without it they run in this process.
    timeout_seconds, memory_bytes : optional
        Limits of a separate process. The default time limit is `METRIC_SECONDS`.
    too_slow : set of str
        Names of metrics that have exceeded the time limit. They are skipped from then on.
    """

    metrics: Sequence[Entry[MetricSpec]]
    executor: Executor | None = None
    timeout_seconds: float | None = None
    memory_bytes: int | None = None
    too_slow: set[str] = field(default_factory=set)

    def score(self, outcomes: Sequence[Outcome]) -> list[MetricValues]:
        """Return the values of all metrics for each outcome; a metric that fails has the value None and an error."""
        found = [MetricValues() for _ in outcomes]
        for entry in self.metrics:
            call = call_of(entry.spec)
            each = (
                self._score_in_own_process(call, outcomes)
                if self._is_foreign(entry)
                else _score_in_this_process(call, outcomes)
            )
            for scores, one in zip(found, each, strict=True):
                scores.values.update(one.values)
                scores.errors.update(one.errors)
        return found

    def _is_foreign(self, entry: Entry[MetricSpec]) -> bool:
        return self.executor is not None and is_foreign(entry)

    def _score_in_own_process(self, call: MetricCall, outcomes: Sequence[Outcome]) -> list[MetricValues]:
        """Compute a metric in a separate process."""
        assert self.executor is not None
        limit = METRIC_SECONDS if self.timeout_seconds is None else self.timeout_seconds
        slow = f"it took more than {limit:g} s, and is skipped from now on (--timeout sets the limit)"
        if call.name in self.too_slow:
            return _without_value(call.name, slow, len(outcomes))
        job = Job(METRIC_TARGET, MetricJob(call, tuple(outcomes)), limit, self.memory_bytes)
        ((_, end),) = self.executor.run([job])
        if end.status == "timeout":
            self.too_slow.add(call.name)
            return _without_value(call.name, slow, len(outcomes))
        if end.status != "ok":
            return _without_value(call.name, f"{end.status}: {end.message}", len(outcomes))
        try:
            return _scores_from(call.name, end.answer, len(outcomes))
        except (TypeError, ValueError) as error:
            return _without_value(call.name, f"its result cannot be read: {error}", len(outcomes))


def _score_in_this_process(call: MetricCall, outcomes: Sequence[Outcome]) -> list[MetricValues]:
    return [compute_scores([call], outcome) for outcome in outcomes]


def _without_value(name: str, reason: str, n_outcomes: int) -> list[MetricValues]:
    return [MetricValues({name: None}, {name: reason}) for _ in range(n_outcomes)]


def _scores_from(name: str, answer: Any, n_outcomes: int) -> list[MetricValues]:
    """Return the scores in an answer of `run_metric_job`; raise TypeError or ValueError if it is malformed."""
    if len(answer) != n_outcomes:
        raise ValueError(f"{len(answer)} values for {n_outcomes} outcomes")
    found = []
    for value, error in answer:
        found.append(MetricValues({name: checked_value(value)}, {name: str(error)} if error else {}))
    return found


# -- results of trials -----------------------------------------------------------------------------------------------

_RESULT = TypeAdapter(TrialResult)


@dataclass(frozen=True)
class ScoredTrial:
    """The measurement of a trial with the values of its metrics, and the bytes of its ranking."""

    measured: Measured
    ranks: bytes | None = None


def score_trial(
    result: TrialResult, blob: bytes | None, drawn: LabelledSplit, depth: int, scorer: Scorer
) -> ScoredTrial:
    """Compute the metrics of a trial from the result that its process returned.

    Parameters
    ----------
    result : TrialResult
        The result of a trial that did not fail.
    blob : bytes or None
        The final ranking of the test rows, followed by the ranking at each point of the learning curve.
    drawn : LabelledSplit
        The split of the trial.
    depth : int
        The number of classes that are ranked for each row.
    scorer : Scorer
        Computes the metrics.

    Returns
    -------
    ScoredTrial
        The measurement with scores, and the bytes of the final ranking.

    Raises
    ------
    ValueError
        If a ranking is malformed.
    """
    measured = replace(result.measured, scores={}, curve=())
    pieces = _cut_rankings(blob or b"", result.points)
    rankings = [_checked_ranking(piece, measured.ranked_by, drawn, depth) for piece in pieces]
    single = None if result.single_seconds is None else np.array(result.single_seconds, np.float64)
    outcomes = [outcome_of(measured, rankings[0], drawn, single)]
    for point, ranking in zip(result.points, rankings[1:], strict=True):
        outcomes.append(_point_outcome(point.costs, ranking, drawn))
    final, *points = scorer.score(outcomes)
    scored = replace(
        measured,
        scores=final.values,
        message=final.describe_errors(),
        n_train=len(drawn.train),
        n_test=len(drawn.test),
        n_classes=drawn.n_classes,
        multilabel=bool(issparse(drawn.y_test)),
        unseen_test_rows=count_unseen(drawn.y_test, class_counts(drawn.y_train, drawn.n_classes)),
        curve=tuple(CurvePoint(at.passes, each.values) for at, each in zip(result.points, points, strict=True)),
    )
    return ScoredTrial(scored, pieces[0])


def result_from_plain(answer: object) -> TrialResult:
    """Return the result of a trial from the JSON values that its process sent.

    The answer is not trusted: the learner's code shares the process that wrote it.

    Parameters
    ----------
    answer : object
        The value that was read from JSON.

    Raises
    ------
    ValueError
        If the answer is malformed, or has a time or size that is negative or not finite.
    """
    if not isinstance(answer, dict) or "measured" not in answer:
        raise ValueError("expected an object with a measurement")
    measured = measured_from_plain(answer["measured"])  # first: its errors name the field
    try:
        result = _RESULT.validate_json(json.dumps(answer), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None
    for seconds in (*(result.single_seconds or ()), *_point_numbers(result.points)):
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"expected a time or size, got {seconds}")
    return replace(result, measured=measured)


def _point_numbers(points: Sequence[PointResult]) -> list[float]:
    return [value for point in points for value in asdict(point.costs).values() if value is not None]


def _point_outcome(costs: Costs, ranking: Ranking, drawn: LabelledSplit) -> Outcome:
    return make_outcome(ranking, drawn.y_test, drawn.y_train, drawn.n_classes, drawn.taxonomy, costs)


def _cut_rankings(blob: bytes, points: Sequence[PointResult]) -> list[bytes]:
    """Return the bytes of the final ranking, then those of the ranking at each point of the curve."""
    sizes = [point.n_bytes for point in points]
    if min(sizes, default=0) < 0 or sum(sizes) > len(blob):
        raise ValueError("the rankings of its curve are not there")
    start = len(blob) - sum(sizes)
    pieces = [blob[:start]]
    for size in sizes:
        pieces.append(blob[start : start + size])
        start += size
    return pieces


def _checked_ranking(content: bytes, ranked_by: str | None, drawn: LabelledSplit, depth: int) -> Ranking:
    """Return a ranking of the test rows; raise ValueError if it violates the rules for rankings."""
    ranking = ranking_from_bytes(content, known_depth(ranked_by))
    rows = len(drawn.test)
    try:
        check_ranks(ranking.ranks, rows, depth, drawn.n_classes)
    except ContractError as error:
        raise ValueError(str(error)) from None
    _check_places(ranking)
    for name, array, shape in (("scores", ranking.scores, (rows, 2)), ("confidence", ranking.confidence, (rows,))):
        if array is not None and (array.shape != shape or not np.isfinite(array).all()):
            raise ValueError(f"its {name} have shape {array.shape}, expected finite numbers of {shape}")
    return ranking


def _check_places(ranking: Ranking) -> None:
    """Raise ValueError for a place that is better than the rank of its class: it would raise R1 (accuracy)."""
    places, ranks = ranking.places, ranking.ranks
    if places is None:
        return
    if places.shape != ranks.shape or not np.issubdtype(places.dtype, np.integer):
        raise ValueError(f"its places are {places.dtype} of shape {places.shape}, expected integers of {ranks.shape}")
    lowest: NDArray[np.int64] = np.where(ranks >= 0, np.arange(1, ranks.shape[1] + 1), 0)
    if (places < lowest).any():
        raise ValueError("a place is better than the rank of its class")
