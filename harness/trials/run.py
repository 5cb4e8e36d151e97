"""Run one trial in a separate process: tune, load, represent, warm up, stage, fit, predict, rank, measure.

The process has the labels of the training rows only. The host computes the metrics, in `harness.trials.score`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from harness.errors import ContractError
from harness.host.contract import AfterPass, Learner, Stages
from harness.records.record import Measured, Status
from harness.system import SYSTEM
from harness.text import in_a_line, well_formed
from harness.trials.clock import Clock, collect_warnings, limit_threads, threads_in_force
from harness.trials.data import Parts, load_parts
from harness.trials.fit import FitObserver, fit, takes, warm_up
from harness.trials.measure import (
    SINGLE_ROWS,
    IndexMeasure,
    check_files_left,
    count_edges,
    count_empty,
    count_features,
    measure_index,
    time_single_rows,
)
from harness.trials.outcome import Costs, PointResult, Ranking, TrialResult, result_as_plain
from harness.trials.predict import (
    RankedRows,
    describe_disagreement,
    divide_rows,
    rank_rows,
    ranking_to_bytes,
    time_predict,
    time_ranking,
)
from harness.trials.seal import SealedSplit, read_sealed
from harness.trials.trial import Trial, TrialJob, build_estimator
from harness.trials.tune import apply_candidate, find_confidence, tune

MESSAGE_LENGTH, TRACEBACK_LENGTH = 400, 20_000

Send = Callable[[str], None]


def run_trial_job(job: TrialJob, send: Send) -> tuple[dict[str, Any], bytes | None]:
    """Run a trial as the job of a process.

    Parameters
    ----------
    job : TrialJob
        The trial and its split, without the labels of test rows.
    send : Send
        Receives each phase that the trial enters.

    Returns
    -------
    dict
        The `TrialResult` as JSON values. That of a failed trial has the error.
    bytes or None
        The final ranking of the test rows, followed by the ranking at each point of the learning curve. None if the
        trial failed.
    """
    ran = _run_guarded(job, send)
    return result_as_plain(ran.result), b"".join(ran.rankings) if ran.rankings else None


@dataclass(frozen=True)
class RanTrial:
    """The result of a trial, and the bytes of its rankings."""

    result: TrialResult
    rankings: tuple[bytes, ...] = ()


def _run_guarded(job: TrialJob, send: Send) -> RanTrial:
    """Run a trial; an error, also SystemExit or MemoryError, becomes the result of the trial."""
    phase = "start"

    def enter(now: str) -> None:
        nonlocal phase
        phase = now
        send(now)

    clock = Clock()
    try:
        limit_threads(job.threads)
        with clock.running():
            ran = run_trial(job, enter)
    except MemoryError as error:
        return RanTrial(TrialResult(measured=_failure("memory", phase, error)))
    except BaseException as error:  # a learner may call sys.exit
        return RanTrial(TrialResult(measured=_failure("error", phase, error)))
    measured = replace(ran.result.measured, threads_in_force=threads_in_force(), clock_seconds=clock.wall)
    return replace(ran, result=replace(ran.result, measured=measured))


def _failure(status: Status, phase: str, error: BaseException) -> Measured:
    text = str(error) if isinstance(error, ContractError) else f"{type(error).__name__}: {error}"
    line = in_a_line(text, MESSAGE_LENGTH)
    trace = well_formed(traceback.format_exc()[-TRACEBACK_LENGTH:])  # the end has the failing line
    return Measured(status=status, message=f"during {phase}: {line}", traceback=trace)


def run_trial(job: TrialJob, send: Send) -> RanTrial:
    """Run one trial in this process.

    Parameters
    ----------
    job : TrialJob
        The trial, and the measurements to make.
    send : callable
        Reports each phase when it begins.

    Returns
    -------
    RanTrial
        The measurement without metric values, and the rankings.
    """
    trial = job.trial
    load, imported, warm, predict, rank = (Clock() for _ in range(5))
    warned: list[str] = []
    observer = _TrialObserver(send=send, warnings=warned)
    tuned = None
    if trial.tuning_plan:
        tuned = tune(trial, read_sealed(job.split_file), trial.tuning_plan, send)
        trial = apply_candidate(trial, trial.tuning_plan, tuned.params)
    send("load")
    with load.running():
        sealed = read_sealed(job.split_file)
        parts = load_parts(trial, sealed)
    blueprint = trial.blueprint
    send("import")
    with imported.running():
        learner = build_estimator(blueprint)
    send("warm-up")
    with warm.running(), collect_warnings([]):
        warm_up(blueprint, parts.train, taxonomy=parts.taxonomy, wants_taxonomy=trial.wants_taxonomy)
    curve: list[_Point] = []
    draws_curve = trial.curves and takes(learner, "after_pass")
    before = parts.checksums()
    fit(
        learner,
        parts.train,
        seed=trial.seed,
        taxonomy=parts.taxonomy,
        wants_taxonomy=trial.wants_taxonomy,
        after_pass=_curve_drawer(learner, trial.depth, parts, observer.fit_clock, curve) if draws_curve else None,
        observer=observer,
    )
    parts.check_unchanged(before)
    timed = divide_rows(parts.X_test.shape[0], SINGLE_ROWS if job.time_single_rows else 0)
    single_seconds = None
    send("predict")
    with collect_warnings(warned):
        if job.time_single_rows:
            single_seconds = time_single_rows(learner, parts.X_test, timed.single, parts.train.X)
        predicted = time_predict(learner, parts, timed.predict, predict)
        send("rank")
        time_ranking(learner, parts, trial.depth, timed.rank, rank)
        ranked = rank_rows(learner, parts, trial.depth)
    peak_bytes = SYSTEM.read_peak()
    parts.check_unchanged(before)
    check_files_left()
    send("measure")
    assessed = _assess(learner, parts, ranked, observer.fit_clock, rank)
    warned += filter(None, [describe_disagreement(predicted, timed.predict, ranked)])
    ranking = _calibrated(job, trial, sealed, ranked.ranking, send)
    measured = Measured(
        status="ok",
        n_train=parts.train.X.shape[0],
        n_test=parts.X_test.shape[0],
        n_classes=parts.n_classes,
        n_features=count_features(parts.train.X),
        empty_test_rows=count_empty(parts.X_test),
        ranked_by=ranked.ranked_by,
        index_source=assessed.index.size_source,
        bytes_source=assessed.index.bytes_source,
        index_size=assessed.costs.index_size,
        index_bytes=assessed.costs.index_bytes,
        edges_per_feature=assessed.costs.edges_per_feature,
        rank_edges_per_feature=assessed.costs.rank_edges_per_feature,
        single_rows=None if single_seconds is None else len(single_seconds),
        fit_seconds=observer.fit_clock.wall,
        fit_cpu_seconds=observer.fit_clock.cpu,
        predict_seconds=predict.wall,
        predict_cpu_seconds=predict.cpu,
        rank_seconds=rank.wall,
        rank_cpu_seconds=rank.cpu,
        load_seconds=load.wall,
        represent_seconds=parts.represent_seconds,
        represent_cpu_seconds=parts.represent_cpu_seconds,
        import_seconds=imported.wall,
        warmup_seconds=warm.wall,
        stage_seconds=observer.stage_clock.wall if isinstance(learner, Stages) else None,
        peak_bytes=peak_bytes,
        base_bytes=observer.base_bytes[0],
        warnings=tuple(warned),
    )
    if tuned:
        measured = replace(measured, tuned=dict(tuned.params), tuning=tuned.log, tune_seconds=tuned.seconds)
    result = TrialResult(
        measured=measured,
        points=tuple(point.result for point in curve),
        single_seconds=None if single_seconds is None else tuple(single_seconds.tolist()),
    )
    return RanTrial(result, (ranking_to_bytes(ranking), *(point.ranking for point in curve)))


def _calibrated(job: TrialJob, trial: Trial, sealed: SealedSplit, ranking: Ranking, send: Send) -> Ranking:
    """Return the ranking, with a confidence for each row if a metric needs it; `trial` has the tuned parameters."""
    if not job.find_confidence:
        return ranking
    send("calibrate")
    return replace(ranking, confidence=find_confidence(trial, sealed, ranking))


@dataclass(frozen=True, kw_only=True)
class _TrialObserver(FitObserver):
    """Reports the phases of a trial's fit, collects its warnings, and reads memory before it."""

    send: Send
    warnings: list[str]
    base_bytes: list[int | None] = field(default_factory=list)
    """Resident memory right before `fit`; empty until `fit` begins."""

    @contextmanager
    def staging(self) -> Iterator[None]:
        self.send("stage")
        with collect_warnings(self.warnings), super().staging():
            yield

    @contextmanager
    def fitting(self) -> Iterator[None]:
        self.base_bytes.append(SYSTEM.reset_peak())
        self.send("fit")
        with collect_warnings(self.warnings), super().fitting():
            yield


