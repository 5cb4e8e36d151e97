"""Run one trial in a separate process: tune, load, represent, warm up, stage, fit, predict, rank, measure.

Below the main path are the measurements of a fitted learner: its index, the edges that it reads, times of single rows.
The process has the labels of the training rows only. The host computes the metrics, in `harness.trials.score`.
"""

from __future__ import annotations

import errno
import inspect
import os
import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from harness.data.split import SealedSplit, read_sealed
from harness.errors import ContractError
from harness.host.contract import HasIndexBytes, HasIndexSize, Learner, Stages
from harness.records.record import Measured, Status
from harness.system import SYSTEM
from harness.text import in_a_line, well_formed
from harness.trials.clock import Clock, collect_warnings, limit_threads, threads_in_force
from harness.trials.data import Parts, load_parts
from harness.trials.fit import FitObserver, Tuned, apply_candidate, find_confidence, fit, takes, tune, warm_up
from harness.trials.outcome import Costs, PointResult, Ranking, TrialResult, result_as_plain
from harness.trials.predict import (
    RankedRows,
    describe_disagreement,
    divide_rows,
    force,
    rank_rows,
    ranking_to_bytes,
    time_predict,
    time_ranking,
)
from harness.trials.trial import Trial, TrialJob, build_estimator

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
    measured = replace(ran.result.measured, threads_in_force=threads_in_force())
    measured = replace(measured, clock_seconds=clock.wall, clock_cpu_seconds=clock.cpu)
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
    clocks = _Clocks()
    warned: list[str] = []
    observer = _TrialObserver(send=send, warnings=warned)
    trial, tuned = _tune_trial(job, send)
    sealed, parts = _load(job, trial, clocks.load, send)
    learner = _make_learner(trial, parts, clocks, send)
    before = parts.checksums()
    passes = _fit(learner, trial, parts, observer)
    parts.check_unchanged(before)
    answers = _predict_and_rank(job, learner, parts, clocks, warned, send)
    peak_bytes = SYSTEM.read_peak()
    parts.check_unchanged(before)
    check_files_left()
    send("measure")
    fit_time = _PassTime(observer.fit_clock.wall, observer.fit_clock.cpu)
    assessed = _assess(learner, parts, answers.ranked, fit_time, clocks.rank.wall)
    measured = _with_times(_measure(parts, answers, assessed), learner, parts, clocks, observer)
    measured = replace(measured, peak_bytes=peak_bytes, warnings=tuple(warned))
    if tuned:
        measured = replace(measured, tuned=dict(tuned.params), tuning=tuned.log, tune_seconds=tuned.seconds)
    ranking = _calibrated(job, trial, sealed, answers.ranked.ranking, send)
    curve = _draw_curve(trial, parts, passes.times, send) if passes else []
    result = TrialResult(
        measured=measured, points=tuple(point.result for point in curve), single_seconds=answers.single_seconds
    )
    return RanTrial(result, (ranking_to_bytes(ranking), *(point.ranking for point in curve)))


@dataclass(frozen=True)
class _Clocks:
    """The clocks of a trial's phases. That of its fit belongs to `_TrialObserver`."""

    load: Clock = field(default_factory=Clock)
    imports: Clock = field(default_factory=Clock)
    warm_up: Clock = field(default_factory=Clock)
    predict: Clock = field(default_factory=Clock)
    rank: Clock = field(default_factory=Clock)


def _tune_trial(job: TrialJob, send: Send) -> tuple[Trial, Tuned | None]:
    """Return the trial with the parameters that tuning chose, and the log of tuning; None if it is not tuned."""
    trial = job.trial
    if not trial.tuning_plan:
        return trial, None
    tuned = tune(trial, read_sealed(job.split_file), trial.tuning_plan, send)
    return apply_candidate(trial, trial.tuning_plan, tuned.params), tuned


def _load(job: TrialJob, trial: Trial, clock: Clock, send: Send) -> tuple[SealedSplit, Parts]:
    """Return the split of a trial and its rows as the learner sees them."""
    send("load")
    with clock.running():
        sealed = read_sealed(job.split_file)
        return sealed, load_parts(trial, sealed)


def _make_learner(trial: Trial, parts: Parts, clocks: _Clocks, send: Send) -> Any:
    """Import and build the learner of a trial, and let another one compile on a few rows."""
    send("import")
    with clocks.imports.running():
        learner = build_estimator(trial.blueprint)
    send("warm-up")
    with clocks.warm_up.running(), collect_warnings([]):
        warm_up(trial.blueprint, parts.train, taxonomy=parts.taxonomy, wants_taxonomy=trial.wants_taxonomy)
    return learner


