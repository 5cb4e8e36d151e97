"""One trial, in a process of its own: load, split, tune, represent, warm up, stage, fit, predict, rank, measure."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from harness.abilities import AfterPass, Learner, Stages
from harness.contract import Outcome
from harness.errors import ContractError
from harness.record import CurvePoint, Measured, Status, measured_as_plain
from harness.system import SYSTEM
from harness.trials.asking import Answer, ask, ask_one_label, tell_disagreement
from harness.trials.blueprint import build_estimator
from harness.trials.building import extra_arguments, seed_shared_chance, stage, takes, warm_up
from harness.trials.clock import Clock
from harness.trials.confiding import find_confidence
from harness.trials.heeding import heed_warnings
from harness.trials.measure import (
    IndexMeasure,
    check_files_left,
    compute_scores,
    count_edges,
    count_empty,
    count_features,
    count_unseen,
    measure_index,
    time_single_rows,
)
from harness.trials.outcome import Costs, Ranking, make_outcome
from harness.trials.parts import Parts, load_parts
from harness.trials.rank_files import ranking_to_bytes
from harness.trials.threads import limit_threads, threads_in_force
from harness.trials.trial import Trial, TrialJob
from harness.trials.tune import settle, tune
from harness.wording import in_a_line, well_formed

MESSAGE_LENGTH, TRACEBACK_LENGTH = 400, 20_000

Send = Callable[[str], None]


def run_trial_job(job: TrialJob, send: Send) -> tuple[dict[str, Any], bytes | None]:
    """The job that the executor runs: what was measured, in plain values, and the ranks as a .npy file's bytes."""
    measured, ranking = _run_guarded(job, send)
    return measured_as_plain(measured), None if ranking is None else ranking_to_bytes(ranking)


def _run_guarded(job: TrialJob, send: Send) -> tuple[Measured, Ranking | None]:
    """A trial that fails has measured how."""
    phase = "start"

    def tell(now: str) -> None:
        nonlocal phase
        phase = now
        send(now)

    whole = Clock()
    try:
        limit_threads(job.threads)
        with whole.running():
            measured, ranking = run_trial(job, tell)
    except MemoryError as error:
        return _failure("memory", phase, error), None
    except BaseException as error:  # a learner may also leave by sys.exit
        return _failure("error", phase, error), None
    return replace(measured, threads_in_force=threads_in_force(), clock_seconds=whole.wall), ranking


def _failure(status: Status, phase: str, error: BaseException) -> Measured:
    text = str(error) if isinstance(error, ContractError) else f"{type(error).__name__}: {error}"
    line = in_a_line(text, MESSAGE_LENGTH)
    trace = well_formed(traceback.format_exc()[-TRACEBACK_LENGTH:])  # its end names the line
    return Measured(status=status, message=f"during {phase}: {line}", traceback=trace)