@dataclass(frozen=True)
class _Assessed:
    """The costs of a fitted learner, and the sources of its index size."""

    costs: Costs
    index: IndexMeasure


def _assess(learner: Any, parts: Parts, ranked: RankedRows, fit: Clock, rank: Clock) -> _Assessed:
    index = measure_index(learner)
    depth = ranked.ranking.ranks.shape[1]
    costs = Costs(
        fit_seconds=fit.wall,
        fit_cpu_seconds=fit.cpu,
        rank_seconds=rank.wall,
        index_size=index.size,
        index_bytes=index.n_bytes,
        edges_per_feature=count_edges(learner, parts.X_test, 1),
        rank_edges_per_feature=count_edges(learner, parts.X_test, depth),
    )
    return _Assessed(costs, index)


@dataclass(frozen=True)
class _Point:
    """A point of the learning curve, and the bytes of its ranking."""

    result: PointResult
    ranking: bytes


def _curve_drawer(learner: Learner, depth: int, parts: Parts, fit: Clock, curve: list[_Point]) -> AfterPass:
    """Return a callback for `fit` that adds a point to the curve after each pass, with the fit clock paused."""

    def after_pass(number: int) -> None:
        with fit.paused():
            rank = Clock()
            ranked = rank_rows(learner, parts, depth, rank)
            costs = _assess(learner, parts, ranked, fit, rank).costs
            ranking = ranking_to_bytes(ranked.ranking)
            curve.append(_Point(PointResult(passes=number, costs=costs, n_bytes=len(ranking)), ranking))

    return after_pass