def _fit(learner: Any, trial: Trial, parts: Parts, observer: _TrialObserver) -> _Passes | None:
    """Fit the learner; return the times of its passes if the trial has a curve and the learner allows it."""
    passes = _Passes(observer.fit_clock) if trial.curves and takes(learner, "after_pass") else None
    fit(
        learner,
        parts.train,
        seed=trial.seed,
        taxonomy=parts.taxonomy,
        wants_taxonomy=trial.wants_taxonomy,
        after_pass=passes.note if passes else None,
        observer=observer,
    )
    return passes


@dataclass(frozen=True)
class _Answers:
    """The ranking of the test rows, and the seconds of each row that was predicted alone; None without such rows."""

    ranked: RankedRows
    single_seconds: tuple[float, ...] | None


def _predict_and_rank(
    job: TrialJob, learner: Any, parts: Parts, clocks: _Clocks, warned: list[str], send: Send
) -> _Answers:
    """Time prediction and ranking on different test rows, and rank all of them."""
    depth = job.trial.depth
    timed = divide_rows(parts.X_test.shape[0], SINGLE_ROWS if job.time_single_rows else 0)
    single = None
    send("predict")
    with collect_warnings(warned):
        if job.time_single_rows:
            single = tuple(time_single_rows(learner, parts.X_test, timed.single, parts.train.X).tolist())
        predicted = time_predict(learner, parts, timed.predict, clocks.predict)
        send("rank")
        time_ranking(learner, parts, depth, timed.rank, clocks.rank)
        ranked = rank_rows(learner, parts, depth)
    warned += filter(None, [describe_disagreement(predicted, timed.predict, ranked)])
    return _Answers(ranked, single)


def _measure(parts: Parts, answers: _Answers, assessed: _Assessed) -> Measured:
    """Return the sizes of the data and of the index."""
    return Measured(
        status="ok",
        n_train=parts.train.X.shape[0],
        n_test=parts.X_test.shape[0],
        n_classes=parts.n_classes,
        n_features=count_features(parts.train.X),
        empty_test_rows=count_empty(parts.X_test),
        ranked_by=answers.ranked.ranked_by,
        index_source=assessed.index.size_source,
        bytes_source=assessed.index.bytes_source,
        index_size=assessed.costs.index_size,
        index_bytes=assessed.costs.index_bytes,
        edges_per_feature=assessed.costs.edges_per_feature,
        rank_edges_per_feature=assessed.costs.rank_edges_per_feature,
        single_rows=None if answers.single_seconds is None else len(answers.single_seconds),
    )


def _with_times(measured: Measured, learner: Any, parts: Parts, clocks: _Clocks, observer: _TrialObserver) -> Measured:
    """Return the measurements with the times of all phases, and the memory before `fit`."""
    return replace(
        measured,
        fit_seconds=observer.fit_clock.wall,
        fit_cpu_seconds=observer.fit_clock.cpu,
        predict_seconds=clocks.predict.wall,
        predict_cpu_seconds=clocks.predict.cpu,
        rank_seconds=clocks.rank.wall,
        rank_cpu_seconds=clocks.rank.cpu,
        load_seconds=clocks.load.wall,
        represent_seconds=parts.represent_seconds,
        represent_cpu_seconds=parts.represent_cpu_seconds,
        import_seconds=clocks.imports.wall,
        warmup_seconds=clocks.warm_up.wall,
        stage_seconds=observer.stage_clock.wall if isinstance(learner, Stages) else None,
        base_bytes=observer.base_bytes[0],
    )


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


@dataclass(frozen=True)
class _PassTime:
    """Time of `fit` until the end of a pass."""

    seconds: float
    cpu_seconds: float