def run_trial(job: TrialJob, send: Send) -> tuple[Measured, Ranking]:
    """Run one trial: what was measured of it, and the ranks of its test part."""
    trial = job.trial
    load, imported, warm, staging, fit, predict, rank = (Clock() for _ in range(7))
    warned: list[str] = []
    tuned = tune(trial, trial.tuning_plan, send) if trial.tuning_plan else None
    if tuned and trial.tuning_plan:
        trial = settle(trial, trial.tuning_plan, tuned.params)
    send("load")
    with load.running():
        parts = load_parts(trial)
    blueprint = trial.blueprint
    send("import")
    with imported.running():
        learner = build_estimator(blueprint)
    extra = extra_arguments(learner, trial, parts.taxonomy)
    send("warm-up")
    with warm.running(), heed_warnings([]):
        warm_up(blueprint, parts.train, extra)
    curve: list[CurvePoint] = []
    if trial.curves and takes(learner, "after_pass"):
        extra["after_pass"] = _curve_drawer(learner, job, parts, fit, curve)
    before = parts.checksums()
    seed_shared_chance(trial.seed)
    staged = _stage_timed(learner, parts, staging, warned, send)
    base_bytes = SYSTEM.reset_peak()
    send("fit")
    with heed_warnings(warned), fit.running():
        learner.fit(parts.train.X, parts.train.y, **extra, **staged)
    parts.check_unchanged(before)
    send("predict")
    with heed_warnings(warned):
        predicted = ask_one_label(learner, parts, predict)
        send("rank")
        answer = ask(learner, parts, trial.depth, rank)
    peak_bytes = SYSTEM.read_peak()
    parts.check_unchanged(before)
    check_files_left()
    send("measure")
    assessed = _assess(learner, parts, answer, fit, rank, predict)
    warned += filter(None, [tell_disagreement(predicted, answer)])
    outcome = replace(assessed.outcome, peak_bytes=peak_bytes)
    if job.time_single_rows:
        outcome = replace(outcome, single_seconds=time_single_rows(learner, parts.test.X))
    ranking = _calibrated(job, trial, answer.ranking, send)
    outcome = replace(outcome, confidence=ranking.confidence)
    scores = compute_scores(job.metrics, outcome)
    measured = Measured(
        status="ok",
        scores=scores.values,
        message=scores.tell_troubles(),
        n_train=outcome.n_train,
        n_test=parts.test.X.shape[0],
        n_classes=outcome.n_classes,
        n_features=count_features(parts.train.X),
        unseen_test_rows=count_unseen(parts.test.y, outcome.train_class_counts),
        empty_test_rows=count_empty(parts.test.X),
        ranked_by=answer.ranked_by,
        index_source=assessed.index.size_source,
        bytes_source=assessed.index.bytes_source,
        index_size=outcome.index_size,
        index_bytes=outcome.index_bytes,
        edges_per_feature=outcome.edges_per_feature,
        rank_edges_per_feature=outcome.rank_edges_per_feature,
        single_rows=None if outcome.single_seconds is None else len(outcome.single_seconds),
        fit_seconds=fit.wall,
        fit_cpu_seconds=fit.cpu,
        predict_seconds=predict.wall,
        predict_cpu_seconds=predict.cpu,
        rank_seconds=rank.wall,
        rank_cpu_seconds=rank.cpu,
        load_seconds=load.wall,
        represent_seconds=parts.represent_seconds,
        represent_cpu_seconds=parts.represent_cpu_seconds,
        import_seconds=imported.wall,
        warmup_seconds=warm.wall,
        stage_seconds=staging.wall if staged else None,
        peak_bytes=peak_bytes,
        base_bytes=base_bytes,
        curve=tuple(curve),
        warnings=tuple(warned),
    )
    if tuned:
        measured = replace(measured, tuned=dict(tuned.params), tuning=tuned.log, tune_seconds=tuned.seconds)
    return measured, ranking


def _calibrated(job: TrialJob, trial: Trial, ranking: Ranking, send: Send) -> Ranking:
    """The ranking with a confidence for each row, where a metric asked for one; the trial is as tuning settled it."""
    if not job.find_confidence:
        return ranking
    send("calibrate")
    return replace(ranking, confidence=find_confidence(trial, ranking))


def _stage_timed(learner: Learner, parts: Parts, clock: Clock, warned: list[str], send: Send) -> dict[str, Any]:
    """What fit gets of a learner that brings the rows into a form of its own first, by a clock of that alone."""
    if not isinstance(learner, Stages):
        return {}
    send("stage")
    with heed_warnings(warned), clock.running():
        return stage(learner, parts.train)


@dataclass(frozen=True)
class _Assessed:
    """What is known of a fitted learner and its ranks of the test part, and what its index was measured by."""

    outcome: Outcome
    index: IndexMeasure


def _assess(
    learner: Any, parts: Parts, answer: Answer, fit: Clock, rank: Clock, predict: Clock | None = None
) -> _Assessed:
    index = measure_index(learner)
    depth = answer.ranking.ranks.shape[1]
    costs = Costs(
        fit_seconds=fit.wall,
        fit_cpu_seconds=fit.cpu,
        rank_seconds=rank.wall,
        predict_seconds=predict.wall if predict else None,
        index_size=index.size,
        index_bytes=index.n_bytes,
        edges_per_feature=count_edges(learner, parts.test.X, 1),
        rank_edges_per_feature=count_edges(learner, parts.test.X, depth),
    )
    outcome = make_outcome(answer.ranking, parts.test.y, parts.train.y, parts.n_classes, parts.taxonomy, costs)
    return _Assessed(outcome, index)


def _curve_drawer(learner: Learner, job: TrialJob, parts: Parts, fit: Clock, curve: list[CurvePoint]) -> AfterPass:
    """What fit calls after each pass: the clock stops, the half-trained learner is measured, a point is added."""

    def after_pass(number: int) -> None:
        with fit.paused():
            rank = Clock()
            answer = ask(learner, parts, job.trial.depth, rank)
            outcome = _assess(learner, parts, answer, fit, rank).outcome
            curve.append(CurvePoint(number, compute_scores(job.metrics, outcome).values))

    return after_pass
