"""Tuning and calibration inside a trial.

Both split the training rows once more and use one part for validation. They never see the test rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.data.split import SealedSplit
from harness.errors import ContractError
from harness.host.contract import Direction
from harness.records.record import NOT_TRIED, Candidate
from harness.stats.calibration import calibrate
from harness.syntax.expression import Params
from harness.syntax.split import Split
from harness.text import counted
from harness.trials.clock import Clock
from harness.trials.data import ValidationParts, load_validation_parts
from harness.trials.fit import FitObserver, fit
from harness.trials.outcome import Costs, Ranking, compute_scores, first_is_true, make_outcome
from harness.trials.predict import rank_rows
from harness.trials.trial import REPRESENTATION, Trial, TuningPlan


@dataclass(frozen=True)
class Tuned:
    """The result of tuning: the chosen parameters, and every candidate with its score."""

    params: Params
    log: tuple[Candidate, ...]
    seconds: float


def tune(trial: Trial, sealed: SealedSplit, plan: TuningPlan, send: Callable[[str], None]) -> Tuned:
    """Choose the parameters of a trial: fit each candidate on a part of the training rows and score it on the rest.

    The candidate with the best score wins; of several, the first. A candidate that fails has its error in the log and
    cannot win. When the time of the plan is over, the remaining candidates are logged as not tried. The first candidate
    of each representation is always tried.

    Parameters
    ----------
    trial : Trial
        Provides the data, the learner and the seed.
    sealed : SealedSplit
        The split of the trial; only its training rows are used.
    plan : TuningPlan
        The candidates, the metric, and the time limit.
    send : callable
        Reports the number of the candidate that begins.

    Returns
    -------
    Tuned

    Raises
    ------
    MemoryError
        If every candidate that was tried ran out of memory.
    ContractError
        If no candidate has a score.
    """
    started = perf_counter()
    seen: dict[object, ValidationParts] = {}
    log: list[Candidate] = []
    lacking: list[MemoryError] = []
    first = max(1, len(plan.representations))
    for number, params in enumerate(plan.candidates, start=1):
        if number > first and plan.seconds is not None and perf_counter() - started > plan.seconds:
            log += [Candidate(params=dict(late), trouble=NOT_TRIED) for late in plan.candidates[number - 1 :]]
            break
        send(f"tune {number}/{len(plan.candidates)}")
        settled = apply_candidate(trial, plan, params)
        representation = params.get(REPRESENTATION)
        if representation not in seen:
            seen[representation] = load_validation_parts(settled, sealed, plan.split)
        try:
            candidate = _judge(settled, plan, params, seen[representation])
        except Exception as error:
            candidate = Candidate(params=dict(params), trouble=f"{type(error).__name__}: {error}")
            if isinstance(error, MemoryError):
                lacking.append(error.with_traceback(None))  # the traceback keeps the candidate's arrays alive
        log.append(candidate)
    if len(lacking) == sum(candidate.is_tried for candidate in log):
        raise lacking[0]
    best = _best(log, plan.direction)
    return Tuned(best.params, tuple(log), perf_counter() - started)


def apply_candidate(trial: Trial, plan: TuningPlan, params: Params) -> Trial:
    """Return the trial with a candidate's parameters and, if the candidate names one, its representation."""
    of_learner = {name: value for name, value in params.items() if name != REPRESENTATION}
    settled = replace(trial, blueprint=trial.blueprint.with_params(of_learner))
    if REPRESENTATION not in params:
        return settled
    return replace(settled, representing=plan.representations[params[REPRESENTATION]], represented_folder="")


def _judge(trial: Trial, plan: TuningPlan, params: Params, parts: ValidationParts) -> Candidate:
    """Return the candidate with its score on the validation part, or the error, and its fit time."""
    observer, rank = FitObserver(), Clock()
    learner = _fit_on(trial, parts, observer)
    ranked = rank_rows(learner, parts, trial.depth, rank)
    timed = observer.fit_clock
    costs = Costs(fit_seconds=timed.wall, fit_cpu_seconds=timed.cpu, rank_seconds=rank.wall)
    outcome = make_outcome(ranked.ranking, parts.y_test, parts.train.y, parts.n_classes, parts.taxonomy, costs)
    scores = compute_scores([plan.judge], outcome)
    score = scores.values[plan.judge.name]
    trouble = scores.describe_errors()
    if score is None and not trouble:
        trouble = f"metric {plan.judge.name!r} has no value here"
    return Candidate(params=dict(params), score=score, fit_seconds=timed.wall, trouble=trouble)


def _fit_on(trial: Trial, parts: ValidationParts, observer: FitObserver | None = None) -> Any:
    """Return the trial's learner, fitted on the training part of these parts."""
    return fit(
        trial.blueprint,
        parts.train,
        seed=trial.seed,
        taxonomy=parts.taxonomy,
        wants_taxonomy=trial.wants_taxonomy,
        observer=observer,
    )


def _best(log: Sequence[Candidate], direction: Direction) -> Candidate:
    sign = 1 if direction == "higher" else -1

    def standing(candidate: Candidate) -> float:
        return -math.inf if candidate.score is None else sign * candidate.score

    best = max(log, key=standing)
    if best.score is None:
        first = f"{dict(log[0].params)}: {log[0].trouble}"
        raise ContractError(f"tuning: none of {counted(len(log), 'candidate')} has a score; {first}")
    return best


HELD_OUT = Split("holdout", 0.2)


def find_confidence(trial: Trial, sealed: SealedSplit, ranking: Ranking) -> NDArray[np.float32]:
    """Return a calibrated confidence for each row of a ranking.

    A second learner is trained on 80% of the training rows. Its scores on the other 20%, and whether its first class is
    right there, fit the calibrator. A row without any ranked class has a confidence of 0.
    """
    parts = load_validation_parts(trial, sealed, HELD_OUT)
    held_out = rank_rows(_fit_on(trial, parts), parts, 1).ranking
    calibrator = calibrate(held_out.scores, first_is_true(held_out.ranks, parts.y_test)).calibrator
    scores = np.zeros((len(ranking.ranks), 2)) if ranking.scores is None else ranking.scores
    confidence = calibrator.confidence(np.asarray(scores, dtype=np.float64))
    return np.where(ranking.ranks[:, 0] >= 0, confidence, 0.0).astype(np.float32)
