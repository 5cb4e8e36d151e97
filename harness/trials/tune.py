"""Tuning inside a trial: candidates meet on a validation part of the training rows. No test row ever comes here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from harness.contract import Direction
from harness.errors import ContractError
from harness.params import Params
from harness.record import Candidate
from harness.trials.asking import ask
from harness.trials.blueprint import build_estimator
from harness.trials.building import extra_arguments, seed_shared_chance, stage
from harness.trials.clock import Clock
from harness.trials.measure import compute_scores
from harness.trials.outcome import Costs, make_outcome
from harness.trials.parts import Parts, load_validation_parts
from harness.trials.trial import REPRESENTATION, Trial, TuningPlan
from harness.wording import counted


@dataclass(frozen=True)
class Tuned:
    """What tuning found: the chosen parameters, and every candidate with its score, in the order of the trials."""

    params: Params
    log: tuple[Candidate, ...]
    seconds: float


def tune(trial: Trial, plan: TuningPlan, send: Callable[[str], None]) -> Tuned:
    """Fit every candidate on a part of the training rows and score it on the rest; the first of the best is chosen.

    A candidate that fails is out of the race, with its reason in the log. Once the time is up no further one begins.
    MemoryError where none of them has room.
    """
    started = perf_counter()
    seen: dict[object, Parts] = {}
    log: list[Candidate] = []
    lacking: list[MemoryError] = []
    for number, params in enumerate(plan.candidates, start=1):
        if log and plan.seconds is not None and perf_counter() - started > plan.seconds:
            break
        send(f"tune {number}/{len(plan.candidates)}")
        settled = settle(trial, plan, params)
        representation = params.get(REPRESENTATION)
        if representation not in seen:
            seen[representation] = load_validation_parts(settled, plan.split)
        try:
            candidate = _judge(settled, plan, params, seen[representation])
        except Exception as error:
            candidate = Candidate(params=dict(params), trouble=f"{type(error).__name__}: {error}")
            if isinstance(error, MemoryError):
                lacking.append(error.with_traceback(None))  # which would hold on to all that was in memory
        log.append(candidate)
    if len(lacking) == len(log):
        raise lacking[0]
    best = _best(log, plan.direction)
    return Tuned(best.params, tuple(log), perf_counter() - started)


def settle(trial: Trial, plan: TuningPlan, params: Params) -> Trial:
    """The trial with a candidate's parameters, and what its learner then sees of the data."""
    of_learner = {name: value for name, value in params.items() if name != REPRESENTATION}
    settled = replace(trial, blueprint=trial.blueprint.with_params(of_learner))
    if REPRESENTATION not in params:
        return settled
    return replace(settled, representing=plan.representations[params[REPRESENTATION]], represented_folder="")


def _judge(trial: Trial, plan: TuningPlan, params: Params, parts: Parts) -> Candidate:
    """A candidate's score on the validation part, or why it has none; and what fitting it took."""
    fit, rank = Clock(), Clock()
    learner = build_estimator(trial.blueprint)
    seed_shared_chance(trial.seed)
    extra = extra_arguments(learner, trial, parts.taxonomy) | stage(learner, parts.train)
    with fit.running():
        learner.fit(parts.train.X, parts.train.y, **extra)
    answer = ask(learner, parts, trial.depth, rank)
    costs = Costs(fit_seconds=fit.wall, fit_cpu_seconds=fit.cpu, rank_seconds=rank.wall)
    outcome = make_outcome(answer.ranking, parts.test.y, parts.train.y, parts.n_classes, parts.taxonomy, costs)
    scores = compute_scores([plan.judge], outcome)
    score = scores.values[plan.judge.name]
    trouble = scores.tell_troubles()
    if score is None and not trouble:
        trouble = f"metric {plan.judge.name!r} has no value here"
    return Candidate(params=dict(params), score=score, fit_seconds=fit.wall, trouble=trouble)


def _best(log: Sequence[Candidate], direction: Direction) -> Candidate:
    sign = 1 if direction == "higher" else -1

    def standing(candidate: Candidate) -> float:
        return -math.inf if candidate.score is None else sign * candidate.score

    best = max(log, key=standing)
    if best.score is None:
        first = f"{dict(log[0].params)}: {log[0].trouble}"
        raise ContractError(f"tuning: none of {counted(len(log), 'candidate')} has a score; {first}")
    return best
