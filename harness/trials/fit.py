"""Fit learners: seed, build, stage and fit; and choose parameters and calibration on a part of the training rows.

Trials, tuning, calibration, the conformance checks and `harness fit` all call `fit` of this module. A learner is
therefore trained in the same way everywhere. Tuning and calibration split the training rows once more and use one part
for validation. They never see the test rows.
"""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from harness.data.split import SealedSplit
from harness.errors import ContractError
from harness.host.contract import AfterPass, Dataset, Direction, Learner, Stages, Taxonomy
from harness.records.record import NOT_TRIED, Candidate
from harness.stats.calibration import calibrate
from harness.syntax.expression import Params
from harness.syntax.split import Split
from harness.text import counted
from harness.trials.clock import Clock
from harness.trials.data import (
    FittedRepresentation,
    TrainingPart,
    ValidationParts,
    fit_representation,
    load_validation_parts,
    rows_for,
)
from harness.trials.outcome import Costs, Ranking, compute_scores, first_is_true, make_outcome
from harness.trials.predict import rank_positions, rank_rows
from harness.trials.trial import REPRESENTATION, Blueprint, Trial, TuningPlan, build_estimator

WARMUP_ROWS = 64


@dataclass(frozen=True)
class FitObserver:
    """Times staging and fitting. A trial uses a subclass that also reports phases, warnings and memory.

    Attributes
    ----------
    stage_clock : Clock
        Time of the learner's `stage`; 0 for a learner without this method.
    fit_clock : Clock
        Time of the learner's `fit`.
    """

    stage_clock: Clock = field(default_factory=Clock)
    fit_clock: Clock = field(default_factory=Clock)

    @contextmanager
    def staging(self) -> Iterator[None]:
        """Time the block as staging."""
        with self.stage_clock.running():
            yield

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Time the block as fitting."""
        with self.fit_clock.running():
            yield


def fit(
    estimator: Blueprint | Any,
    part: TrainingPart,
    *,
    seed: int | None,
    taxonomy: Taxonomy | None = None,
    wants_taxonomy: bool = False,
    after_pass: AfterPass | None = None,
    observer: FitObserver | None = None,
) -> Any:
    """Build a learner, seed the shared random generators, stage the rows and fit.

    Parameters
    ----------
    estimator : Blueprint or learner
        A blueprint is built first. A learner that is already built is fitted without changes.
    part : TrainingPart
        Training rows as the learner sees them, and their labels.
    seed : int or None
        Seeds `random` and `numpy.random` for learners that draw from them. None leaves both generators alone.
    taxonomy : Taxonomy, optional
        The class tree of the data, if it has one.
    wants_taxonomy : bool
        True to pass the class tree even if the signature of `fit` does not name it, such as one with `**kwargs`.
    after_pass : callable, optional
        Passed to the learner's `fit`, which calls it with the number of each finished pass over the data.
    observer : FitObserver, optional
        Times staging and fitting.

    Returns
    -------
    learner
        The fitted learner.
    """
    observer = observer or FitObserver()
    learner = build_estimator(estimator) if isinstance(estimator, Blueprint) else estimator
    arguments = taxonomy_argument(learner, taxonomy, wanted=wants_taxonomy)
    if after_pass is not None:
        arguments["after_pass"] = after_pass
    if seed is not None:
        seed_shared_generators(seed)
    if isinstance(learner, Stages):
        with observer.staging():
            arguments["staged"] = learner.stage(part.X, part.y)
    with observer.fitting():
        learner.fit(part.X, part.y, **arguments)
    return learner


def taxonomy_argument(learner: Learner, taxonomy: Taxonomy | None, *, wanted: bool) -> dict[str, Any]:
    """Return the keyword arguments for `fit` that pass the class tree.

    The result is empty if the data has no class tree, or if the learner does not take one and it is not `wanted`.

    Parameters
    ----------
    learner : Learner
        The learner, which may or may not have the argument.
    taxonomy : Taxonomy or None
        Tree of the classes; None if the data has none.
    wanted : bool
        Whether the learner declares that it needs the tree.
    """
    is_passed = taxonomy is not None and (wanted or takes(learner, "taxonomy"))
    return {"taxonomy": taxonomy} if is_passed else {}


def takes(learner: Learner, argument: str) -> bool:
    """Return whether the learner's `fit` has an argument of this name."""
    return argument in inspect.signature(learner.fit).parameters


def seed_shared_generators(seed: int) -> None:
    """Seed `random` and `numpy.random`, for learners that ignore `random_state`."""
    random.seed(seed)
    np.random.seed(seed)


def warm_up(
    blueprint: Blueprint, part: TrainingPart, *, taxonomy: Taxonomy | None = None, wants_taxonomy: bool = False
) -> None:
    """Fit and rank a few rows before the clock starts, for code that is compiled on first use.

    Errors are ignored, because some learners cannot fit so few rows. Their compile time then counts as fit time.

    Parameters
    ----------
    blueprint : Blueprint
        The learner, which is built anew.
    part : TrainingPart
        Training rows, of which a few are used.
    taxonomy : Taxonomy, optional
        Tree of the classes; None if the data has none.
    wants_taxonomy : bool, default=False
        Whether the learner declares that it needs the tree.
    """
    X, y = part.X, part.y
    try:
        rows = _warm_up_rows(y)
        few = TrainingPart(X[rows], y[rows])
        learner = fit(blueprint, few, seed=None, taxonomy=taxonomy, wants_taxonomy=wants_taxonomy)
        learner.predict(X[rows[:2]])
        rank_positions(learner, X[rows[:2]], 2)
    except Exception:
        return


def _warm_up_rows(y: Any) -> NDArray[np.int64]:
    """Return the positions of a few rows. With single labels, they have at least two classes, as many learners need."""
    if issparse(y):
        return np.arange(min(WARMUP_ROWS, y.shape[0]))
    other = np.flatnonzero(y != y[0])[:1]
    return np.union1d(np.arange(min(WARMUP_ROWS, len(y))), other)


@dataclass(frozen=True)
class FittedPipeline:
    """A fitted representation and the learner that was trained on its output."""

    representation: FittedRepresentation
    learner: Any


def fit_pipeline(
    trial: Trial, data: Dataset, rows: NDArray[np.int64], fit_learner: Callable[..., Any] = fit
) -> FittedPipeline:
    """Fit the representation and the learner of a trial on some rows of its data.

    Parameters
    ----------
    trial : Trial
        Names the representation, the learner and the seed.
    data : Dataset
        The data with all labels.
    rows : array of int
        Positions of the rows to train on, in the order in which the learner sees them.
    fit_learner : callable, default=fit
        Fits the learner; takes the arguments of `fit`.

    Returns
    -------
    FittedPipeline
    """
    source, y = rows_for(data, trial.representing.takes_text)[rows], data.y[rows]
    representation, X = fit_representation(trial.representing, source, y, wants_dense=trial.wants_dense)
    learner = fit_learner(
        trial.blueprint,
        TrainingPart(X, y),
        seed=trial.seed,
        taxonomy=data.taxonomy,
        wants_taxonomy=trial.wants_taxonomy,
    )
    return FittedPipeline(representation, learner)


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
