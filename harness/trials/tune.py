"""Tuning inside a trial: candidates meet on a validation part of the training rows. No test row ever comes here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.contract import Outcome, Taxonomy
from harness.errors import ContractError
from harness.trials.building import build_learner, extra_arguments, seed_shared_chance
from harness.trials.measure import Clock, class_counts, compute_scores
from harness.trials.ranking import as_classes, places_in, rank_positions
from harness.trials.represent import represent
from harness.trials.split import split_rows
from harness.wording import counted


@dataclass(frozen=True)
class Tuned:
    """What tuning found: the chosen parameters, and every candidate with its score, in the order of the trials."""

    params: Mapping[str, Any]
    log: list[dict[str, Any]]
    seconds: float


def tune(
    trial: Mapping[str, Any], X: Any, y: Any, n_classes: int, taxonomy: Taxonomy | None, send: Callable[[str], None]
) -> Tuned:
    """Fit every candidate on a part of these training rows and score it on the rest; the first of the best is chosen.

    A candidate that fails is out of the race, with its reason in the log. Once the time is up no further one begins.
    """
    plan, started = trial["tune"], time.perf_counter()
    inner, validation = split_rows(plan["split"], X.shape[0], trial["seed"], {})
    X_inner, X_validation = represent(trial["representation"], X[inner], X[validation])
    if trial["wants_dense"]:
        X_inner, X_validation = X_inner.toarray(), X_validation.toarray()
    parts = (X_inner, y[inner], X_validation, y[validation])
    log: list[dict[str, Any]] = []
    for number, params in enumerate(plan["candidates"], start=1):
        if log and plan["seconds"] is not None and time.perf_counter() - started > plan["seconds"]:
            break
        send(f"tune {number}/{len(plan['candidates'])}")
        candidate = {**trial, "params": {**trial["params"], **params}}
        log.append({"params": dict(params), **_judge(candidate, parts, n_classes, taxonomy)})
    best = _best(log, plan["direction"])
    return Tuned(best["params"], log, time.perf_counter() - started)


def _judge(trial: Mapping[str, Any], parts: Any, n_classes: int, taxonomy: Taxonomy | None) -> dict[str, Any]:
    """A candidate's score on the validation part, or why it has none; and what fitting it took."""
    X, y, X_validation, y_validation = parts
    fit, rank = Clock(), Clock()
    try:
        learner = build_learner(trial)
        seed_shared_chance(trial["seed"])
        with fit.running():
            learner.fit(X, y, **extra_arguments(learner, trial, taxonomy))
        with rank.running():
            answer, ranked_by = rank_positions(learner, X_validation, trial["depth"])
        ranks = as_classes(learner, answer, ranked_by, X_validation.shape[0], trial["depth"], n_classes)
    except Exception as error:
        return {"score": None, "trouble": f"{type(error).__name__}: {error}"}
    outcome = Outcome(
        truth=y_validation,
        ranks=ranks,
        n_classes=n_classes,
        train_class_counts=class_counts(y, n_classes),
        n_train=X.shape[0],
        fit_seconds=fit.wall,
        fit_cpu_seconds=fit.cpu,
        rank_seconds=rank.wall,
        taxonomy=taxonomy,
        places=places_in(answer),
    )
    name = trial["tune"]["metric"]
    scores, trouble = compute_scores({name: trial["tune"]["compute"]}, outcome)
    missing = trouble or (f"metric {name!r} has no value here" if scores[name] is None else "")
    return {"score": scores[name], "fit_seconds": fit.wall} | ({"trouble": missing} if missing else {})


def _best(log: list[dict[str, Any]], direction: str) -> dict[str, Any]:
    sign = 1 if direction == "higher" else -1
    best = max(log, key=lambda entry: -math.inf if entry["score"] is None else sign * entry["score"])
    if best["score"] is None:
        first = f"{log[0]['params']}: {log[0]['trouble']}"
        raise ContractError(f"tuning: none of {counted(len(log), 'candidate')} has a score; {first}")
    return best