def _assess(
    learner: Any, parts: Parts, ranked: RankedRows, fit: _PassTime, rank_seconds: float | None = None
) -> _Assessed:
    index = measure_index(learner)
    depth = ranked.ranking.ranks.shape[1]
    costs = Costs(
        fit_seconds=fit.seconds,
        fit_cpu_seconds=fit.cpu_seconds,
        rank_seconds=rank_seconds,
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


@dataclass(frozen=True)
class _Passes:
    """The times of the passes of a fit, by number. Test rows are not ranked meanwhile: their clocks come later."""

    clock: Clock
    times: dict[int, _PassTime] = field(default_factory=dict)

    def note(self, number: int) -> None:
        """Note the time of a pass; `fit` calls this."""
        with self.clock.paused():
            self.times[number] = _PassTime(self.clock.wall, self.clock.cpu)


def _draw_curve(trial: Trial, parts: Parts, times: Mapping[int, _PassTime], send: Send) -> list[_Point]:
    """Fit a second learner in the same way, and return its ranking after each pass, with the times of the first fit.

    The learner thus ranks test rows after each pass only when all of their clocks have ended. These rankings are not
    timed: by now the process has seen the rows, and could answer from memory.
    """
    send("curve")
    curve: list[_Point] = []
    learner = build_estimator(trial.blueprint)

    def after_pass(number: int) -> None:
        if number not in times:
            return  # the second fit has more passes than the first
        ranked = rank_rows(learner, parts, trial.depth)
        costs = _assess(learner, parts, ranked, times[number]).costs
        ranking = ranking_to_bytes(ranked.ranking)
        curve.append(_Point(PointResult(passes=number, costs=costs, n_bytes=len(ranking)), ranking))

    with collect_warnings([]):
        fit(
            learner,
            parts.train,
            seed=trial.seed,
            taxonomy=parts.taxonomy,
            wants_taxonomy=trial.wants_taxonomy,
            after_pass=after_pass,
        )
    return curve


WARM_ROWS = 3
SINGLE_ROWS, SINGLE_SECONDS = 1000, 10.0
"""Limits for predicting rows one at a time: the number of rows, and the time in seconds."""


def check_files_left() -> None:
    """Raise ContractError if the learner has reached the limit of open files: measuring it needs some."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise ContractError(
                "the learner left no file that its process may still open: close what you open"
            ) from error
        raise


@dataclass(frozen=True)
class IndexMeasure:
    """The size of a fitted learner: its non-zero weights and bytes, and the attribute that each comes from."""

    size: int | None
    n_bytes: int | None
    size_source: str | None
    bytes_source: str | None


def measure_index(learner: Learner) -> IndexMeasure:
    """Return the size of a fitted learner.

    The weights are `index_size_`, or the non-zero values of `coef_`. The bytes are `index_bytes_`, or the length of the
    learner's pickle. A size is None if the learner has neither.

    Parameters
    ----------
    learner : Learner
        A fitted learner.
    """
    size, size_source = _count_weights(learner)
    n_bytes, bytes_source = _count_bytes(learner)
    return IndexMeasure(size, n_bytes, size_source, bytes_source)


def _count_weights(learner: Learner) -> tuple[int | None, str | None]:
    if isinstance(learner, HasIndexSize):
        return int(learner.index_size_), "index_size_"
    coefficients: Any = getattr(learner, "coef_", None)
    if issparse(coefficients):
        return int(coefficients.nnz), "coef_"
    if isinstance(coefficients, np.ndarray):
        return int(np.count_nonzero(coefficients)), "coef_"
    return None, None


def _count_bytes(learner: Learner) -> tuple[int | None, str | None]:
    if isinstance(learner, HasIndexBytes):
        return int(learner.index_bytes_), "index_bytes_"
    try:
        return len(pickle.dumps(learner, protocol=5)), "pickle"
    except Exception:  # a learner need not be serialisable
        return None, None


def time_single_rows(learner: Learner, X: Any, rows: NDArray[np.int64], X_warm: Any) -> NDArray[np.float64]:
    """Return the wall seconds of predicting rows one at a time, until `SINGLE_SECONDS` have passed.

    Parameters
    ----------
    learner : Learner
        The fitted learner.
    X : array or sparse matrix
        The test rows.
    rows : array of int
        Positions in X of rows that the learner has not predicted before.
    X_warm : array or sparse matrix
        Other rows. The first few of them are predicted before the timed rows and not timed.
    """
    singles = [X[row : row + 1] for row in rows]  # slicing is not the learner's work
    for row in range(min(WARM_ROWS, X_warm.shape[0])):
        force(learner.predict(X_warm[row : row + 1]))
    seconds = []
    deadline = perf_counter() + SINGLE_SECONDS
    for single in singles:
        start = perf_counter()
        force(learner.predict(single))
        end = perf_counter()
        seconds.append(end - start)
        if end > deadline:
            break
    return np.array(seconds, np.float64)


def count_edges(learner: Any, X: Any, k: int) -> float | None:
    """Return the edges that the learner reads per active feature to find the k best classes.

    None if the learner has no method `edges_touched`.

    Parameters
    ----------
    learner : object
        A fitted learner.
    X : object
        Test rows in the form that the learner takes.
    k : int
        Number of classes to find for each row.
    """
    if not hasattr(learner, "edges_touched"):
        return None
    if "k" in inspect.signature(learner.edges_touched).parameters:
        return float(learner.edges_touched(X, k))
    return float(learner.edges_touched(X))


def count_empty(X: Any) -> int:
    """Return the number of rows without a feature, or without text."""
    if issparse(X):
        return int((np.diff(X.indptr) == 0).sum())
    if X.ndim == 1:
        return int((X == "").sum())
    return int((~X.any(axis=1)).sum())


def count_features(X: Any) -> int | None:
    """Return the number of columns; None for texts."""
    return int(X.shape[1]) if X.ndim > 1 else None
